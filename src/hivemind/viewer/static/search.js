// Shows results while typing; the URL follows, so that every search can be linked.
import { part } from "/static/load.js";

const form = document.querySelector("[data-live]");
const results = document.querySelector("#results");
const DEBOUNCE_MS = 140;
let timer = 0;
let request = null;

function filledFields() {
  const values = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...values]) if (!value) values.delete(name);
  return values;
}

async function show() {
  request?.abort();
  request = new AbortController();
  const values = filledFields();
  history.replaceState(null, "", values.size ? `/search?${values}` : "/search");
  values.set("part", "1");
  results.setAttribute("aria-busy", "true");
  try {
    results.replaceChildren(...(await part(`/search?${values}`, request.signal)));
    results.setAttribute("aria-busy", "false");
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(show, DEBOUNCE_MS);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  show();
});
const box = form.querySelector("[data-find]");
box.focus();
box.setSelectionRange(box.value.length, box.value.length);

// Results as one types; the address follows, so that every search is a link.
import { part } from "/static/load.js";

const form = document.querySelector("[data-live]");
const results = document.querySelector("#results");
const PATIENCE_MS = 140;
let waiting = 0;
let asking = null;

function asked() {
  const values = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...values]) if (!value) values.delete(name);
  return values;
}

async function show() {
  asking?.abort();
  asking = new AbortController();
  const values = asked();
  history.replaceState(null, "", values.size ? `/search?${values}` : "/search");
  values.set("part", "1");
  results.setAttribute("aria-busy", "true");
  try {
    results.replaceChildren(...(await part(`/search?${values}`, asking.signal)));
    results.setAttribute("aria-busy", "false");
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

form.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(show, PATIENCE_MS);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  show();
});
const box = form.querySelector("[data-find]");
box.focus();
box.setSelectionRange(box.value.length, box.value.length);

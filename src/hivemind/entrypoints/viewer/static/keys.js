// The keyboard: / to search, j and k through a list, g and a letter to a page, ? for help, and what buttons say.
const help = document.querySelector("#help");
let going = false;
let at = -1;

const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent);

function typing(target) {
  return target.closest("input:not([type=checkbox], [type=range]), textarea, select");
}

function choose(step) {
  const all = rows();
  if (!all.length) return;
  all[at]?.classList.remove("chosen");
  at = Math.max(0, Math.min(all.length - 1, at + step));
  all[at].classList.add("chosen");
  (all[at].querySelector("[data-open]") ?? all[at]).focus({ preventScroll: true });
  all[at].scrollIntoView({ block: "nearest" });
}

function press(key) {
  const button = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].find((one) => one.offsetParent);
  if (button?.tagName === "SUMMARY") {
    button.parentElement.open = true;
    button.parentElement.querySelector("textarea, input:not([type=hidden])").focus();
  } else button?.click();
  return Boolean(button);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.key === "Escape" && typing(event.target)) return event.target.blur();
  if (event.key === "ArrowDown" && event.target.matches("[data-find]")) {
    event.preventDefault();
    return choose(1);
  }
  if (typing(event.target)) return;
  const key = event.key;
  if (going) {
    going = false;
    const link = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
    if (link) {
      event.preventDefault();
      link.click();
    }
    return;
  }
  let used = true;
  if (key === "g") {
    going = true;
    setTimeout(() => (going = false), 1500);
  } else if (key === "/") document.querySelector("[data-find]")?.focus();
  else if (key === "?") help.showModal();
  else if (/^[a-z]$/.test(key) && press(key)) used = true;
  else if (key === "j") choose(1);
  else if (key === "k") choose(-1);
  else used = false;
  if (used) event.preventDefault();
});
document.querySelector("[data-help]").addEventListener("click", () => help.showModal());

// A link to a folded part opens it.
function unfold() {
  const named = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (named?.tagName === "DETAILS") named.open = true;
}
addEventListener("hashchange", unfold);
unfold();

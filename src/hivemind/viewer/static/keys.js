// Keyboard: / searches, j and k move in a list, g and a letter open a page, ? shows help; buttons show their keys.
const help = document.querySelector("#help");
let awaitsPage = false;
let selected = -1;

const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent);

function isTyping(target) {
  return target.closest("input:not([type=checkbox], [type=range]), textarea, select");
}

function select(step) {
  const all = rows();
  if (!all.length) return;
  all[selected]?.classList.remove("chosen");
  selected = Math.max(0, Math.min(all.length - 1, selected + step));
  all[selected].classList.add("chosen");
  (all[selected].querySelector("[data-open]") ?? all[selected]).focus({ preventScroll: true });
  all[selected].scrollIntoView({ block: "nearest" });
}

function press(key) {
  const button = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].find((button) => button.offsetParent);
  if (button?.tagName === "SUMMARY") {
    button.parentElement.open = true;
    button.parentElement.querySelector("textarea, input:not([type=hidden])").focus();
  } else button?.click();
  return Boolean(button);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.key === "Escape" && isTyping(event.target)) return event.target.blur();
  if (event.key === "ArrowDown" && event.target.matches("[data-find]")) {
    event.preventDefault();
    return select(1);
  }
  if (isTyping(event.target)) return;
  const key = event.key;
  if (awaitsPage) {
    awaitsPage = false;
    const link = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
    if (link) {
      event.preventDefault();
      link.click();
    }
    return;
  }
  let used = true;
  if (key === "g") {
    awaitsPage = true;
    setTimeout(() => (awaitsPage = false), 1500);
  } else if (key === "/") document.querySelector("[data-find]")?.focus();
  else if (key === "?") help.showModal();
  else if (/^[a-z1-9]$/.test(key) && press(key)) used = true;
  else if (key === "j") select(1);
  else if (key === "k") select(-1);
  else used = false;
  if (used) event.preventDefault();
});
document.querySelector("[data-help]").addEventListener("click", () => help.showModal());

// A link to a collapsed section opens it.
function unfold() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target?.tagName === "DETAILS") target.open = true;
}
addEventListener("hashchange", unfold);
unfold();

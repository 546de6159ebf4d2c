// A session again: play, pause, speed, step. Without it, all steps stand there in order.
const steps = [...document.querySelectorAll("[data-timeline] > .step")];
const player = document.querySelector("[data-player]");
const find = (name) => player.querySelector(`[data-${name}]`);
const slider = find("slider");
const play = find("play");
const LONGEST_MS = 4000;
const SHORTEST_MS = 120;
let shown = steps.length;
let waiting = 0;

function show(count, { follow = true } = {}) {
  shown = Math.max(1, Math.min(steps.length, count));
  steps.forEach((step, place) => {
    step.hidden = place >= shown;
    step.classList.toggle("now", place === shown - 1 && shown < steps.length);
  });
  slider.value = shown;
  find("position").textContent = `${shown} / ${steps.length}`;
  if (follow) steps[shown - 1].scrollIntoView({ block: "center" });
}

function pause() {
  clearTimeout(waiting);
  waiting = 0;
  play.textContent = "Play";
  play.setAttribute("aria-pressed", "false");
}

function onward() {
  if (shown >= steps.length) return pause();
  const gap = Date.parse(steps[shown].dataset.at) - Date.parse(steps[shown - 1].dataset.at);
  const wait = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, gap / Number(find("speed").value)));
  waiting = setTimeout(() => {
    show(shown + 1);
    onward();
  }, wait);
}

function toggle() {
  if (waiting) return pause();
  if (shown >= steps.length) show(1);
  play.textContent = "Pause";
  play.setAttribute("aria-pressed", "true");
  onward();
}

function step(count) {
  pause();
  show(count);
}

if (steps.length) {
  player.hidden = false;
  play.addEventListener("click", toggle);
  find("first").addEventListener("click", () => step(1));
  find("back").addEventListener("click", () => step(shown - 1));
  find("next").addEventListener("click", () => step(shown + 1));
  find("all").addEventListener("click", () => step(steps.length));
  find("speed").addEventListener("change", () => waiting && (clearTimeout(waiting), onward()));
  slider.addEventListener("input", () => step(Number(slider.value)));
  addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea, summary, pre") || event.ctrlKey || event.metaKey) return;
    const act = { ArrowRight: () => step(shown + 1), ArrowLeft: () => step(shown - 1), " ": toggle }[event.key];
    if (!act || (event.key === " " && event.target.closest("button, a"))) return;
    event.preventDefault();
    act();
  });
  const named = steps.findIndex((one) => one.id && `#${one.id}` === location.hash);
  if (named >= 0) steps[named].classList.add("now");
}

// Replays a session: play, pause, speed, step. Without this script the page shows all steps.
const steps = [...document.querySelectorAll("[data-timeline] > .step")];
const player = document.querySelector("[data-player]");
const find = (name) => player.querySelector(`[data-${name}]`);
const slider = find("slider");
const play = find("play");
const MAX_WAIT_MS = 4000;
const MIN_WAIT_MS = 120;
let visible = steps.length;
let timer = 0;

function show(count, { follow = true } = {}) {
  visible = Math.max(1, Math.min(steps.length, count));
  steps.forEach((step, place) => {
    step.hidden = place >= visible;
    step.classList.toggle("now", place === visible - 1 && visible < steps.length);
  });
  slider.value = visible;
  find("position").textContent = `${visible} / ${steps.length}`;
  if (follow) steps[visible - 1].scrollIntoView({ block: "center" });
}

function pause() {
  clearTimeout(timer);
  timer = 0;
  play.textContent = "Play";
  play.setAttribute("aria-pressed", "false");
}

function advance() {
  if (visible >= steps.length) return pause();
  const gap = Date.parse(steps[visible].dataset.at) - Date.parse(steps[visible - 1].dataset.at);
  const wait = Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, gap / Number(find("speed").value)));
  timer = setTimeout(() => {
    show(visible + 1);
    advance();
  }, wait);
}

function toggle() {
  if (timer) return pause();
  if (visible >= steps.length) show(1);
  play.textContent = "Pause";
  play.setAttribute("aria-pressed", "true");
  advance();
}

function step(count) {
  pause();
  show(count);
}

function showLinked() {
  const linked = steps.find((item) => `#${item.id}` === location.hash);
  if (!linked) return;
  if (linked.hidden) step(steps.length);
  steps.forEach((item) => item.classList.toggle("now", item === linked));
  linked.scrollIntoView();
}

if (steps.length) {
  player.hidden = false;
  play.addEventListener("click", toggle);
  find("first").addEventListener("click", () => step(1));
  find("back").addEventListener("click", () => step(visible - 1));
  find("next").addEventListener("click", () => step(visible + 1));
  find("all").addEventListener("click", () => step(steps.length));
  find("speed").addEventListener("change", () => timer && (clearTimeout(timer), advance()));
  slider.addEventListener("input", () => step(Number(slider.value)));
  addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea, summary, pre") || event.ctrlKey || event.metaKey) return;
    const act = { ArrowRight: () => step(visible + 1), ArrowLeft: () => step(visible - 1), " ": toggle }[event.key];
    if (!act || (event.key === " " && event.target.closest("button, a"))) return;
    event.preventDefault();
    act();
  });
  addEventListener("hashchange", showLinked);
  showLinked();
}

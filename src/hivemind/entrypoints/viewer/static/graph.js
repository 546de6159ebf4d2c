// The graph: starts from one place, opens what is clicked. A grid of cells keeps the forces quick for thousands.
const canvas = document.querySelector("[data-graph]");
const pen = canvas.getContext("2d");
const CELL = 90;
const ROW = 1 << 16;
const SIZE = { folder: 11, file: 8, symbol: 5, memory: 5 };
const nodes = new Map();
const edges = new Map();
let view = { x: 0, y: 0, scale: 1 };
let heat = 0;
let over = null;
let held = null;
let moved = false;
let touched = false;
let placed = 0;
let colours = {};
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

function look() {
  const style = getComputedStyle(document.documentElement);
  const named = (name) => style.getPropertyValue(name).trim();
  colours = {
    folder: named("--text-dim"), file: named("--text"), symbol: named("--line-strong"), memory: named("--accent-line"),
    stale: named("--bad"), line: named("--line"), text: named("--text"), paper: named("--paper"), together: named("--accent-line"),
  };
}

function node(id, kind, label, near) {
  let one = nodes.get(id);
  if (!one) {
    // A sunflower: however many come at once, none starts on top of another.
    const turn = ++placed * 2.39996;
    const reach = 34 + 15 * Math.sqrt(placed);
    one = { id, kind, label, x: (near?.x ?? 0) + reach * Math.cos(turn), y: (near?.y ?? 0) + reach * Math.sin(turn), vx: 0, vy: 0, stale: false, open: false, weight: 0 };
    nodes.set(id, one);
  }
  return one;
}

function edge(a, b, kind, why = "") {
  const key = a.id < b.id ? `${a.id}\n${b.id}` : `${b.id}\n${a.id}`;
  if (a === b || edges.has(key)) return;
  edges.set(key, { a, b, kind, why });
  a.weight += 1;
  b.weight += 1;
}

const tail = (path) => path.split("/").at(-1);

function take(told) {
  placed = 0;
  const root = node(told.target || "/", told.isFile ? "file" : "folder", told.target ? tail(told.target) : document.querySelector("h1 a").textContent);
  root.open = true;
  if (nodes.size === 1) Object.assign(root, { x: 0, y: 0, still: true });
  for (const one of told.children) edge(root, node(one.path, one.files ? "folder" : "file", tail(one.path), root), "in");
  for (const one of told.symbols) {
    const parent = nodes.get(`${told.target}::${one.parent}`) ?? root;
    edge(parent, node(`${told.target}::${one.name}`, "symbol", one.name.split(".").at(-1), parent), "in");
  }
  for (const one of told.related) edge(root, node(one.path, "file", tail(one.path), root), one.why[0] === "changed together in commits" ? "together" : "near", one.why.join(", "));
  for (const one of told.memories) {
    const place = nodes.get(one.on) ?? root;
    const memory = node(one.id, "memory", one.text, place);
    memory.stale ||= one.stale;
    edge(place, memory, "about");
  }
  heat = 1;
  if (calm) for (let turn = 0; turn < 150; turn++) settle();
  draw();
}

async function open(id) {
  const hint = document.querySelector("[data-hint]");
  const answer = await fetch(`/graph/near?${new URLSearchParams({ at: id === "/" ? "" : id })}`, { credentials: "same-origin" });
  if (!answer.ok) return (hint.textContent = "That place cannot be opened.");
  take(await answer.json());
  hint.textContent = `${nodes.size.toLocaleString()} things; click to open, drag to move, scroll to zoom.`;
}

function part(one, other) {
  const dx = one.x - other.x || Math.random() - 0.5;
  const dy = one.y - other.y || Math.random() - 0.5;
  const far = dx * dx + dy * dy;
  if (far > CELL * CELL) return;
  const push = (45 * heat) / (far + 60);
  one.vx += dx * push;
  one.vy += dy * push;
  other.vx -= dx * push;
  other.vy -= dy * push;
}

function settle() {
  const cells = new Map();
  for (const one of nodes.values()) {
    one.cell = Math.floor(one.x / CELL) * ROW + Math.floor(one.y / CELL);
    const inside = cells.get(one.cell);
    if (inside) inside.push(one);
    else cells.set(one.cell, [one]);
    one.vx -= one.x * 0.0008 * heat;
    one.vy -= one.y * 0.0008 * heat;
  }
  // Each pair of neighbouring cells once: the cell itself, and the four that come after it.
  for (const [key, inside] of cells)
    for (const step of [0, 1, ROW - 1, ROW, ROW + 1]) {
      const others = step ? cells.get(key + step) : inside;
      if (others) for (let i = 0; i < inside.length; i++) for (let j = step ? 0 : i + 1; j < others.length; j++) part(inside[i], others[j]);
    }
  for (const { a, b, kind } of edges.values()) {
    const wanted = (kind === "about" ? 34 : kind === "in" ? 62 : 110) + 8 * Math.sqrt(Math.max(a.weight, b.weight) - 1);
    const dx = b.x - a.x;
    const dy = b.y - a.y;
    const far = Math.hypot(dx, dy) || 1;
    const pull = ((far - wanted) / far) * 0.06 * heat;
    const share = a.weight / (a.weight + b.weight);
    a.vx += dx * pull * (1 - share) * 2;
    a.vy += dy * pull * (1 - share) * 2;
    b.vx -= dx * pull * share * 2;
    b.vy -= dy * pull * share * 2;
  }
  for (const one of nodes.values()) {
    if (one !== held && !one.still) {
      one.x += Math.max(-30, Math.min(30, one.vx));
      one.y += Math.max(-30, Math.min(30, one.vy));
    }
    one.vx *= 0.72;
    one.vy *= 0.72;
  }
  heat *= 0.985;
}

function fit(width, height) {
  let [left, right, top, bottom] = [0, 0, 0, 0];
  for (const { x, y } of nodes.values()) {
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  const wanted = Math.min(1.6, (width - 140) / (right - left + 1), (height - 140) / (bottom - top + 1));
  view.scale = Math.max(0.1, wanted);
  view.x = (-(left + right) / 2) * view.scale;
  view.y = (-(top + bottom) / 2) * view.scale;
}

function draw() {
  const { width, height } = canvas.getBoundingClientRect();
  const dense = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * dense) || canvas.height !== Math.round(height * dense)) {
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
  }
  if (!touched) fit(width, height);
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.translate(width / 2 + view.x, height / 2 + view.y);
  pen.scale(view.scale, view.scale);
  const many = nodes.size > 250;
  for (const kind of ["in", "near", "about", "together"]) {
    pen.beginPath();
    for (const one of edges.values()) {
      if (one.kind !== kind) continue;
      pen.moveTo(one.a.x, one.a.y);
      pen.lineTo(one.b.x, one.b.y);
    }
    pen.strokeStyle = kind === "together" ? colours.together : colours.line;
    pen.globalAlpha = kind === "together" ? 0.55 : 1;
    pen.lineWidth = kind === "together" ? 1.6 : 1;
    pen.setLineDash(kind === "near" ? [4, 4] : []);
    pen.stroke();
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
  for (const one of nodes.values()) {
    const size = (SIZE[one.kind] + (one.kind === "memory" ? 0 : Math.min(5, Math.sqrt(one.weight)))) * (many ? 0.7 : 1);
    pen.fillStyle = one.stale ? colours.stale : colours[one.kind];
    if (one.stale) {
      pen.globalAlpha = 0.25;
      pen.beginPath();
      pen.arc(one.x, one.y, size * 2.4, 0, 7);
      pen.fill();
      pen.globalAlpha = 1;
    }
    if (size * view.scale < 4 && one !== over && one.kind !== "memory") {
      // Too small for its shape to show, and a square is drawn ten times as fast.
      pen.fillRect(one.x - size * 0.85, one.y - size * 0.85, size * 1.7, size * 1.7);
      continue;
    }
    pen.beginPath();
    if (one.kind === "memory") {
      for (let i = 0; i < 6; i++) pen.lineTo(one.x + size * 1.25 * Math.cos((Math.PI / 3) * i), one.y + size * 1.25 * Math.sin((Math.PI / 3) * i));
      pen.closePath();
    } else if (one.kind === "folder") pen.roundRect(one.x - size, one.y - size * 0.8, 2 * size, 1.6 * size, 4);
    else pen.arc(one.x, one.y, size, 0, 7);
    pen.fill();
    if (one === over) {
      pen.strokeStyle = colours.text;
      pen.lineWidth = 2;
      pen.stroke();
    }
  }
  pen.textAlign = "center";
  pen.font = `${12.5 / Math.max(0.3, view.scale)}px system-ui, sans-serif`;
  for (const one of nodes.values()) {
    const named = one === over || one.open || (one.kind !== "memory" && (!many || view.scale > 1.4) && (one.kind !== "symbol" || view.scale > 0.9));
    if (named) label(one);
  }
}

function label(one) {
  const text = one.label.length > 46 && one !== over ? `${one.label.slice(0, 45)}…` : one.label.slice(0, 110);
  const y = one.y + SIZE[one.kind] + 5 + 14 / Math.max(0.3, view.scale);
  pen.strokeStyle = colours.paper;
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.strokeText(text, one.x, y);
  pen.fillStyle = colours.text;
  pen.fillText(text, one.x, y);
}

function frame() {
  if (heat > 0.02) {
    settle();
    draw();
  }
  requestAnimationFrame(frame);
}

function at(event) {
  const box = canvas.getBoundingClientRect();
  const x = (event.clientX - box.left - box.width / 2 - view.x) / view.scale;
  const y = (event.clientY - box.top - box.height / 2 - view.y) / view.scale;
  let best = null;
  let near = 16 / view.scale;
  for (const one of nodes.values()) {
    const far = Math.hypot(one.x - x, one.y - y) - SIZE[one.kind];
    if (far < near) [best, near] = [one, far];
  }
  return { x, y, one: best };
}

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  held = at(event).one ?? view;
  moved = false;
});
canvas.addEventListener("pointermove", (event) => {
  const { x, y, one } = at(event);
  if (held && (event.movementX || event.movementY)) {
    touched = true;
    moved ||= Math.abs(event.movementX) + Math.abs(event.movementY) > 1;
    if (held === view) {
      view.x += event.movementX;
      view.y += event.movementY;
    } else Object.assign(held, { x, y });
    heat = Math.max(heat, held === view ? 0 : 0.15);
    return draw();
  }
  if (one !== over) {
    over = one;
    canvas.classList.toggle("pointing", Boolean(over));
    draw();
  }
});
canvas.addEventListener("pointerup", () => {
  const one = held;
  held = null;
  if (moved || !one?.id) return;
  if (one.kind === "memory") location.assign(`/memory/${one.id}`);
  else if (one.kind === "symbol") location.assign(`/graph?${new URLSearchParams({ at: one.id.split("::")[0] })}`);
  else if (one.open) location.assign(`/graph?${new URLSearchParams({ at: one.id === "/" ? "" : one.id })}`);
  else open(one.id);
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  touched = true;
  view.scale = Math.max(0.1, Math.min(4, view.scale * Math.exp(-event.deltaY * 0.0015)));
  draw();
}, { passive: false });
addEventListener("theme", () => (look(), draw()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (look(), draw()));
new ResizeObserver(draw).observe(canvas);
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-expand]");
  if (button) open(button.dataset.expand);
});
look();
open(canvas.dataset.at || "/");
frame();

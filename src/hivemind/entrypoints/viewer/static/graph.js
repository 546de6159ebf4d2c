// The graph: starts at node file or folder and opens what is clicked. A grid of cells keeps the forces fast for
// thousands of nodes.
const canvas = document.querySelector("[data-graph]");
const pen = canvas.getContext("2d");
const CELL = 90;
const ROW = 1 << 16;
const SIZE = { folder: 11, file: 8, symbol: 5, memory: 5 };
const nodes = new Map();
const edges = new Map();
let view = { x: 0, y: 0, scale: 1 };
let heat = 0;
let hovered = null;
let dragged = null;
let moved = false;
let hasMoved = false;
let placed = 0;
let colours = {};
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const property = (name) => style.getPropertyValue(name).trim();
  colours = {
    folder: property("--text-dim"), file: property("--text"), symbol: property("--line-strong"), memory: property("--accent-line"),
    stale: property("--bad"), line: property("--line"), text: property("--text"), paper: property("--paper"),
  };
}

function addNode(id, kind, label, near) {
  let node = nodes.get(id);
  if (!node) {
    // A sunflower spiral, so that no two nodes start at the same place.
    const turn = ++placed * 2.39996;
    const reach = 34 + 15 * Math.sqrt(placed);
    node = { id, kind, label, x: (near?.x ?? 0) + reach * Math.cos(turn), y: (near?.y ?? 0) + reach * Math.sin(turn), vx: 0, vy: 0, stale: false, open: false, weight: 0 };
    nodes.set(id, node);
  }
  return node;
}

function edge(a, b, kind) {
  const key = a.id < b.id ? `${a.id}\n${b.id}` : `${b.id}\n${a.id}`;
  if (a === b || edges.has(key)) return;
  edges.set(key, { a, b, kind });
  a.weight += 1;
  b.weight += 1;
}

const tail = (path) => path.split("/").at(-1);

function add(answer) {
  placed = 0;
  const root = addNode(answer.target || "/", answer.isFile ? "file" : "folder", answer.target ? tail(answer.target) : document.querySelector("h1 a").textContent);
  root.open = true;
  if (nodes.size === 1) Object.assign(root, { x: 0, y: 0, still: true });
  for (const node of answer.children) edge(root, addNode(node.path, node.files ? "folder" : "file", tail(node.path), root), "in");
  for (const node of answer.symbols) {
    const parent = nodes.get(`${answer.target}::${node.parent}`) ?? root;
    edge(parent, addNode(`${answer.target}::${node.name}`, "symbol", node.name.split(".").at(-1), parent), "in");
  }
  for (const node of answer.related) edge(root, addNode(node.path, "file", tail(node.path), root), "near");
  for (const node of answer.memories) {
    const place = nodes.get(node.on) ?? root;
    const memory = addNode(node.id, "memory", node.text, place);
    memory.stale ||= node.stale;
    edge(place, memory, "about");
  }
  heat = 1;
  if (reducedMotion) for (let turn = 0; turn < 150; turn++) settle();
  draw();
}

async function open(id) {
  const hint = document.querySelector("[data-hint]");
  const answer = await fetch(`/graph/near?${new URLSearchParams({ at: id === "/" ? "" : id })}`, { credentials: "same-origin" });
  if (!answer.ok) return (hint.textContent = "This cannot be opened.");
  add(await answer.json());
  hint.textContent = `${nodes.size.toLocaleString()} ${nodes.size === 1 ? "node" : "nodes"}; click to open, drag to move, scroll to zoom.`;
}

function part(node, other) {
  const dx = node.x - other.x || Math.random() - 0.5;
  const dy = node.y - other.y || Math.random() - 0.5;
  const far = dx * dx + dy * dy;
  if (far > CELL * CELL) return;
  const push = (45 * heat) / (far + 60);
  node.vx += dx * push;
  node.vy += dy * push;
  other.vx -= dx * push;
  other.vy -= dy * push;
}

function settle() {
  const cells = new Map();
  for (const node of nodes.values()) {
    node.cell = Math.floor(node.x / CELL) * ROW + Math.floor(node.y / CELL);
    const inside = cells.get(node.cell);
    if (inside) inside.push(node);
    else cells.set(node.cell, [node]);
    node.vx -= node.x * 0.0008 * heat;
    node.vy -= node.y * 0.0008 * heat;
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
  for (const node of nodes.values()) {
    if (node !== dragged && !node.still) {
      node.x += Math.max(-30, Math.min(30, node.vx));
      node.y += Math.max(-30, Math.min(30, node.vy));
    }
    node.vx *= 0.72;
    node.vy *= 0.72;
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
  if (!hasMoved) fit(width, height);
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.translate(width / 2 + view.x, height / 2 + view.y);
  pen.scale(view.scale, view.scale);
  const many = nodes.size > 250;
  for (const kind of ["in", "near", "about"]) {
    pen.beginPath();
    for (const node of edges.values()) {
      if (node.kind !== kind) continue;
      pen.moveTo(node.a.x, node.a.y);
      pen.lineTo(node.b.x, node.b.y);
    }
    pen.strokeStyle = colours.line;
    pen.lineWidth = 1;
    pen.setLineDash(kind === "near" ? [4, 4] : []);
    pen.stroke();
  }
  pen.setLineDash([]);
  for (const node of nodes.values()) {
    const size = (SIZE[node.kind] + (node.kind === "memory" ? 0 : Math.min(5, Math.sqrt(node.weight)))) * (many ? 0.7 : 1);
    pen.fillStyle = node.stale ? colours.stale : colours[node.kind];
    if (node.stale) {
      pen.globalAlpha = 0.25;
      pen.beginPath();
      pen.arc(node.x, node.y, size * 2.4, 0, 7);
      pen.fill();
      pen.globalAlpha = 1;
    }
    if (size * view.scale < 4 && node !== hovered && node.kind !== "memory") {
      // Too small for its shape to show, and a square is drawn ten times as fast.
      pen.fillRect(node.x - size * 0.85, node.y - size * 0.85, size * 1.7, size * 1.7);
      continue;
    }
    pen.beginPath();
    if (node.kind === "memory") {
      for (let i = 0; i < 6; i++) pen.lineTo(node.x + size * 1.25 * Math.cos((Math.PI / 3) * i), node.y + size * 1.25 * Math.sin((Math.PI / 3) * i));
      pen.closePath();
    } else if (node.kind === "folder") pen.roundRect(node.x - size, node.y - size * 0.8, 2 * size, 1.6 * size, 4);
    else pen.arc(node.x, node.y, size, 0, 7);
    pen.fill();
    if (node === hovered) {
      pen.strokeStyle = colours.text;
      pen.lineWidth = 2;
      pen.stroke();
    }
  }
  pen.textAlign = "center";
  pen.font = `${12.5 / Math.max(0.3, view.scale)}px system-ui, sans-serif`;
  const isLabelled = (node) => node === hovered || node.open || (node.kind !== "memory" && (!many || view.scale > 1.4) && (node.kind !== "symbol" || view.scale > 0.9));
  const rank = (node) => (node === hovered ? 2e9 : node.open ? 1e9 : 0) + node.weight;
  const boxes = many ? [] : [...nodes.values()].map(cover);
  for (const node of [...nodes.values()].filter(isLabelled).sort((a, b) => rank(b) - rank(a))) label(node, boxes);
}

// The place of a node that labels keep free.
function cover(node) {
  const size = SIZE[node.kind] + 1;
  return { left: node.x - size, right: node.x + size, top: node.y - size, bottom: node.y + size };
}

// Writes a node's label below or above it, unless it would cover another label or node.
function label(node, boxes) {
  const text = node.label.length > 46 && node !== hovered ? `${node.label.slice(0, 45)}…` : node.label.slice(0, 110);
  const height = 14 / Math.max(0.3, view.scale);
  const gap = SIZE[node.kind] + Math.min(5, Math.sqrt(node.weight)) + 2;
  const half = pen.measureText(text).width / 2 + 4 / view.scale;
  const place = (y) => ({ left: node.x - half, right: node.x + half, top: y - height, bottom: y + height / 4 });
  const isFree = (box) => !boxes.some((other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom);
  const y = [node.y + gap + height, node.y - gap - height / 4].find((y) => isFree(place(y))) ?? (node === hovered ? node.y + gap + height : null);
  if (y === null) return;
  boxes.push(place(y));
  pen.strokeStyle = colours.paper;
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.strokeText(text, node.x, y);
  pen.fillStyle = colours.text;
  pen.fillText(text, node.x, y);
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
  for (const node of nodes.values()) {
    const far = Math.hypot(node.x - x, node.y - y) - SIZE[node.kind];
    if (far < near) [best, near] = [node, far];
  }
  return { x, y, node: best };
}

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  dragged = at(event).node ?? view;
  moved = false;
});
canvas.addEventListener("pointermove", (event) => {
  const { x, y, node } = at(event);
  if (dragged && (event.movementX || event.movementY)) {
    hasMoved = true;
    moved ||= Math.abs(event.movementX) + Math.abs(event.movementY) > 1;
    if (dragged === view) {
      view.x += event.movementX;
      view.y += event.movementY;
    } else Object.assign(dragged, { x, y });
    heat = Math.max(heat, dragged === view ? 0 : 0.15);
    return draw();
  }
  if (node !== hovered) {
    hovered = node;
    canvas.classList.toggle("pointing", Boolean(hovered));
    draw();
  }
});
canvas.addEventListener("pointerup", () => {
  const node = dragged;
  dragged = null;
  if (moved || !node?.id) return;
  if (node.kind === "memory") location.assign(`/memory/${node.id}`);
  else if (node.kind === "symbol") location.assign(`/graph?${new URLSearchParams({ at: node.id.split("::")[0] })}`);
  else if (node.open) location.assign(`/graph?${new URLSearchParams({ at: node.id === "/" ? "" : node.id })}`);
  else open(node.id);
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  hasMoved = true;
  view.scale = Math.max(0.1, Math.min(4, view.scale * Math.exp(-event.deltaY * 0.0015)));
  draw();
}, { passive: false });
addEventListener("theme", () => (readColours(), draw()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (readColours(), draw()));
new ResizeObserver(draw).observe(canvas);
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-expand]");
  if (button) open(button.dataset.expand);
});
readColours();
open(canvas.dataset.at || "/");
frame();

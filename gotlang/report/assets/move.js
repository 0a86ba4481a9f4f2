// Moving around: the camera, folding, choosing; the mouse and the keys. The last lines start the page.
let moved = false; // by somebody; until then a graph that grows is fitted again
function fit() {
  moved = false;
  const view = chosen.view, room = 28, legend = $("legend").offsetHeight + 12;
  const width = canvas.clientWidth - 2 * room, height = canvas.clientHeight - 2 * room - legend;
  camera.scale = Math.min(1.1, Math.max(0.02, Math.min(width / Math.max(view.width, 1), height / Math.max(view.height, 1))));
  // A tall graph starts readable at its top, a long time line at its left; zooming out shows the rest.
  const time = view.name === "time line";
  camera.scale = Math.max(camera.scale, time ? 0.8 : Math.min(0.85, width / Math.max(view.width, 1)));
  camera.x = time ? -room / camera.scale : (view.width - canvas.clientWidth / camera.scale) / 2;
  camera.y = view.height * camera.scale > height ? -room / camera.scale : (view.height - (canvas.clientHeight - legend) / camera.scale) / 2;
  if (time) camera.y = 0;
  redraw();
}

function center(key) {
  moved = true;
  const box = chosen.view.boxes.get(shownAs(chosen.view, key));
  camera.scale = Math.max(camera.scale, 0.7);
  camera.x = box.x + box.w / 2 - canvas.clientWidth / camera.scale / 2;
  camera.y = box.y + box.h / 2 - canvas.clientHeight / camera.scale / 2;
  redraw();
}

function zoom(factor, x, y) {
  moved = true;
  const scale = Math.min(3, Math.max(0.02, camera.scale * factor));
  camera.x += x / camera.scale - x / scale;
  camera.y += y / camera.scale - y / scale;
  camera.scale = scale;
  redraw();
}

function reveal(key) {
  const view = chosen.view;
  let changed = false;
  for (let up = (view.nodes.get(key) || view.groups.get(key)).up; up !== "all"; up = view.groups.get(up).up) changed = view.folded.delete(up) || changed;
  if (changed) layOut(view);
}

// Folding moves its surroundings; the group itself keeps its place on the screen.
function toggle(key) {
  const view = chosen.view, before = view.boxes.get(key);
  if (!view.folded.delete(key)) view.folded.add(key);
  layOut(view);
  const after = view.boxes.get(key);
  camera.x += after.x - before.x; camera.y += after.y - before.y;
  redraw();
}

function at(x, y) {
  const px = camera.x + x / camera.scale, py = camera.y + y / camera.scale;
  let found = null;
  for (const [key, box] of chosen.view.boxes) {
    if (px < box.x || py < box.y || px > box.x + box.w || py > box.y + box.h) continue;
    if (key[0] === "n" || chosen.view.folded.has(key)) return key;
    if (py < box.y + HEADER) found = key;
  }
  return found;
}

function select(key, { move = false } = {}) {
  chosen.item = key;
  chosen.origins = originsOf(key);
  if (key !== null) { reveal(key); if (move) center(key); }
  show(key);
  if (key !== null) uncover(key);
  redraw();
  if (key !== null && typeof selected === "function") selected(key); // of the studio's page
}

// The panel takes up space when it opens: keep what was clicked in view.
function uncover(key) {
  const box = chosen.view.boxes.get(shownAs(chosen.view, key)), room = 16 / camera.scale;
  const width = canvas.clientWidth / camera.scale, height = canvas.clientHeight / camera.scale;
  camera.x = Math.min(Math.max(camera.x, box.x + box.w + room - width), box.x - room);
  const legend = ($("legend").offsetHeight + 12) / camera.scale;
  camera.y = Math.min(Math.max(camera.y, box.y + box.h + room + legend - height), box.y - room);
}

// A node with all its ancestors: the connections between them are drawn in color. Without a selection, those of
// the result in the reasoning view.
function originsOf(key) {
  const view = chosen.view, found = new Set();
  const stack = key === null ? (view.name === "reasoning" ? [...view.results] : []) : key[0] === "n" ? [key] : [];
  while (stack.length) {
    const at = stack.pop();
    if (found.has(at)) continue;
    found.add(at);
    stack.push(...(view.before.get(at) || []));
  }
  for (const at of [...found]) found.add(shownAs(view, at));
  return found;
}

function choose(name) {
  chosen.view = viewOf(name);
  chosen.item = null; chosen.matches = new Set(); chosen.origins = originsOf(null);
  layOut(chosen.view);
  for (const button of $("views").children) button.setAttribute("aria-pressed", String(button.dataset.view === name));
  legend(); show(null); fit();
  if ($("search").value) search();
}

// ---------------------------------------------------------------- mouse and keys

let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  drag = { x: event.offsetX, y: event.offsetY, left: camera.x, top: camera.y, moved: false };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (!drag) { canvas.classList.toggle("over", at(event.offsetX, event.offsetY) !== null); return; }
  const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
  if (!drag.moved && Math.hypot(dx, dy) < 4) return;
  drag.moved = moved = true;
  canvas.classList.add("dragging");
  camera.x = drag.left - dx / camera.scale; camera.y = drag.top - dy / camera.scale;
  redraw();
});
canvas.addEventListener("pointercancel", () => { drag = null; canvas.classList.remove("dragging"); });
canvas.addEventListener("pointerup", (event) => {
  const clicked = drag && !drag.moved;
  drag = null;
  canvas.classList.remove("dragging");
  if (!clicked) return;
  const key = at(event.offsetX, event.offsetY);
  if (key !== null && key[0] === "g") toggle(key);
  select(key);
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (event.ctrlKey || event.metaKey || !event.shiftKey && event.deltaX === 0) zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.offsetX, event.offsetY);
  else { moved = true; camera.x += event.deltaX / camera.scale; camera.y += event.deltaY / camera.scale; redraw(); }
}, { passive: false });
// The operation that an arrow key leads to from the one that is chosen: up and down along the connections, right
// and left in its row; in the time line, right and left along the connections too.
function reached(arrow) {
  const { name, nodes, boxes, before, after } = chosen.view, key = chosen.item;
  if (key === null || key[0] !== "n") return nodes.keys().next().value;
  const forward = arrow === "ArrowDown" || arrow === "ArrowRight";
  if (name === "time line" || arrow === "ArrowDown" || arrow === "ArrowUp") return ((forward ? after : before).get(key) || [])[0];
  const own = boxes.get(key), inside = ({ y, h }) => y <= own.y + own.h / 2 && own.y + own.h / 2 <= y + h;
  const row = [...boxes.values()].filter((box) => box.key[0] === "n" && inside(box)).sort((a, b) => a.x - b.x);
  return row[row.indexOf(own) + (forward ? 1 : -1)]?.key;
}

canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's own keys
  if (event.key.startsWith("Arrow")) {
    const key = reached(event.key);
    if (key) select(key, { move: true });
  } else if (event.key === "Escape") select(null);
  else if (event.key === "0") fit();
  else if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 1.25 : 0.8, canvas.clientWidth / 2, canvas.clientHeight / 2);
  else return;
  event.preventDefault();
});
$("search").addEventListener("input", search);
$("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") { event.preventDefault(); next(event.shiftKey ? -1 : 1); }
  if (event.key === "Escape") { $("search").value = ""; search(); canvas.focus(); }
});
$("coloring").addEventListener("change", () => { chosen.coloring = $("coloring").value; legend(); redraw(); });
$("fit").onclick = fit;
for (const [id, factor] of [["closer", 1.25], ["farther", 0.8]]) $(id).onclick = () => zoom(factor, canvas.clientWidth / 2, canvas.clientHeight / 2);
$("fold").onclick = () => { for (const key of chosen.view.groups.keys()) chosen.view.folded.add(key); layOut(chosen.view); fit(); };
$("unfold").onclick = () => { chosen.view.folded.clear(); layOut(chosen.view); fit(); };

function resized() { redraw(); }
new ResizeObserver(redraw).observe($("stage"));
addEventListener("resize", () => { if (!moved) fit(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTheme(); legend(); redraw(); });

function heading() {
  $("title").textContent = doc.title;
  $("facts").textContent = $("facts").title = doc.facts.map(([name, value]) => name ? `${name} ${value}` : value).join(" · ");
  $("views").replaceChildren(...[...views.keys()].map((name) => {
    const button = make("button", name);
    button.type = "button"; button.dataset.view = name;
    button.setAttribute("aria-pressed", String(chosen.view.name === name));
    button.onclick = () => choose(name);
    return button;
  }));
  $("views").hidden = views.size < 2;
}

// The graph has grown, or more is known of it: what is folded, chosen and in view stays.
function grown(more) {
  Object.assign(doc, more);
  texts.clear();
  readMakers();
  for (const raw of more.views || []) views.set(raw.name, raw);
  if (!chosen.view.name && views.size) choose(views.keys().next().value);
  heading();
  if (!chosen.view.name || viewOf(chosen.view.name) === chosen.view) return search();
  chosen.view = viewOf(chosen.view.name);
  if (chosen.item !== null && !chosen.view.nodes.has(chosen.item) && !chosen.view.groups.has(chosen.item)) chosen.item = null;
  chosen.origins = originsOf(chosen.item);
  layOut(chosen.view);
  legend(); search();
  if (moved || chosen.item !== null) redraw(); else fit();
}

if (views.has("plan")) $("coloring").parentElement.hidden = true; // nothing has run yet: only the kind is known
readTheme();
layOut(chosen.view);
heading();
if (views.size) choose(views.keys().next().value);
// For tests and for the console.
globalThis.graph = { chosen, camera, choose, select, search, next, toggle, at, grown };

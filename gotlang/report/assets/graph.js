// The graph: where things stand, how they are drawn, how one moves around. What a click shows is in panel.js.
const doc = JSON.parse(document.getElementById("data").textContent);
const WIDTH = 176, HEIGHT = 46, GAP_X = 20, GAP_Y = 30, PADDING = 14, HEADER = 24, SWEEPS = 4;
const MOST_OPEN = 160; // operations that are shown at once before anybody opens a group
const $ = (id) => document.getElementById(id);
const canvas = $("canvas"), paper = canvas.getContext("2d");
const FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";
const camera = { x: 0, y: 0, scale: 1 };
const chosen = { view: null, item: null, origins: new Set(), matches: new Set(), coloring: "kind" };

// ---------------------------------------------------------------- views

function makeView(raw) {
  const view = { ...raw, nodes: new Map(), groups: new Map(), folded: new Set() };
  for (const [id, kind, family, label, detail, state, group, score, usd, place] of raw.nodes)
    view.nodes.set("n" + id, { key: "n" + id, id, kind, family, label, detail, state, score, usd, place, up: group === null ? "all" : "g" + group });
  for (const [id, label, parent] of raw.groups)
    view.groups.set("g" + id, { key: "g" + id, label, up: parent === null ? "all" : "g" + parent, count: 0, failed: 0, best: null, usd: null });
  for (const node of view.nodes.values())
    for (let up = node.up; up !== "all"; up = view.groups.get(up).up) {
      const group = view.groups.get(up);
      group.count += 1;
      group.failed += node.state === "failed";
      if (node.usd !== null) group.usd = (group.usd || 0) + node.usd;
      if (node.score !== null && (group.best === null || (view.lower ? node.score < group.best : node.score > group.best))) group.best = node.score;
    }
  view.before = new Map(); view.after = new Map();
  for (const [a, b] of raw.edges) {
    link(view.after, "n" + a, "n" + b);
    link(view.before, "n" + b, "n" + a);
  }
  const range = (name) => {
    const values = [...view.nodes.values()].map((node) => node[name]).filter((value) => value !== null);
    return values.length ? [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))] : null;
  };
  view.scores = range("score"); view.costs = range("usd");
  foldDeep(view);
  return view;
}

function link(table, from, to) {
  if (!table.has(from)) table.set(from, []);
  table.get(from).push(to);
}

// Folds groups, those without groups inside them first, until few enough items are left to look at.
function foldDeep(view) {
  const groups = [...view.groups.values()], height = new Map(groups.map((group) => [group.key, 0]));
  for (const group of [...groups].reverse())
    if (group.up !== "all") height.set(group.up, Math.max(height.get(group.up), height.get(group.key) + 1));
  for (let level = 0; level <= Math.max(-1, ...new Set(height.values())); level++) {
    if (open(view) <= MOST_OPEN) return;
    for (const group of groups) if (height.get(group.key) === level && group.count > 1) view.folded.add(group.key);
  }
}

function open(view) {
  return new Set([...view.nodes.keys()].map((key) => standIn(view, key))).size;
}

// The outermost folded group that an item is in, or the item itself.
function standIn(view, key) {
  let found = key;
  for (let up = (view.nodes.get(key) || view.groups.get(key)).up; up !== "all"; up = view.groups.get(up).up)
    if (view.folded.has(up)) found = up;
  return found;
}

// ---------------------------------------------------------------- layout, as in place.py

function layOut(view) {
  const sizes = new Map(), inner = new Map(), boxes = new Map();
  for (const key of view.nodes.keys()) sizes.set(key, [WIDTH, HEIGHT]);
  for (const group of [...view.groups.values()].reverse()) {
    if (view.folded.has(group.key)) { sizes.set(group.key, [WIDTH, HEIGHT]); continue; }
    const [places, width, height] = layGroup(view.rows[group.key], view.links[group.key], sizes);
    inner.set(group.key, places);
    sizes.set(group.key, [width + 2 * PADDING, height + PADDING + HEADER]);
  }
  const [places, width, height] = layGroup(view.rows.all, view.links.all, sizes);
  inner.set("all", places);
  const stack = [["all", 0, 0]];
  while (stack.length) {
    const [key, left, top] = stack.pop();
    for (const [item, [x, y]] of inner.get(key)) {
      const [w, h] = sizes.get(item);
      boxes.set(item, { key: item, x: left + x, y: top + y, w, h });
      if (item[0] === "g" && !view.folded.has(item)) stack.push([item, left + x + PADDING, top + y + HEADER]);
    }
  }
  view.boxes = boxes; view.width = width; view.height = height;
  view.lines = new Map();
  for (const [a, b] of view.edges) {
    const from = standIn(view, "n" + a), to = standIn(view, "n" + b);
    if (from !== to) view.lines.set(from + ">" + to, [boxes.get(from), boxes.get(to)]);
  }
}

function layGroup(rows, links, sizes) {
  const near = new Map(), level = new Map(), middle = new Map();
  rows.forEach((row, number) => row.forEach((item) => { near.set(item, []); level.set(item, number); }));
  for (const [a, b] of links) { near.get(a).push(b); near.get(b).push(a); }
  for (const row of rows) spread(row, new Map(row.map((item) => [item, 0])), sizes, middle);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      const wanted = new Map();
      for (const item of row) {
        const linked = near.get(item).filter((o) => down ? level.get(o) < level.get(item) : level.get(o) > level.get(item)).map((o) => middle.get(o));
        wanted.set(item, linked.length ? linked.reduce((a, b) => a + b, 0) / linked.length : middle.get(item));
      }
      spread(row, wanted, sizes, middle);
    }
  }
  let left = Infinity, right = -Infinity, top = 0;
  for (const [item, at] of middle) { left = Math.min(left, at - sizes.get(item)[0] / 2); right = Math.max(right, at + sizes.get(item)[0] / 2); }
  const places = new Map();
  for (const row of rows) {
    const tallest = Math.max(...row.map((item) => sizes.get(item)[1]));
    for (const item of row) {
      const [w, h] = sizes.get(item);
      places.set(item, [middle.get(item) - w / 2 - left, top + (tallest - h) / 2]);
    }
    top += tallest + GAP_Y;
  }
  return [places, rows.length ? right - left : 0, Math.max(0, top - GAP_Y)];
}

function spread(row, wanted, sizes, middle) {
  const blocks = [], offsets = [];
  let offset = 0;
  row.forEach((item, number) => {
    if (number) offset += sizes.get(row[number - 1])[0] / 2 + GAP_X + sizes.get(item)[0] / 2;
    offsets.push(offset);
    blocks.push([wanted.get(item) - offset, 1]);
    while (blocks.length > 1) {
      const [last, previous] = [blocks[blocks.length - 1], blocks[blocks.length - 2]];
      if (previous[0] * last[1] < last[0] * previous[1]) break;
      blocks.pop();
      previous[0] += last[0]; previous[1] += last[1];
    }
  });
  let index = 0;
  for (const [total, count] of blocks)
    for (let i = 0; i < count; i++, index++) middle.set(row[index], total / count + offsets[index]);
}

// ---------------------------------------------------------------- drawing

let theme = {};
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  theme = Object.fromEntries(["ground", "card", "ink", "soft", "line", "edge", "accent", "bad", "good", "mark"].map((name) => [name, style.getPropertyValue("--" + name).trim()]));
  theme.dark = matchMedia("(prefers-color-scheme: dark)").matches ? 1 : 0;
}

const STATES = { done: "good", failed: "bad", running: "accent", ready: "accent", waiting: "soft", planned: "accent" };

function colorOf(view, item) {
  const ramp = (value, range, lower) => {
    if (value === null || value === undefined || !range) return theme.line;
    const share = range[1] === range[0] ? 0 : (value - range[0]) / (range[1] - range[0]);
    const bad = lower ? share : 1 - share;
    return `hsl(${Math.round(145 - 140 * bad)} ${theme.dark ? "55% 58%" : "58% 42%"})`;
  };
  const node = view.nodes.get(item);
  const group = view.groups.get(item);
  switch (chosen.coloring) {
    case "state": return theme[node ? STATES[node.state] || "soft" : group.failed ? "bad" : "good"];
    case "score": return ramp(node ? node.score : group.best, view.scores, view.lower);
    case "cost": return ramp(node ? node.usd : null, view.costs, true);
  }
  return node ? doc.colors[node.family][theme.dark] : theme.soft;
}

let pending = false;
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); });
}

function draw() {
  const view = chosen.view, ratio = devicePixelRatio || 1, { scale } = camera;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  }
  paper.setTransform(ratio, 0, 0, ratio, 0, 0);
  paper.fillStyle = theme.ground;
  paper.fillRect(0, 0, width, height);
  paper.setTransform(ratio * scale, 0, 0, ratio * scale, -camera.x * scale * ratio, -camera.y * scale * ratio);
  const seen = { left: camera.x, top: camera.y, right: camera.x + width / scale, bottom: camera.y + height / scale };
  const out = (b) => b.x > seen.right || b.y > seen.bottom || b.x + b.w < seen.left || b.y + b.h < seen.top;
  for (const group of view.groups.values()) {
    const box = view.boxes.get(group.key);
    if (box && !view.folded.has(group.key) && !out(box)) drawOpen(box, scale);
  }
  drawLines(view, seen, scale);
  for (const group of scale > 0.3 ? view.groups.values() : []) {
    const box = view.boxes.get(group.key);
    if (box && !view.folded.has(group.key) && !out(box)) drawName(group, box);
  }
  for (const [key, box] of view.boxes) {
    if (out(box)) continue;
    if (key[0] === "n") drawNode(view, view.nodes.get(key), box, scale);
    else if (view.folded.has(key)) drawFolded(view, view.groups.get(key), box, scale);
  }
}

function drawOpen(box, scale) {
  paper.beginPath(); paper.roundRect(box.x, box.y, box.w, box.h, 12);
  paper.globalAlpha = 0.055; paper.fillStyle = theme.soft; paper.fill(); paper.globalAlpha = 1;
  paper.lineWidth = 1 / Math.min(1, scale); paper.strokeStyle = theme.line; paper.stroke();
}

// Above the lines, which enter through where the name stands.
function drawName(group, box) {
  const text = "▾ " + fitted(group.label, box.w - 34, 11);
  paper.font = `600 11px ${FONT}`;
  paper.strokeStyle = theme.ground; paper.lineWidth = 4; paper.lineJoin = "round"; paper.strokeText(text, box.x + 10, box.y + 16);
  paper.fillStyle = theme.soft; paper.fillText(text, box.x + 10, box.y + 16);
}

function drawLines(view, seen, scale) {
  const path = new Path2D(), strong = new Path2D(), way = new Path2D();
  for (const [key, [a, b]] of view.lines) {
    const x1 = a.x + a.w / 2, y1 = a.y + a.h, x2 = b.x + b.w / 2, y2 = b.y;
    const bend = Math.max(14, Math.abs(y2 - y1) * 0.45);
    if (Math.max(x1, x2) < seen.left || Math.min(x1, x2) > seen.right || Math.max(y1, y2) + bend < seen.top || Math.min(y1, y2) - bend > seen.bottom) continue;
    const [from, to] = key.split(">");
    const near = chosen.item !== null && (from === chosen.item || to === chosen.item);
    const target = near ? strong : chosen.origins.has(from) && chosen.origins.has(to) ? way : path;
    target.moveTo(x1, y1); target.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2 - 1);
    if (scale > 0.3) { target.moveTo(x2 - 3.5, y2 - 6); target.lineTo(x2, y2 - 1); target.lineTo(x2 + 3.5, y2 - 6); }
  }
  paper.lineWidth = 1.2 / Math.min(1, Math.sqrt(scale)); paper.strokeStyle = theme.edge; paper.stroke(path);
  paper.strokeStyle = theme.accent; paper.globalAlpha = 0.6; paper.stroke(way); paper.globalAlpha = 1;
  paper.lineWidth = 2.4 / Math.min(1, Math.sqrt(scale)); paper.strokeStyle = theme.accent; paper.stroke(strong);
}

function drawNode(view, node, box, scale) {
  const color = colorOf(view, node.key), hub = node.kind === "join" || node.kind === "grow" || node.kind === "constant";
  paper.beginPath(); paper.roundRect(box.x, box.y, box.w, box.h, hub ? 22 : 9);
  paper.fillStyle = theme.card; paper.fill();
  outline(node.key, node.state === "failed" ? theme.bad : theme.line, node.state === "failed" ? 2 : 1.2);
  if (scale < 0.28) {
    paper.globalAlpha = 0.75; paper.fillStyle = color; paper.fill(); paper.globalAlpha = 1;
    return;
  }
  paper.beginPath(); paper.roundRect(box.x + 7, box.y + 9, 4, box.h - 18, 2); paper.fillStyle = color; paper.fill();
  label(node.label, node.detail, box);
}

function drawFolded(view, group, box, scale) {
  for (const shift of [6, 3, 0]) {
    paper.beginPath(); paper.roundRect(box.x + shift, box.y + shift, box.w - 6, box.h - 4, 9);
    paper.fillStyle = theme.card; paper.fill();
    outline(shift ? null : group.key, group.failed ? theme.bad : theme.line, 1.2);
  }
  if (scale < 0.28) {
    paper.globalAlpha = 0.35; paper.fillStyle = colorOf(view, group.key); paper.fill(); paper.globalAlpha = 1;
    return;
  }
  paper.beginPath(); paper.roundRect(box.x + 7, box.y + 8, 4, box.h - 20, 2); paper.fillStyle = colorOf(view, group.key); paper.fill();
  const parts = [`${group.count} ${view.name === "reasoning" ? "thoughts" : "operations"}`];
  if (group.best !== null) parts.push(`best ${short(group.best)}`);
  if (group.failed) parts.push(`${group.failed} failed`);
  label("▸ " + group.label, parts.join(" · "), box);
}

function outline(key, color, width) {
  if (key !== null && key === chosen.item) { paper.strokeStyle = theme.accent; paper.lineWidth = 3; }
  else if (key !== null && chosen.matches.has(key)) { paper.strokeStyle = theme.dark ? "#e0af68" : "#d99100"; paper.lineWidth = 3; }
  else { paper.strokeStyle = color; paper.lineWidth = width; }
  paper.stroke();
}

function label(first, second, box) {
  paper.fillStyle = theme.ink; paper.font = `600 12.5px ${FONT}`;
  paper.fillText(fitted(first, box.w - 32, 12.5), box.x + 20, box.y + (second ? 20 : box.h / 2 + 4));
  if (!second) return;
  paper.fillStyle = theme.soft; paper.font = `11px ${FONT}`;
  paper.fillText(fitted(second, box.w - 32, 11), box.x + 20, box.y + 35);
}

const widths = new Map();
function fitted(text, room, size) {
  const key = size + "|" + room + "|" + text;
  if (!widths.has(key)) {
    let cut = text;
    while (cut.length > 1 && paper.measureText(cut).width > room) cut = cut.slice(0, Math.min(cut.length - 2, Math.ceil(cut.length * room / paper.measureText(cut).width))) + "…";
    widths.set(key, cut);
  }
  return widths.get(key);
}

const short = (value) => Number.isInteger(value) ? String(value) : value.toPrecision(3);

// ---------------------------------------------------------------- moving around

function fit() {
  const view = chosen.view, room = 28;
  const width = canvas.clientWidth - 2 * room, height = canvas.clientHeight - 2 * room;
  camera.scale = Math.min(1.1, Math.max(0.02, Math.min(width / Math.max(view.width, 1), height / Math.max(view.height, 1))));
  // A long graph is readable from its top; all of it is a finger's width away.
  camera.scale = Math.max(camera.scale, Math.min(0.62, width / Math.max(view.width, 1)));
  camera.x = (view.width - canvas.clientWidth / camera.scale) / 2;
  camera.y = view.height * camera.scale > height ? -room / camera.scale : (view.height - canvas.clientHeight / camera.scale) / 2;
  redraw();
}

function center(key) {
  const box = chosen.view.boxes.get(standIn(chosen.view, key));
  camera.scale = Math.max(camera.scale, 0.7);
  camera.x = box.x + box.w / 2 - canvas.clientWidth / camera.scale / 2;
  camera.y = box.y + box.h / 2 - canvas.clientHeight / camera.scale / 2;
  redraw();
}

function zoom(factor, x, y) {
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

// Folding moves what is around: the group itself stays where it is on the screen.
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
  redraw();
}

// Everything that an operation or a thought came from, and itself: the way to it is drawn in color.
function originsOf(key) {
  const view = chosen.view, found = new Set(), stack = key !== null && key[0] === "n" ? [key] : [];
  while (stack.length) {
    const at = stack.pop();
    if (found.has(at)) continue;
    found.add(at);
    stack.push(...(view.before.get(at) || []));
  }
  for (const at of [...found]) found.add(standIn(view, at));
  return found;
}

function choose(name) {
  chosen.view = views.find((view) => view.name === name);
  chosen.item = null; chosen.origins = new Set(); chosen.matches = new Set();
  layOut(chosen.view);
  for (const button of $("views").children) button.setAttribute("aria-pressed", String(button.dataset.view === name));
  legend(); show(null); fit();
  if ($("search").value) search();
}

function legend() {
  const box = $("legend"), entry = (color, text) => {
    const line = document.createElement("span"), dot = document.createElement("i");
    dot.style.background = color; line.append(dot, text); box.append(line);
  };
  box.replaceChildren();
  const view = chosen.view, names = { ask: "asks a model", judge: "judges", choose: "chooses", truth: "compares with the known answer", tool: "tool", start: "input", pass: "passes on", thought: "thought" };
  if (chosen.coloring === "kind") for (const family of new Set([...view.nodes.values()].map((node) => node.family))) entry(doc.colors[family][theme.dark], names[family]);
  if (chosen.coloring === "state") for (const state of new Set([...view.nodes.values()].map((node) => node.state))) entry(theme[STATES[state] || "soft"], state);
  const range = chosen.coloring === "score" ? view.scores : chosen.coloring === "cost" ? view.costs : null;
  const money = (value) => chosen.coloring === "cost" ? "$" + value.toPrecision(2) : short(value);
  if (range) { const lower = chosen.coloring === "cost" || view.lower; entry("hsl(145 58% 45%)", money(range[lower ? 0 : 1])); entry("hsl(5 58% 50%)", money(range[lower ? 1 : 0])); }
  else if (chosen.coloring === "score" || chosen.coloring === "cost") entry(theme.line, `no ${chosen.coloring} known`);
}

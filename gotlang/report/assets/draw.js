// How the graph is drawn: colors, boxes, lines, and the legend.

let theme = {};
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  theme = Object.fromEntries(["ground", "card", "ink", "soft", "line", "edge", "accent", "bad", "good", "mark"].map((name) => [name, style.getPropertyValue("--" + name).trim()]));
  theme.dark = matchMedia("(prefers-color-scheme: dark)").matches ? 1 : 0;
  theme.found = theme.dark ? "#e0af68" : "#d99100";
}

const STATES = { done: "good", cached: "accent", failed: "bad", skipped: "soft", running: "accent", ready: "accent", waiting: "soft", planned: "accent" };

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
  const view = chosen.view;
  const ratio = devicePixelRatio || 1, { scale } = camera;
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
    if (box && box.h * scale > 4 && !view.folded.has(group.key) && !out(box)) drawOpen(box, scale);
  }
  if (view.name === "time line") {
    drawAxis(view, seen, scale, ratio);
    paper.setTransform(ratio * scale, 0, 0, ratio * scale, -camera.x * scale * ratio, -camera.y * scale * ratio);
    drawWaits(view, seen, scale);
  } else drawLines(view, seen, scale);
  for (const group of scale > 0.3 ? view.groups.values() : []) {
    const box = view.boxes.get(group.key);
    if (box && !view.folded.has(group.key) && !out(box)) drawName(group, box);
  }
  // Far away there are thousands: boxes without anything special are filled by color, all others after them.
  const far = scale < FAR, flat = new Map(), special = [];
  for (const [key, box] of view.boxes) {
    if (out(box)) continue;
    if (far && plain(view, key)) {
      const color = colorOf(view, key);
      if (!flat.has(color)) flat.set(color, []);
      flat.get(color).push(box);
      continue;
    }
    if (key[0] === "g" && !view.folded.has(key)) continue;
    if (far) { special.push([key, box]); continue; }
    drawItem(view, key, box, scale);
  }
  paper.globalAlpha = 0.7;
  for (const [color, boxes] of flat) {
    paper.fillStyle = color;
    for (const box of boxes) paper.fillRect(box.x, box.y, box.w, box.h);
  }
  for (const [key, box] of special) drawItem(view, key, box, scale);
  paper.globalAlpha = 1;
  if (scale < 0.5) drawFound(view, out, scale);
}

const FAR = 0.28;

// Whether a box far away needs nothing but its color.
function plain(view, key) {
  if (key === chosen.item || chosen.matches.has(key) || view.critical.has(key) || faint(key)) return false;
  return key[0] === "n" ? !["failed", "running"].includes(view.nodes.get(key).state) : false;
}

function drawItem(view, key, box, scale) {
  paper.globalAlpha = faint(key) ? 0.38 : 1;
  if (view.name === "time line") drawBar(view, view.nodes.get(key), box, scale);
  else if (key[0] === "n") drawNode(view, view.nodes.get(key), box, scale);
  else if (view.folded.has(key)) drawFolded(view, view.groups.get(key), box, scale);
}

// Thoughts that neither the result nor the selection was made from.
function faint(key) {
  return chosen.view.name === "reasoning" && chosen.origins.size > 0 && !chosen.origins.has(key) && !chosen.matches.has(key);
}

// Search results are visible at any zoom.
function drawFound(view, out, scale) {
  paper.strokeStyle = theme.found; paper.lineWidth = 2.5 / scale;
  for (const key of chosen.matches) {
    const box = view.boxes.get(key);
    if (!box || out(box)) continue;
    paper.beginPath(); paper.arc(box.x + box.w / 2, box.y + box.h / 2, Math.max(box.h * 0.7, 9 / scale), 0, 7); paper.stroke();
  }
}

function drawOpen(box, scale) {
  paper.beginPath(); paper.roundRect(box.x, box.y, box.w, box.h, 12);
  paper.globalAlpha = 0.055; paper.fillStyle = theme.soft; paper.fill(); paper.globalAlpha = 1;
  paper.lineWidth = 1 / Math.min(1, scale); paper.strokeStyle = theme.line; paper.stroke();
}

// Above the lines that enter the group there.
function drawName(group, box) {
  const text = "▾ " + fitted(group.label, box.w - 34, 11);
  paper.font = `600 11px ${FONT}`;
  paper.strokeStyle = theme.ground; paper.lineWidth = 4; paper.lineJoin = "round"; paper.strokeText(text, box.x + 10, box.y + 16);
  paper.fillStyle = theme.soft; paper.fillText(text, box.x + 10, box.y + 16);
}

function drawLines(view, seen, scale) {
  const path = new Path2D(), strong = new Path2D(), way = new Path2D();
  const far = scale < FAR, long = far ? 6 / scale : 0; // far away only what is long enough to be seen
  for (const [a, b, from, to] of view.lines.values()) {
    const x1 = a.x + a.w / 2, y1 = a.y + a.h, x2 = b.x + b.w / 2, y2 = b.y;
    const bend = Math.max(14, Math.abs(y2 - y1) * 0.45);
    if (Math.max(x1, x2) < seen.left || Math.min(x1, x2) > seen.right || Math.max(y1, y2) + bend < seen.top || Math.min(y1, y2) - bend > seen.bottom) continue;
    const near = chosen.item !== null && (from === chosen.item || to === chosen.item);
    const target = near ? strong : chosen.origins.has(from) && chosen.origins.has(to) ? way : path;
    target.moveTo(x1, y1);
    if (far && target === path) {
      if (Math.abs(x2 - x1) + Math.abs(y2 - y1) > long) target.lineTo(x2, y2);
      continue;
    }
    target.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2 - 1);
    if (scale > 0.3) { target.moveTo(x2 - 3.5, y2 - 6); target.lineTo(x2, y2 - 1); target.lineTo(x2 + 3.5, y2 - 6); }
  }
  paper.lineWidth = 1.2 / Math.min(1, Math.sqrt(scale)); paper.strokeStyle = theme.edge; paper.stroke(path);
  paper.strokeStyle = theme.accent; paper.globalAlpha = 0.6; paper.stroke(way); paper.globalAlpha = 1;
  paper.lineWidth = 2.4 / Math.min(1, Math.sqrt(scale)); paper.strokeStyle = theme.accent; paper.stroke(strong);
}

function drawNode(view, node, box, scale) {
  const OPEN = { running: theme.accent, ready: theme.edge, waiting: theme.line };
  const color = colorOf(view, node.key), hub = node.kind === "join" || node.kind === "grow" || node.kind === "constant";
  paper.beginPath(); paper.roundRect(box.x, box.y, box.w, box.h, hub ? 22 : 9);
  paper.fillStyle = theme.card; paper.fill();
  const result = view.name === "reasoning" && view.results.includes(node.key);
  const open = OPEN[node.state];
  if (open) paper.setLineDash([5, 4]);
  outline(node.key, node.state === "failed" ? theme.bad : result ? theme.good : open || theme.line, node.state === "failed" || result || open === theme.accent ? 2.2 : 1.2);
  paper.setLineDash([]);
  if (scale < 0.28) {
    const alpha = paper.globalAlpha;
    paper.globalAlpha = 0.75 * alpha; paper.fillStyle = result ? theme.good : color; paper.fill(); paper.globalAlpha = alpha;
    return;
  }
  paper.beginPath(); paper.roundRect(box.x + 7, box.y + 9, 4, box.h - 18, 2); paper.fillStyle = color; paper.fill();
  label(node.label, open && !node.detail ? node.state : node.detail, box, paid(node));
}

function drawFolded(view, group, box, scale) {
  for (const shift of [6, 3, 0]) {
    paper.beginPath(); paper.roundRect(box.x + shift, box.y + shift, box.w - 6, box.h - 4, 9);
    paper.fillStyle = theme.card; paper.fill();
    outline(shift ? null : group.key, group.failed ? theme.bad : theme.line, 1.2);
  }
  if (scale < 0.28) {
    const alpha = paper.globalAlpha;
    paper.globalAlpha = 0.35 * alpha; paper.fillStyle = colorOf(view, group.key); paper.fill(); paper.globalAlpha = alpha;
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
  else if (key !== null && chosen.matches.has(key)) { paper.strokeStyle = theme.found; paper.lineWidth = 3; }
  else { paper.strokeStyle = color; paper.lineWidth = width; }
  paper.stroke();
}

function label(first, second, box, aside = "") {
  let room = box.w - 32;
  if (aside) {
    paper.fillStyle = theme.soft; paper.font = `10.5px ${FONT}`;
    const shown = fitted(aside, room / 2, 10.5), width = paper.measureText(shown).width;
    paper.fillText(shown, box.x + box.w - 10 - width, box.y + 20);
    room -= width + 6;
  }
  paper.fillStyle = theme.ink; paper.font = `600 12.5px ${FONT}`;
  paper.fillText(fitted(first, Math.round(room), 12.5), box.x + 20, box.y + (second ? 20 : box.h / 2 + 4));
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

function legend() {
  const box = $("legend"), entry = (color, text) => {
    const line = document.createElement("span"), dot = document.createElement("i");
    dot.style.background = color; line.append(dot, text); box.append(line);
  };
  box.replaceChildren();
  const view = chosen.view;
  const names = { ask: "model calls", judge: "scoring", choose: "selection", truth: "ground truth", tool: "tools", start: "input", pass: "other" };
  if (chosen.coloring === "kind") for (const family of new Set([...view.nodes.values()].map((node) => node.family))) entry(doc.colors[family][theme.dark], names[family]);
  if (chosen.coloring === "state") for (const state of new Set([...view.nodes.values()].map((node) => node.state))) entry(theme[STATES[state] || "soft"], state === "cached" ? "cached" : state);
  const range = chosen.coloring === "score" ? view.scores : chosen.coloring === "cost" ? view.costs : null;
  const money = (value) => chosen.coloring === "cost" ? dollars(value) : short(value);
  if (range) { const lower = chosen.coloring === "cost" || view.lower; entry("hsl(145 58% 45%)", money(range[lower ? 0 : 1])); entry("hsl(5 58% 50%)", money(range[lower ? 1 : 0])); }
  else if (chosen.coloring === "score" || chosen.coloring === "cost") entry(theme.line, `${chosen.coloring} unknown`);
  if (view.name === "time line") entry(theme.good, "critical path: each operation waited for the previous one");
  if (view.name === "reasoning" && view.results.length) entry(theme.good, "result; the thoughts it was made from are in full color");
}

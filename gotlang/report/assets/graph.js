// The graph as data: views, groups that fold, and the layout. Drawing is in draw.js, moving around in move.js,
// and what a click shows in panel.js.
const NARROW = 120, WIDE = 290, HEIGHT = 46, GAP_X = 20, GAP_Y = 30, PADDING = 14, HEADER = 24, SWEEPS = 4;
const MOST_OPEN = 160; // operations shown at once before a group is opened
const canvas = $("canvas"), paper = canvas.getContext("2d");
const FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";
const camera = { x: 0, y: 0, scale: 1 };
const EMPTY = { name: "", nodes: [], groups: [], edges: [], rows: { all: [] }, links: { all: [] }, details: {} };
const chosen = { view: makeView(EMPTY), item: null, origins: new Set(), matches: new Set(), coloring: "kind" };

// ---------------------------------------------------------------- views

// Views by name as they came, and what was made of those that were looked at.
const views = new Map(doc.views.map((raw) => [raw.name, raw])), made = new Map();

// A view that has grown keeps what is folded.
function viewOf(name) {
  const raw = views.get(name), before = made.get(name);
  if (before && before.raw === raw) return before;
  const view = makeView(raw);
  if (before) for (const key of view.groups.keys()) if (before.groups.has(key)) view.folded[before.folded.has(key) ? "add" : "delete"](key);
  made.set(name, view);
  return view;
}

function makeView(raw) {
  const view = { ...raw, raw, nodes: new Map(), groups: new Map(), folded: new Set() };
  for (const [id, kind, family, label, detail, state, group, score, usd, place, seconds] of raw.nodes)
    view.nodes.set("n" + id, { key: "n" + id, id, kind, family, label, detail, state, score, usd, place, seconds, up: group === null ? "all" : "g" + group });
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
  view.results = (raw.results || []).map((id) => "n" + id).filter((key) => view.nodes.has(key));
  view.critical = new Set(view.results);
  view.wide = widthOf([...view.nodes.values()], [...view.groups.values()]);
  foldDeep(view);
  return view;
}

// What an operation took, as its box shows it: time and cost.
function paid(node) {
  return [node.seconds ? seconds(node.seconds) : null, node.usd ? dollars(node.usd) : null].filter(Boolean).join(" · ");
}

// Boxes are all as wide as the longest of their texts needs, within limits.
function widthOf(nodes, groups) {
  const widest = (font, texts) => { paper.font = font; return [...new Set(texts)].reduce((most, text) => Math.max(most, paper.measureText(text).width), 0); };
  const labels = widest(`600 12.5px ${FONT}`, nodes.map((node) => node.label + (paid(node) && "  " + paid(node))).concat(groups.map((group) => "▸ " + group.label)));
  const details = widest(`11px ${FONT}`, nodes.map((node) => node.detail));
  return Math.min(WIDE, Math.max(NARROW, groups.length ? 176 : 0, Math.ceil(Math.max(labels, details)) + 34));
}

function link(table, from, to) {
  if (!table.has(from)) table.set(from, []);
  table.get(from).push(to);
}

// Folds groups, those without groups inside them first, until few enough items are left.
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
  return new Set([...view.nodes.keys()].map((key) => shownAs(view, key))).size;
}

// The outermost folded group that an item is in, or the item itself.
function shownAs(view, key) {
  let found = key;
  for (let up = (view.nodes.get(key) || view.groups.get(key)).up; up !== "all"; up = view.groups.get(up).up)
    if (view.folded.has(up)) found = up;
  return found;
}

// ---------------------------------------------------------------- layout, as in `place` of layout.py

function layOut(view) {
  if (view.name === "time line") return layTime(view);
  const sizes = new Map(), inner = new Map(), boxes = new Map();
  for (const key of view.nodes.keys()) sizes.set(key, [view.wide, HEIGHT]);
  for (const group of [...view.groups.values()].reverse()) {
    if (view.folded.has(group.key)) { sizes.set(group.key, [view.wide, HEIGHT]); continue; }
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
    const from = shownAs(view, "n" + a), to = shownAs(view, "n" + b);
    if (from !== to) view.lines.set(from + ">" + to, [boxes.get(from), boxes.get(to), from, to]);
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

// The time line as a view of the graph: a bar for each operation that waited, from when it began to when it
// ended, in lanes; the first lane is the critical path. Bars are boxes, so all that moves and finds boxes works.
const LANE = 30, BAR = 26, WIDTH_OF_A_STEP = 190, MOST_WIDE = 24000, AXIS = 22;

function layTime(view) {
  let last = 0, start = Infinity;
  for (const [began, ended] of Object.values(view.details)) { start = Math.min(start, began); last = Math.max(last, began, ended ?? 0); }
  view.start = start; view.end = last;
  const span = Math.max(last - start, 1e-6), path = new Set(view.results), lanes = [];
  view.perSecond = Math.min(MOST_WIDE, Math.max(900, WIDTH_OF_A_STEP * view.results.length)) / span;
  view.boxes = new Map();
  const place = (key, lane) => {
    const [began, ended] = view.details[view.nodes.get(key).id], until = ended ?? last;
    const x = (began - start) * view.perSecond, w = Math.max(3, (until - began) * view.perSecond - 1.5);
    view.boxes.set(key, { key, x, y: AXIS + lane * LANE, w, h: BAR });
    return until;
  };
  for (const key of view.results) place(key, 0);
  const rest = [...view.nodes.keys()].filter((key) => !path.has(key)).map((key) => [view.details[view.nodes.get(key).id][0], key]).sort((a, b) => a[0] - b[0]);
  for (const [began, key] of rest) {
    let lane = lanes.findIndex((until) => until <= began + 1e-9);
    if (lane < 0) lane = lanes.push(0) - 1;
    lanes[lane] = place(key, lane + 1);
  }
  view.width = span * view.perSecond; view.height = AXIS + (lanes.length + 1) * LANE;
  view.lines = new Map();
  for (const [a, b] of view.edges) {
    const from = view.boxes.get("n" + a), to = view.boxes.get("n" + b);
    if (from && to) view.lines.set(`n${a}>n${b}`, [from, to, `n${a}`, `n${b}`]);
  }
}

const seconds = (value) => value >= 90 ? `${Math.floor(value / 60)} min ${Math.round(value % 60)} s` : value >= 0.995 ? `${value.toPrecision(value >= 9.95 ? 2 : 2)} s` : `${Math.round(value * 1000)} ms`;

function drawBar(view, node, box, scale) {
  const color = colorOf(view, node.key), critical = view.critical.has(node.key), open = view.details[node.id][1] === null;
  paper.beginPath(); paper.roundRect(box.x, box.y, box.w, box.h, Math.min(6, box.w / 2));
  paper.fillStyle = theme.card; paper.fill();
  const alpha = paper.globalAlpha;
  paper.globalAlpha = alpha * (critical ? 0.42 : 0.2); paper.fillStyle = color; paper.fill(); paper.globalAlpha = alpha;
  if (open) paper.setLineDash([4, 3]);
  outline(node.key, node.state === "failed" ? theme.bad : critical ? theme.good : color, (critical ? 2 : 1) / Math.min(1, scale));
  paper.setLineDash([]);
  const room = Math.min(600, Math.floor(box.w / 24) * 24) - 10;
  if (room * scale < 26 || scale < 0.45) return;
  paper.fillStyle = theme.ink; paper.font = `600 11.5px ${FONT}`;
  paper.fillText(fitted(`${node.label}  ${open ? "…" : seconds(node.seconds)}${node.usd ? "  " + dollars(node.usd) : ""}`, room, 11.5), box.x + 6, box.y + 17);
}

// Who waited for whom: on the critical path, around the selection, and where there are few.
function drawWaits(view, seen, scale) {
  const path = new Path2D(), strong = new Path2D();
  let few = 0;
  for (const [a, b, from, to] of view.lines.values()) {
    const x1 = a.x + a.w, x2 = b.x, y1 = a.y + a.h / 2, y2 = b.y + b.h / 2;
    if (Math.max(x1, x2) < seen.left || Math.min(x1, x2) > seen.right || Math.max(y1, y2) < seen.top || Math.min(y1, y2) > seen.bottom) continue;
    const marked = chosen.item !== null ? (chosen.origins.has(from) && chosen.origins.has(to)) || from === chosen.item : view.critical.has(from) && view.critical.has(to);
    if (!marked && few++ > 300) continue;
    const target = marked ? strong : path, bend = Math.max(6, Math.min(30, Math.abs(x2 - x1)));
    target.moveTo(x1, y1); target.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
  }
  paper.lineWidth = 1 / Math.min(1, Math.sqrt(scale)); paper.strokeStyle = theme.line; paper.stroke(path);
  paper.lineWidth = 2 / Math.min(1, Math.sqrt(scale)); paper.strokeStyle = chosen.item === null ? theme.good : theme.accent; paper.stroke(strong);
}

// The seconds, at the top of the window whatever is in view.
function drawAxis(view, seen, scale, ratio) {
  const wanted = 110 / (view.perSecond * scale), power = 10 ** Math.floor(Math.log10(wanted)), step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted);
  paper.setTransform(ratio, 0, 0, ratio, 0, 0);
  paper.font = `11px ${FONT}`; paper.lineWidth = 1;
  const first = Math.max(0, Math.ceil(seen.left / view.perSecond / step)), digits = Math.max(0, -Math.floor(Math.log10(step)));
  for (let n = first; n * step * view.perSecond <= Math.min(seen.right, view.width); n++) {
    const x = (n * step * view.perSecond - camera.x) * scale;
    paper.strokeStyle = theme.line; paper.globalAlpha = 0.6;
    paper.beginPath(); paper.moveTo(x, 0); paper.lineTo(x, canvas.clientHeight); paper.stroke();
    paper.globalAlpha = 1; paper.fillStyle = theme.soft; paper.fillText(`${(n * step).toFixed(digits)} s`, x + 4, 13);
  }
}

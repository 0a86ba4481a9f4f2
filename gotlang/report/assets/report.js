// The rows of an evaluation or a comparison: filtered, searched and sorted, and every scheme's output for the
// selected row. Only rows in sight are in the page, so that thousands stay usable.
const chosen = { row: null, order: null, down: false, filter: "all", words: "" };
let shown = [], height = 0;

const number = (value) => Number.isInteger(value) ? String(value) : value.toFixed(2);
const brief = (name) => name.length > 18 ? name.slice(0, 17) + "…" : name;
const preview = (text) => text.length > 300 ? text.slice(0, 300) + "…" : text;
const runsOf = (row, scheme) => row.runs.filter(([which]) => which === scheme).map(([, run]) => run);
const mean = (values) => values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
const known = (runs, name) => runs.map((run) => run[name]).filter((value) => value !== null && value !== undefined);
const total = (values) => values.length ? values.reduce((a, b) => a + b, 0) : null;
const given = (run) => run.state === "failed" ? run.reason || "failed" : written(run.result);

// The value that a row has for a scheme: the mean over its repeats.
const valueOf = (row, scheme) => mean(known(runsOf(row, scheme).filter((run) => run.state === "done"), "compared"));
const shape = (row, scheme) => JSON.stringify([...new Set(runsOf(row, scheme).map((run) => run.state === "failed" ? "failed" : JSON.stringify(run.result)))].sort());

const filters = {
  all: ["all rows", () => true],
  wrong: ["wrong", (row) => row.runs.some(([, run]) => run.correct === false || run.state === "failed" && doc.judged)],
  failed: ["failed", (row) => row.runs.some(([, run]) => run.state === "failed")],
  invalid: ["not valid", (row) => row.runs.some(([, run]) => run.valid === false)],
  differ: ["schemes differ", (row) => new Set(doc.schemes.map((_, scheme) => shape(row, scheme))).size > 1],
  mixed: ["right and wrong", (row) => new Set(row.runs.map(([, run]) => run.correct)).size > 1],
};

function hay(row) {
  return row.hay ??= [...Object.values(row.inputs).map(written), written(row.truth), ...row.runs.map(([, run]) => given(run))].join("\n").toLowerCase();
}

// ---------------------------------------------------------------- columns

const marks = (run) => run.state === "failed" ? "failed" : run.correct === true ? "right" : run.correct === false ? "wrong" : "";

function answerCell(row, scheme) {
  const runs = runsOf(row, scheme), value = valueOf(row, scheme), kinds = runs.map(marks);
  const kind = kinds.includes("failed") ? "failed" : kinds.includes("wrong") ? "wrong" : kinds.length && kinds.every((one) => one === "right") ? "right" : "";
  const cell = make("td", null, `answer ${kind}`);
  const partly = doc.share && (value === 0 || value === 1) ? null : value;
  const words = value === null ? runs.filter((run) => run.state === "partial").map((run) => run.state)[0] : partly === null ? null : doc.share ? `${Math.round(100 * value)}%` : number(value);
  if (kind) cell.append(make("i", { right: "✓", wrong: "✗", failed: "!" }[kind]), " ");
  if (words) cell.append(make("b", words), " ");
  cell.append(make("span", preview(runs.map(given).join(" | "))));
  return cell;
}

const several = doc.schemes.length > 1;
const amount = (name, of, words) => ({ name, kind: "number", value: of, cell: (row) => { const value = of(row); return make("td", value === null ? "" : words(value), "number"); } });
const text = (name, of) => ({ name, kind: "text", value: of, cell: (row) => make("td", preview(of(row)), "text") });
const columns = [text("input", (row) => Object.values(row.inputs).map(written).join(", "))];
if (doc.rows.some((row) => row.truth !== null)) columns.push(text("expected", (row) => row.truth === null ? "" : written(row.truth)));
doc.schemes.forEach((name, scheme) => columns.push({ name: several ? name : doc.share ? "result" : doc.label, kind: "answer", value: (row) => valueOf(row, scheme), cell: (row) => answerCell(row, scheme) }));
columns.push(amount("cost", (row) => total(known(row.runs.map(([, run]) => run), "usd")), dollars));
columns.push(amount("calls", (row) => total(known(row.runs.map(([, run]) => run), "calls")), number));

// ---------------------------------------------------------------- the table

const frame = $("rows"), table = make("table"), body = make("tbody"), above = make("tr", null, "gap"), below = make("tr", null, "gap");
for (const gap of [above, below]) { gap.append(make("td")); gap.firstChild.colSpan = columns.length + 1; gap.setAttribute("aria-hidden", "true"); }

function head() {
  const line = make("tr");
  const title = (name, order, kind) => {
    const cell = make("th", null, kind), button = make("button", brief(name) + (chosen.order === order ? chosen.down ? " ↓" : " ↑" : ""));
    cell.title = name;
    cell.setAttribute("aria-sort", chosen.order !== order ? "none" : chosen.down ? "descending" : "ascending");
    button.onclick = () => { chosen.down = chosen.order === order && !chosen.down; chosen.order = order; arrange(); };
    cell.append(button);
    line.append(cell);
  };
  title("row", null, "count");
  columns.forEach(({ name, kind }, order) => title(name, order, kind));
  const top = make("thead"), focused = [...table.querySelectorAll("th button")].indexOf(document.activeElement);
  top.append(line);
  table.replaceChildren(top, body);
  line.querySelectorAll("button")[focused]?.focus();
}

function line(row, place) {
  const made = make("tr");
  made.dataset.row = row.row;
  made.tabIndex = row.row === chosen.row || chosen.row === null && place === 0 ? 0 : -1;
  made.setAttribute("aria-selected", String(row.row === chosen.row));
  made.setAttribute("aria-rowindex", place + 2);
  made.append(make("th", String(row.row)), ...columns.map(({ name, cell }) => { const one = cell(row); one.dataset.name = name; return one; }));
  return made;
}

// Draws the lines in sight, and a few around them.
function draw() {
  const top = frame.scrollTop, first = height ? Math.max(0, Math.floor(top / height) - 20) : 0;
  const last = Math.min(shown.length, height ? first + Math.ceil(frame.clientHeight / height) + 40 : 60);
  above.firstChild.style.height = `${first * height}px`;
  below.firstChild.style.height = `${(shown.length - last) * height}px`;
  above.hidden = first === 0;
  below.hidden = last === shown.length;
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset.row : null;
  body.replaceChildren(above, ...shown.slice(first, last).map((row, place) => line(row, first + place)), below);
  if (frame.scrollTop !== top) frame.scrollTop = top;
  if (focused !== null) body.querySelector(`tr[data-row="${focused}"]`)?.focus({ preventScroll: true });
  const one = body.children[1];
  if (one && !height && shown.length > 60 && one.offsetHeight) { height = one.offsetHeight; draw(); }
}

// Filters, searches and sorts anew.
function arrange() {
  const { order, down, filter } = chosen, words = chosen.words.trim().toLowerCase(), keep = filters[filter][1];
  shown = doc.rows.filter((row) => keep(row) && (!words || hay(row).includes(words)));
  if (order !== null) {
    const keys = new Map(shown.map((row) => [row, columns[order].value(row) ?? Infinity]));
    shown.sort((a, b) => { const x = keys.get(a), y = keys.get(b); return x < y ? -1 : x > y ? 1 : 0; });
  }
  if (down) shown.reverse();
  table.setAttribute("aria-rowcount", shown.length + 1);
  $("found").textContent = shown.length === doc.rows.length ? `${shown.length} row${shown.length === 1 ? "" : "s"}` : `${shown.length} of ${doc.rows.length} rows`;
  frame.scrollTop = 0;
  head();
  draw();
}

function place(which) { return shown.findIndex((row) => row.row === which); }

// Brings a row into sight, and the keyboard to it.
function reach(at, focus) {
  if (height) {
    const top = at * height, header = table.tHead.offsetHeight;
    if (top < frame.scrollTop) frame.scrollTop = top;
    else if (top + height + header > frame.scrollTop + frame.clientHeight) frame.scrollTop = top + height + header - frame.clientHeight;
  }
  draw();
  const found = body.querySelector(`tr[data-row="${shown[at].row}"]`);
  if (found && focus) found.focus({ preventScroll: height > 0 });
}

body.addEventListener("click", (event) => { const found = event.target.closest("tr[data-row]"); if (!found) return;
  select(Number(found.dataset.row));
  if (matchMedia("(max-width: 860px)").matches) $("panel").scrollIntoView({ block: "nearest" }); // it is below the rows
});
body.addEventListener("keydown", (event) => {
  const found = event.target.closest("tr[data-row]");
  if (!found) return;
  const at = place(Number(found.dataset.row)), last = shown.length - 1;
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: last }[event.key];
  if (next !== undefined) {
    event.preventDefault();
    const to = Math.max(0, Math.min(last, next));
    select(shown[to].row);
    reach(to, true);
  } else if (event.key === "Enter" || event.key === " ") { event.preventDefault(); select(shown[at].row); reach(at, true); }
});
frame.addEventListener("scroll", () => { if (height) requestAnimationFrame(draw); });
addEventListener("resize", () => {
  if (height) height = body.querySelector("tr[data-row]")?.offsetHeight || height;
  draw();
});

// ---------------------------------------------------------------- one row

function facts(run) {
  return [
    run.state === "done" ? null : run.state, run.correct === null ? null : run.correct ? "right" : "wrong", run.valid === false ? "not valid" : run.valid ? "valid" : null,
    run.score === null ? null : `${doc.metric === "score" ? doc.label : "score"} ${number(run.score)}`,
    ...Object.entries(run.metrics).map(([name, value]) => `${name} ${number(value)}`), ...Object.entries(run.unknown || {}).map(([name, why]) => `${name} unknown: ${why}`),
    dollars(run.usd), run.calls === null ? null : `${run.calls} call${run.calls === 1 ? "" : "s"}`, run.seconds === null ? null : `${run.seconds.toFixed(1)} s`, run.node ? `on ${run.node}` : null,
  ].filter(Boolean).join(" · ");
}

function select(which) {
  chosen.row = which;
  for (const line of body.querySelectorAll("tr[data-row]")) {
    const own = Number(line.dataset.row) === which;
    line.setAttribute("aria-selected", String(own));
    line.tabIndex = own ? 0 : -1;
  }
  for (const dot of document.querySelectorAll("svg .dot")) dot.classList.toggle("on", Number(dot.dataset.row) === which);
  const row = doc.rows.find((one) => one.row === which), panel = $("panel");
  panel.replaceChildren(make("h2", `Row ${which}`));
  panel.scrollTop = 0;
  for (const [name, value] of Object.entries(row.inputs)) panel.append(block(name, "", written(value)));
  if (row.truth !== null) panel.append(block("expected", "", written(row.truth)));
  panel.append(make("h3", "results"));
  for (const [scheme, run] of row.runs) {
    const made = block(doc.schemes[scheme] + (run.repeat ? `, run ${run.repeat + 1}` : ""), facts(run), given(run));
    made.classList.add(marks(run) || "plain");
    if (doc.run && doc.own[scheme]) {
      const open = make("button", "Open its graph");
      open.onclick = async () => {
        open.disabled = true;
        const found = await ask(`/rows/${doc.run}/graph`, { row: which, scheme, repeat: run.repeat });
        open.disabled = false;
        if (found) location.href = found.address;
      };
      made.append(open);
    }
    panel.append(made);
  }
  const own = doc.schemes.filter((_, scheme) => doc.own[scheme]);
  if (own.length && doc.command && !doc.run) {
    panel.append(make("h3", "graph of one run"));
    panel.append(block("all responses are cached: this spends nothing", "", `${doc.command} --row ${which} --scheme ${own[own.length - 1]}\ngotc graph last`));
  }
}

// ---------------------------------------------------------------- files

function flat() {
  const inputs = [...new Set(doc.rows.flatMap((row) => Object.keys(row.inputs)))];
  return shown.flatMap((row) => row.runs.map(([scheme, { compared, unknown, metrics, ...run }]) => ({
    row: row.row, ...Object.fromEntries(inputs.map((name) => [`input_${name}`, row.inputs[name] ?? null])), expected: row.truth, scheme: doc.schemes[scheme], ...run, ...metrics,
  })));
}

function download(name, kind, text) {
  const link = make("a"), address = URL.createObjectURL(new Blob([text], { type: kind }));
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// A spreadsheet takes a text that starts like this for a formula, also one that a model wrote.
const formula = (value) => typeof value === "string" && /^[=+\-@\t\r]/.test(value) && isNaN(value);
const quoted = (value) => {
  const words = value === null || value === undefined ? "" : (formula(value) ? "'" : "") + written(value);
  return /[",\r\n]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
};
function csv() {
  const lines = flat(), names = [...new Set(lines.flatMap((line) => Object.keys(line)))];
  return [names, ...lines.map((line) => names.map((name) => line[name]))].map((cells) => cells.map(quoted).join(",") + "\r\n").join("");
}
const jsonl = () => flat().map((line) => JSON.stringify(line) + "\n").join("");

$("csv").onclick = () => download("rows.csv", "text/csv", csv());
$("jsonl").onclick = () => download("rows.jsonl", "application/x-ndjson", jsonl());

// ---------------------------------------------------------------- start

function count() {
  const options = [];
  for (const [name, [words, keep]] of Object.entries(filters)) {
    const rows = doc.rows.filter(keep).length, needed = name === "all" || name === "wrong" || name === chosen.filter;
    if (!needed && (!rows || !several && (name === "differ" || name === "mixed"))) continue;
    const option = make("option", `${words} (${rows})`);
    option.value = name;
    options.push(option);
  }
  $("filter").replaceChildren(...options);
  $("filter").value = chosen.filter;
}
count();
$("filter").onchange = () => { chosen.filter = $("filter").value; arrange(); };
$("search").oninput = () => { chosen.words = $("search").value; arrange(); };
table.setAttribute("role", "grid");
table.setAttribute("aria-label", "rows");
frame.append(table);
arrange();
document.addEventListener("click", (event) => {
  const dot = event.target.closest("svg .dot[data-row]");
  if (!dot) return;
  const which = Number(dot.dataset.row);
  if (place(which) < 0) { chosen.filter = $("filter").value = "all"; chosen.words = $("search").value = ""; arrange(); }
  select(which);
  reach(place(which), false);
  body.querySelector(`tr[data-row="${which}"]`)?.scrollIntoView({ block: "nearest" });
});
globalThis.report = { chosen, select, csv, jsonl, rows: () => shown.map((row) => row.row) };

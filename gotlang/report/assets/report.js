// The rows of an evaluation: a table to sort, and every scheme's output for the selected row.
const chosen = { row: null, order: null, down: false };

const number = (value) => Number.isInteger(value) ? String(value) : value.toFixed(2);
const brief = (name) => name.length > 18 ? name.slice(0, 17) + "…" : name;

// The value that a row has for a scheme: the mean over its repeats.
function valueOf(row, scheme) {
  const values = row.runs.filter(([which, run]) => which === scheme && run.state === "done")
    .map(([, run]) => run.compared)
    .filter((value) => value !== null);
  return values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
}

function mean(row, scheme, name) {
  const values = row.runs.filter(([which, run]) => which === scheme && run[name] !== null).map(([, run]) => run[name]);
  return values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
}

// What a row shows: the value of each scheme; if there is only one scheme also its cost, calls and result; the inputs.
const columns = doc.schemes.map((name, scheme) => ({ name, value: (row) => valueOf(row, scheme), cell: (row) => cellOf(row, scheme) }));
const preview = (name, text) => ({ name, kind: "left", value: text, cell: (row) => make("td", text(row), "text") });
if (doc.schemes.length === 1) {
  const cell = (name, words) => (row) => { const value = mean(row, 0, name); return make("td", value === null ? "" : words(value)); };
  columns.push({ name: "cost", value: (row) => mean(row, 0, "usd"), cell: cell("usd", dollars) });
  columns.push({ name: "calls", value: (row) => mean(row, 0, "calls"), cell: cell("calls", number) });
  columns.push(preview("result", (row) => row.runs.map(([, run]) => run.state === "failed" ? "" : written(run.result)).join(" | ")));
  columns[0].name = doc.label;
}
columns.push(preview("input", (row) => Object.values(row.inputs).map(written).join(", ")));

function cellOf(row, scheme) {
  const runs = row.runs.filter(([which]) => which === scheme).map(([, run]) => run), value = valueOf(row, scheme);
  const failed = runs.some((run) => run.state === "failed"), right = runs.length > 0 && runs.every((run) => run.correct === true), wrong = runs.some((run) => run.correct === false);
  return make("td", value === null ? runs.length ? runs[0].state : "" : doc.share ? `${Math.round(100 * value)}%` : number(value), failed ? "failed" : right ? "right" : wrong ? "wrong" : "");
}

function drawRows() {
  const table = make("table"), head = make("tr");
  const title = (name, order, kind) => {
    const cell = make("th", brief(name) + (chosen.order === order ? chosen.down ? " ↓" : " ↑" : ""), kind);
    cell.title = name;
    cell.onclick = () => { chosen.down = chosen.order === order && !chosen.down; chosen.order = order; drawRows(); };
    head.append(cell);
  };
  title("row", null);
  columns.forEach(({ name, kind }, order) => title(name, order, kind));
  const rows = [...doc.rows];
  if (chosen.order !== null) rows.sort((a, b) => {
    const [x, y] = [a, b].map((row) => columns[chosen.order].value(row) ?? Infinity);
    return x < y ? -1 : x > y ? 1 : 0;
  });
  if (chosen.down) rows.reverse();
  const body = make("tbody");
  for (const row of rows) {
    const line = make("tr");
    line.dataset.row = row.row;
    line.tabIndex = 0;
    line.setAttribute("aria-selected", String(row.row === chosen.row));
    line.onclick = () => select(row.row);
    line.onkeydown = (event) => { if (event.key === "Enter") select(row.row); };
    line.append(make("th", String(row.row)), ...columns.map(({ cell }) => cell(row)));
    body.append(line);
  }
  const top = make("thead");
  top.append(head);
  table.append(top, body);
  $("rows").replaceChildren(table);
}

function select(which) {
  chosen.row = which;
  for (const line of document.querySelectorAll("#rows tbody tr")) line.setAttribute("aria-selected", String(Number(line.dataset.row) === which));
  for (const dot of document.querySelectorAll("svg .dot")) dot.classList.toggle("on", Number(dot.dataset.row) === which);
  const row = doc.rows.find((one) => one.row === which), panel = $("panel");
  panel.replaceChildren(make("h2", `Row ${which}`));
  panel.scrollTop = 0;
  for (const [name, value] of Object.entries(row.inputs)) panel.append(block(name, "", written(value)));
  if (row.truth !== null) panel.append(block("expected", "", written(row.truth)));
  panel.append(make("h3", "results"));
  for (const [scheme, run] of row.runs) {
    const facts = [run.score === null ? null : `${doc.metric === "score" ? doc.label : "score"} ${number(run.score)}`, ...Object.entries(run.metrics).map(([name, value]) => `${name} ${number(value)}`), run.correct === null ? null : run.correct ? "right" : "wrong", run.valid === false ? "not valid" : run.valid ? "valid" : null, ...Object.entries(run.unknown || {}).map(([name, why]) => `${name} unknown: ${why}`), run.usd === null ? null : dollars(run.usd), run.calls === null ? null : `${run.calls} call${run.calls === 1 ? "" : "s"}`];
    const name = doc.schemes[scheme] + (run.repeat ? `, run ${run.repeat + 1}` : "");
    panel.append(block(name, [run.state === "done" ? null : run.state, ...facts].filter(Boolean).join(" · "), run.state === "failed" ? run.reason : written(run.result)));
  }
  const own = doc.schemes.filter((_, scheme) => doc.own[scheme]);
  if (own.length && doc.command) {
    panel.append(make("h3", "graph of one run"));
    panel.append(block("all responses are cached: this spends nothing", "", `${doc.command} --row ${which} --scheme ${own[own.length - 1]}\ngotc graph last`));
  }
}

drawRows();
for (const dot of document.querySelectorAll("svg .dot")) dot.addEventListener("click", () => {
  select(Number(dot.dataset.row));
  document.querySelector(`#rows tr[data-row="${dot.dataset.row}"]`).scrollIntoView({ block: "center" });
});
globalThis.report = { chosen, select };

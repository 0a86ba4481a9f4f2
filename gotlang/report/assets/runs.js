// The list of runs: search, tags, two to compare, and a form to run a program.
const picked = new Set();
let known = null; // of the program in the form: its schemes
let most = 100; // lines that are drawn: a key of the search must not wait for thousands

const COLUMNS = [["", "left"], ["run", "left"], ["when", "left"], ["state", "left"], ["scheme by model", "left"], ["result", "left"], ["score"], ["calls"], ["cost"], ["time"], ["tags", "left"]];
const CONTROLS = "a, button, input"; // of a line: the keyboard stays at one when the list is drawn again
const when = (at) => `${at.toLocaleDateString(undefined, { month: "short", day: "numeric", year: at.getFullYear() === new Date().getFullYear() ? undefined : "numeric" })} ${at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })}`;
const took = (entry) => { const s = (entry.ended ?? Date.now() / 1000) - entry.started; return s >= 90 ? `${Math.floor(s / 60)} min` : `${s.toFixed(s < 10 ? 1 : 0)} s`; };

// Every word must be somewhere; `tag:`, `state:`, `kind:`, `scheme:` and `model:` look at one place.
function matches(entry, words) {
  const all = [entry.run, entry.kind, entry.state, entry.program, entry.scheme, entry.model, entry.result || "", ...entry.tags].join(" ").toLowerCase();
  return words.every((word) => {
    const [name, text] = word.includes(":") ? [word.slice(0, word.indexOf(":")), word.slice(word.indexOf(":") + 1)] : ["", word];
    if (name === "tag") return entry.tags.some((tag) => tag.toLowerCase() === text);
    if (["state", "kind", "scheme", "model", "program"].includes(name)) return entry[name].toLowerCase().includes(text);
    return all.includes(word);
  });
}

function draw() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean), shown = doc.runs.filter((entry) => matches(entry, words));
  const table = make("table", null, "cards"), head = make("tr"), body = make("tbody");
  for (const [name, kind] of COLUMNS) head.append(make("th", name, kind));
  for (const entry of shown.slice(0, most)) body.append(row(entry));
  const top = make("thead"), own = document.activeElement, at = own.closest("#list tr[data-run]");
  const which = at && [...at.querySelectorAll(CONTROLS)].indexOf(own);
  top.append(head); table.append(top, body);
  $("list").replaceChildren(shown.length ? table : make("p", doc.runs.length ? "No run matches." : "No runs in this folder yet. Start one with `gotc run FILE` or New run.", "note"));
  if (shown.length > most) {
    const more = make("button", `Show more (${shown.length - most})`);
    more.type = "button"; more.id = "more";
    more.onclick = () => { most *= 4; draw(); $("search").focus(); };
    $("list").append(more);
  }
  if (at) $("list").querySelector(`tr[data-run="${CSS.escape(at.dataset.run)}"]`)?.querySelectorAll(CONTROLS)[which]?.focus();
  const real = shown.filter((entry) => !entry.simulated), spent = real.reduce((sum, entry) => sum + (entry.usd || 0), 0), unknown = real.filter((entry) => entry.usd === null && entry.state !== "running").length;
  const broken = Object.keys(doc.damaged || {}).length;
  $("sums").textContent = [`${shown.length} of ${doc.runs.length}`, `${dollars(spent)} spent on models`, unknown ? `the cost of ${unknown} is unknown` : null, shown.length > real.length ? `${shown.length - real.length} simulated` : null, broken ? `${broken} damaged (not shown)` : null].filter(Boolean).join(" · ");
}

function row(entry) {
  const line = make("tr");
  line.dataset.run = entry.run;
  const cell = (content, kind) => { const made = make("td", null, kind); made.append(...[content].flat().filter((one) => one !== null && one !== undefined && one !== "")); line.append(made); return made; };
  const box = make("input");
  box.type = "checkbox"; box.checked = picked.has(entry.run); box.disabled = entry.kind !== "run";
  box.setAttribute("aria-label", `compare ${entry.run}`);
  box.onchange = () => {
    picked[box.checked ? "add" : "delete"](entry.run);
    $("compare").disabled = picked.size !== 2;
    $("compare").textContent = picked.size === 0 || picked.size === 2 ? "Compare two" : `Compare two (${picked.size} chosen)`;
  };
  cell(box, "left");
  const link = make("a", entry.run);
  link.href = entry.address;
  cell([link, entry.kind === "run" ? "" : make("span", entry.kind, "chip aside")], "left");
  const started = new Date(entry.started * 1000);
  cell(when(started), "left soft").title = started.toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
  cell(make("span", entry.state, `chip ${STATE[entry.state] || ""}`), "left");
  cell([`${entry.scheme} by ${entry.model}`, make("small", entry.program)], "left of").title = `${entry.scheme} by ${entry.model}`;
  cell(entry.result || "", "left words").title = entry.result || "";
  cell(entry.score === null || entry.score === undefined ? "" : String(Math.round(entry.score * 1000) / 1000));
  cell(entry.calls === null ? "" : String(entry.calls));
  cell([entry.usd === null ? "" : dollars(entry.usd), entry.simulated && entry.usd !== null ? make("small", "simulated") : ""]);
  cell(took(entry), "soft");
  const tags = cell(entry.tags.map((tag) => { const button = make("button", tag, "chip"); button.type = "button"; button.title = "Search for it"; button.onclick = () => { $("search").value = `tag:${tag}`; draw(); }; return button; }), "left");
  const edit = make("button", entry.tags.length ? "✎" : "+ tag", "link soft");
  edit.type = "button"; edit.setAttribute("aria-label", `tags of ${entry.run}`);
  edit.onclick = () => retag(entry, tags);
  tags.append(edit);
  [...line.cells].forEach((one, at) => { one.dataset.name = COLUMNS[at][0] || "compare"; });
  return line;
}

function retag(entry, cell) {
  const field = make("input");
  field.value = entry.tags.join(" "); field.setAttribute("aria-label", `tags of ${entry.run}, separated by spaces`);
  field.onkeydown = async (event) => {
    if (event.key === "Escape") return draw();
    if (event.key !== "Enter") return;
    const found = await ask(`/tags/${entry.run}`, { tags: field.value.split(/[\s,]+/).filter(Boolean) });
    if (found) { entry.tags = found; draw(); }
  };
  cell.replaceChildren(field);
  field.focus();
}

// ---------------------------------------------------------------- a new run

async function chooseProgram() {
  known = $("file").value ? await ask(`/program?file=${encodeURIComponent($("file").value)}`) : null;
  $("scheme").replaceChildren(...Object.keys(known ? known.schemes : {}).map((name) => { const one = make("option", name); one.selected = name === known.scheme; return one; }));
  $("told-of-order").textContent = !doc.programs.length ? "There is no program in this folder: `gotc init` makes one." : !known ? "" : known.simulated ? "Simulated, at no cost, unless a model is configured or chosen." : "This program has no simulator: it needs a model.";
  $("order").querySelector("[type=submit]").disabled = !known;
  chooseScheme();
}

function chooseScheme() {
  const fields = known ? known.schemes[$("scheme").value] || [] : [];
  $("inputs").replaceChildren(...fields.map(([name, type]) => {
    const label = make("label", `${name}: ${type}`), field = make("textarea");
    field.rows = 2; field.name = name; field.spellcheck = false;
    label.append(field);
    return label;
  }));
}

const limit = (id) => $(id).value === "" ? null : Number($(id).value);
$("order").onsubmit = async (event) => {
  event.preventDefault();
  const inputs = Object.fromEntries([...$("inputs").querySelectorAll("textarea")].map((field) => [field.name, field.value]));
  const found = await ask("/runs", { file: $("file").value, scheme: $("scheme").value, inputs, model: $("model").value || null, limits: { max_usd: limit("usd"), max_calls: limit("calls") } });
  if (found) location.href = found.address;
};
$("new").onclick = () => {
  $("order").hidden = !$("order").hidden;
  $("new").setAttribute("aria-expanded", String(!$("order").hidden));
  if (!$("order").hidden) { $("file").focus(); if (!known) chooseProgram(); }
};
$("file").append(...doc.programs.map((name) => make("option", name)));
if (doc.runs.length && doc.programs.includes(doc.runs[0].program)) $("file").value = doc.runs[0].program;
$("file").onchange = chooseProgram;
$("scheme").onchange = chooseScheme;
$("compare").onclick = () => {
  const [one, other] = doc.runs.filter((entry) => picked.has(entry.run)).reverse().map((entry) => entry.run);
  location.href = `/comparison?a=${one}&b=${other}`;
};
$("search").oninput = () => { most = 100; draw(); };
draw();
// Others may run `gotc` in the folder: look again while this page is seen.
setInterval(async () => {
  if (document.hidden || document.activeElement.matches("#list input:not([type=checkbox])")) return;
  const found = await poll("/runs");
  if (found && JSON.stringify(found) !== JSON.stringify(doc.runs)) { doc.runs = found; draw(); }
}, 2000);

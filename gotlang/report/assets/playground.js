// The playground: an editor that is checked while one types, prompts for inputs, and runs within a budget.
const { EditorView, EditorState, basicSetup, keymap, indentWithTab, StreamLanguage, HighlightStyle, syntaxHighlighting, tags, setDiagnostics, lintGutter } = CM;

// ---------------------------------------------------------------- the language, from its own tables of words

const kinds = new Map(Object.entries(doc.words).flatMap(([kind, words]) => words.map((word) => [word, kind])));
const names = { keyword: "keyword", constant: "atom", operation: "operatorKeyword", builtin: "variableName.standard" };
const language = StreamLanguage.define({
  name: "got",
  startState: () => ({ triple: null }),
  token(stream, state) {
    if (state.triple) {
      if (stream.skipTo(state.triple)) { stream.match(state.triple); state.triple = null; } else stream.skipToEnd();
      return "string";
    }
    if (stream.eatSpace()) return null;
    if (stream.match("#")) { stream.skipToEnd(); return "comment"; }
    const opened = stream.match(/^("""|''')/);
    if (opened) { state.triple = opened[0]; return "string"; }
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)*'?/)) return "string";
    if (stream.match(/^\d[\w.]*/)) return "number";
    const word = stream.match(/^[A-Za-z_]\w*/);
    if (word) return names[kinds.get(word[0])] || (/^[A-Z]/.test(word[0]) ? "typeName" : "variableName");
    stream.next();
    return "operator";
  },
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
});
const colors = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" }, { tag: tags.operatorKeyword, color: "var(--good)", fontWeight: "600" }, { tag: tags.string, color: "var(--bad)" },
  { tag: [tags.number, tags.atom], color: "var(--good)" }, { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" }, { tag: tags.typeName, color: "var(--accent)" },
]);
const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--card)", fontSize: "13px" }, "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-content": { fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace", caretColor: "var(--ink)", minHeight: "300px" }, ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--code)", color: "var(--soft)", border: "none" }, ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--card)", color: "var(--ink)", border: "1px solid var(--line)" }, ".cm-diagnosticText": { whiteSpace: "pre-wrap" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--card)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent) !important" },
});

// ---------------------------------------------------------------- checked while one types

let waiting = null, checks = 0, broken = false, running = false;
const program = () => $("program").value;
const text = () => editor.state.doc.toString();

async function check() {
  const number = ++checks, found = await ask("/playground/check", { program: program(), text: text() });
  if (!found || number !== checks) return;
  const size = editor.state.doc.length, at = (place) => Math.min(size, place);
  editor.dispatch(setDiagnostics(editor.state, found.diagnostics.map((one) => ({ from: at(one.from), to: at(one.to), severity: one.severity, message: one.message, source: one.code }))));
  $("problems").replaceChildren(...found.diagnostics.map((one) => {
    const item = make("li"), go = make("button", `${one.line}: ${one.severity} ${one.code} ${one.message}`, one.severity);
    go.onclick = () => { editor.dispatch({ selection: { anchor: at(one.from) }, scrollIntoView: true }); editor.focus(); };
    item.append(go);
    return item;
  }));
  const errors = found.diagnostics.filter((one) => one.severity === "error").length, changed = text() === doc.text ? "" : " · not saved";
  $("state").textContent = (errors ? `${errors} error${errors === 1 ? "" : "s"}` : "no errors") + changed;
  if ($("save")) $("save").disabled = !changed;
  broken = found.errors;
  $("run").disabled = broken || running; $("show").disabled = broken;
  if (!found.errors) offer(found.schemes, found.scheme);
}

let schemes = [];
function offer(found, usual) {
  schemes = found;
  const before = $("scheme").value || usual;
  $("scheme").replaceChildren(...found.map((one) => make("option", one.name)));
  if (found.some((one) => one.name === before)) $("scheme").value = before;
  form();
}

function given() { return Object.fromEntries([...$("inputs").querySelectorAll("textarea")].map((one) => [one.name, one.value])); }

let formed = "";
function form() {
  const before = given(), scheme = schemes.find((one) => one.name === $("scheme").value), inputs = scheme ? scheme.inputs : [];
  if (JSON.stringify(inputs) === formed) return; // so that nobody is disturbed who types into them
  formed = JSON.stringify(inputs);
  $("inputs").replaceChildren(...inputs.map(({ name, type }) => {
    const label = make("label", `${name}: ${type}`), area = make("textarea");
    area.name = name;
    area.value = before[name] || "";
    area.spellcheck = false;
    label.append(area);
    return label;
  }));
}

async function complete(context) {
  const word = context.matchBefore(/[\w.]*/);
  if (!context.explicit && (!word || word.from === word.to)) return null;
  const found = await ask("/playground/complete", { program: program(), text: text(), at: context.pos });
  const from = context.matchBefore(/\w*/).from;
  return found && found.options.length ? { from, options: found.options } : null;
}

// The styles of the editor go into a shadow tree: a page of the studio takes none from scripts otherwise.
const root = $("editor").attachShadow({ mode: "open" });
const editor = new EditorView({
  state: EditorState.create({
    doc: doc.text,
    extensions: [
      basicSetup, keymap.of([indentWithTab]), language, syntaxHighlighting(colors), look, lintGutter(), EditorState.tabSize.of(4), CM.indentUnit.of("    "),
      language.data.of({ autocomplete: complete }), EditorView.lineWrapping, EditorView.contentAttributes.of({ "aria-label": "program; Tab indents, Escape and then Tab leaves the editor" }),
      EditorView.updateListener.of((update) => { if (update.docChanged) { clearTimeout(waiting); waiting = setTimeout(check, 120); } }),
    ],
  }),
  root, parent: root,
});

// ---------------------------------------------------------------- rows, prompts, runs

const asked = () => ({ program: program(), text: text(), scheme: $("scheme").value });

async function show() {
  const found = await ask("/playground/prompts", { ...asked(), inputs: given() });
  if (!found) return;
  $("prompts").replaceChildren(make("h2", "Prompts"), ...found.flatMap((one) => one.messages.map((message) =>
    block(`${one.prompt}: ${message.role}`, one.placeholders ? "with placeholders for responses" : "", message.text))));
}

async function fill() {
  const found = await ask("/playground/row", { ...asked(), data: $("table").value, row: Number($("row").value) });
  if (!found) return;
  for (const area of $("inputs").querySelectorAll("textarea")) area.value = found.inputs[area.name] ?? area.value;
  show();
}

const limit = (id) => $(id).value === "" ? null : Number($(id).value);
async function run(event) {
  event.preventDefault();
  $("run").disabled = running = true;
  const started = await ask("/playground/run", { ...asked(), inputs: given(), model: $("model").value, limits: { max_usd: limit("usd"), max_calls: limit("calls") } });
  if (started) {
    const link = make("a", "Open its graph");
    link.href = started.address;
    for (;;) {
      const found = await poll(`/playground/result/${started.run}`);
      if (!found) break;
      const about = [found.state, found.simulated ? "simulated" : null, found.score === null ? null : `score ${found.score}`, found.spent, found.error].filter(Boolean).join(" · ");
      $("result").replaceChildren(block("result", about, found.result === null ? "" : written(found.result)), link);
      if (found.state !== "running") break;
      await new Promise((done) => setTimeout(done, 300));
    }
  }
  running = false;
  $("run").disabled = broken;
}

async function save() {
  const saved = text();
  if (!$("save") || saved === doc.text || !await ask("/playground/save", { program: program(), text: saved, before: doc.text })) return;
  doc.text = saved;
  check();
}
if ($("save")) $("save").onclick = save;
addEventListener("keydown", (event) => { if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); save(); } });
addEventListener("beforeunload", (event) => { if (text() !== doc.text) event.preventDefault(); });
$("program").onchange = () => {
  const wanted = program();
  $("program").value = doc.program; // who keeps what is not saved stays at its program
  location.search = new URLSearchParams({ program: wanted });
};
$("scheme").onchange = form;
$("show").onclick = show;
$("form").onsubmit = run;
if ($("fill")) $("fill").onclick = fill;
globalThis.playground = { editor };
$("state").textContent = "checking …";
check();

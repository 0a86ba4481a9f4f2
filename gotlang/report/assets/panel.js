// The panel with the details of an operation or a thought, and the search.

// Writes a text with what is searched for marked.
function mark(box, text) {
  const word = $("search").value.trim().toLowerCase(), lower = text.toLowerCase();
  let from = 0;
  for (let at = word.length < 2 ? -1 : lower.indexOf(word); at >= 0; at = lower.indexOf(word, from)) {
    box.append(text.slice(from, at), make("mark", text.slice(at, at + word.length)));
    from = at + word.length;
  }
  box.append(text.slice(from));
}

function attached(kind, mime, digest) {
  const url = (doc.pictures || {})[digest];
  if (!url) return make("p", `${kind} · ${mime} · SHA-256 ${digest}`, "soft");
  const image = make("img");
  image.src = url;
  image.alt = `${kind} ${digest.slice(0, 8)}`;
  image.style.maxWidth = "100%";
  return image;
}

const searched = (left, right, text) => block(left, right, passage(text, mark));

function chips(...parts) {
  const box = make("div", null, "chips");
  for (const part of parts) if (part) box.append(Array.isArray(part) ? make("span", part[0], "chip " + part[1]) : make("span", part, "chip"));
  return box;
}

// Shows an item; of one that is shown already, what is in sight stays.
function show(key) {
  const panel = $("panel"), top = panel.dataset.item === chosen.view.name + key ? panel.scrollTop : 0;
  panel.dataset.item = chosen.view.name + key;
  panel.replaceChildren();
  if (key !== null) showItem(panel, chosen.view, key);
  panel.scrollTop = top;
  resized();
}

function showItem(panel, view, key) {
  const node = view.nodes.get(key);
  if (!node) return showGroup(panel, view, view.groups.get(key));
  panel.append(make("h2", node.label));
  panel.append(chips([node.state, node.state === "cached" ? "good" : STATE[node.state] || ""], node.score === null ? null : `score ${short(node.score)}`, dollars(node.usd), node.seconds === null || node.seconds === undefined ? null : seconds(node.seconds)));
  if (node.place) panel.append(make("div", node.place, "source"));
  if (node.place && doc.places && doc.places[node.place]) panel.append(make("code", doc.places[node.place], "line"));
  if (view.name === "reasoning") showThought(panel, view.details[node.id]);
  else if (view.name === "plan") showPlan(panel, view.details[node.id]);
  else {
    showOperation(panel, (doc.operations || {})[node.id]);
    showStreams(panel, (doc.streams || {})[node.id] || []);
  }
  neighbors(panel, view, key);
}

// The ends of responses that are coming.
function showStreams(panel, texts) {
  if (texts.length) panel.append(make("h3", "responses in progress"));
  for (const text of texts) {
    const box = block("", "streaming", text), end = box.querySelector("pre");
    panel.append(box);
    end.scrollTop = end.scrollHeight;
  }
}

function showGroup(panel, view, group) {
  panel.append(make("h2", group.label));
  panel.append(chips(`${group.count} ${view.name === "reasoning" ? "thoughts" : "operations"}`, group.failed ? [`${group.failed} failed`, "bad"] : null, group.best === null ? null : `best score ${short(group.best)}`, dollars(group.usd)));
  const button = make("button", view.folded.has(group.key) ? "expand this group" : "collapse this group", "link");
  button.onclick = () => { toggle(group.key); show(group.key); };
  panel.append(make("h3", "group"), button);
}

function showOperation(panel, operation) {
  if (!operation) return doc.reading && panel.append(make("p", "Loading the prompt.", "soft"));
  const places = new Map((operation.asked || []).flatMap(([, samples]) => samples).map((sample, at) => [sample, at + 1]));
  if (operation.failed) panel.append(make("h3", "error"));
  for (const [sample, reason] of operation.failed || []) panel.append(searched(sample === null ? "the operation" : places.has(sample) ? `response ${places.get(sample)}` : `thought ${sample}`, "", reason));
  for (const asked of operation.asked || []) showAsked(panel, asked, places, operation.path);
  if (operation.thoughts.length) panel.append(make("h3", `thoughts (${operation.thoughts.length})`));
  for (const thought of operation.thoughts) panel.append(thoughtBlock(thought));
}

// A page of the studio edits prompts here, with `editing(panel, path, request)` of editing.js.
// `places` numbers the responses of an operation from 1.
function showAsked(panel, [number, samples, sources, responses], places, path) {
  const request = doc.requests[number] || {};
  const settings = Object.entries(request.settings || {}).filter(([, value]) => value !== null && value !== false && value.length !== 0).map(([name, value]) => `${name} ${written(value)}`).join(", ");
  panel.append(make("h3", "prompt"));
  if (!request.messages) panel.append(make("p", doc.reading ? "Loading the prompt." : "The prompt is no longer in the cache.", "soft"));
  for (const [role, text, more] of request.messages || []) {
    panel.append(searched(role, "", [text, ...((more || {}).calls || []).map(([, name, given]) => `${name}(${given})`)].filter(Boolean).join("\n")));
    for (const [kind, mime, digest] of (more || {}).media || []) panel.append(attached(kind, mime, digest));
  }
  if (request.model) panel.append(make("p", [request.model, settings].filter(Boolean).join(" · "), "soft"));
  if (request.messages && path && typeof editing === "function") editing(panel, path, request);
  panel.append(make("h3", `responses (${samples.length})`));
  samples.forEach((sample, index) => panel.append(searched(`response ${places.get(sample)}`, { model: "from the model", process: "from this run's cache", persistent: "from the cache" }[sources[index]] || sources[index], responses[index] === null ? doc.reading ? "…" : "no longer in the cache" : responses[index])));
}

// A thought's value and parents are with the operation that made it.
const makers = new Map();
function readMakers() {
  makers.clear();
  for (const [number, operation] of Object.entries(doc.operations || {}))
    for (const thought of operation.thoughts) if ("value" in thought) makers.set(thought.made.join("."), { thought, number });
}
readMakers();

function thoughtBlock(thought) {
  const made = makers.get(thought.made.join("."));
  const value = made ? made.thought.value : null;
  const facts = [thought.score === undefined ? null : `score ${short(thought.score)}`, thought.valid === undefined ? null : thought.valid ? "valid" : "not valid", dollars(thought.usd)];
  return searched(`thought ${thought.made.join(".")}`, facts.filter(Boolean).join(" · "), value === null ? "empty" : written(value));
}

function showThought(panel, made) {
  const found = makers.get(made.join("."));
  if (!found) return;
  panel.append(make("h3", "thought"), thoughtBlock(found.thought));
  const operation = doc.operations[made[0]];
  for (const asked of operation.asked || []) showAsked(panel, asked, new Map(asked[1].map((sample, at) => [sample, at + 1])));
  if (views.has("execution")) {
    const button = make("button", "show the operation that made it", "link");
    button.onclick = () => { choose("execution"); if (chosen.view.nodes.has("n" + made[0])) select("n" + made[0], { move: true }); };
    panel.append(button);
  }
}

function showPlan(panel, details) {
  for (const [name, text] of Object.entries((details || {}).prompt || {})) panel.append(make("h3", name), searched("template", "", text));
}

function neighbors(panel, view, key) {
  const titles = view.name === "time line" ? ["waited for", "awaited by"] : ["inputs", "used by"];
  for (const [title, table] of [[titles[0], view.before], [titles[1], view.after]]) {
    const others = table.get(key) || [];
    if (!others.length) continue;
    const list = make("ul");
    for (const other of others.slice(0, 30)) {
      const line = make("li"), button = make("button", view.nodes.get(other).label, "link");
      button.onclick = () => select(other, { move: true });
      line.append(button); list.append(line);
    }
    if (others.length > 30) list.append(make("li", `and ${others.length - 30} more`, "soft"));
    panel.append(make("h3", title), list);
  }
}

// ---------------------------------------------------------------- search

const texts = new Map();
function textOf(view, node) {
  const key = view.name + node.key;
  if (!texts.has(key)) {
    const parts = [node.label, node.detail, node.place || "", node.state];
    const operation = (id) => {
      const found = doc.operations && doc.operations[id];
      if (!found) return;
      parts.push(found.path, ...(found.failed || []).map(([, reason]) => reason));
      for (const [number, , , responses] of found.asked || []) {
        for (const [, text] of (doc.requests[number] || {}).messages || []) parts.push(text);
        parts.push(...responses.filter((text) => text !== null));
      }
      for (const thought of found.thoughts) if ("value" in thought) parts.push(written(thought.value) || "");
    };
    if (view.name === "execution") operation(node.id);
    if (view.name === "reasoning") { const found = makers.get(view.details[node.id].join(".")); if (found) parts.push(written(found.thought.value) || ""); }
    if (view.name === "plan") parts.push(...Object.values((view.details[node.id] || {}).prompt || {}));
    texts.set(key, parts.join("\n").toLowerCase());
  }
  return texts.get(key);
}

let results = [], result = -1;
function search() {
  const view = chosen.view, word = $("search").value.trim().toLowerCase();
  results = word ? [...view.nodes.values()].filter((node) => textOf(view, node).includes(word)).map((node) => node.key) : [];
  result = -1;
  chosen.matches = new Set(results.map((key) => shownAs(view, key)).concat(results));
  $("found").textContent = word ? String(results.length) : "";
  redraw();
}

function next(step) {
  if (!results.length) return;
  result = (result + step + results.length) % results.length;
  select(results[result], { move: true });
  $("found").textContent = `${result + 1}/${results.length}`;
}

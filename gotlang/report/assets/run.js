// The page of a run in the studio: what is known grows while it runs; prompts and responses follow the graph.

function about() {
  $("state").textContent = doc.state;
  $("state").className = `chip ${STATE[doc.state] || ""}`;
  $("stop").hidden = doc.state !== "running" || !doc.mine;
  $("again").hidden = doc.state === "running";
  $("said").textContent = doc.said || "";
  if (doc.state === "running" && !views.size) $("said").textContent = "No operation has started yet.";
}

// What somebody types or has marked in the panel stays.
const readRequests = single(async () => {
  const found = await poll(`${doc.path}/details`);
  if (!found) return;
  grown(found);
  if (chosen.item !== null && !$("panel").contains(document.activeElement) && getSelection().isCollapsed) show(chosen.item);
});

// While it runs, what a click shows is read again: the responses have just come.
function selected() {
  if (doc.state === "running") readRequests();
}

// Responses while they come: the last words of each in the box of its operation, more of it in the panel.
function streamed(data) {
  doc.streams = data;
  for (const node of chosen.view.nodes.values())
    if (data[node.id]) node.detail = data[node.id].at(-1).replace(/\s+/g, " ").replace(/^.+(?=.{24}$)/, "…");
  const id = chosen.view.nodes.get(chosen.item)?.id;
  if (data[id] && !$("panel").contains(document.activeElement) && getSelection().isCollapsed) show(chosen.item);
  redraw();
}

function watch() {
  const end = follow(`${doc.path}/events`, {
    graph: (data) => {
      const ended = doc.state === "running" && data.state !== "running";
      grown({ ...data, reading: true });
      if (ended) doc.streams = {};
      about();
      if (ended) end();
      if (ended || chosen.item !== null) readRequests();
      streamed(doc.streams || {});
    },
    streams: streamed,
  });
}

$("stop").onclick = async () => { $("stop").disabled = true; $("stop").disabled = await ask(`${doc.path}/stop`, {}) !== null; };
$("again").onclick = () => {
  const form = limits("Same inputs and settings; cached calls are not made again.", (given) => ask(`${doc.path}/again`, { limits: given }));
  select(null);
  $("panel").replaceChildren(make("h2", "Run again"), form);
  resized();
  form.querySelector("input").focus();
};
async function begin() {
  about();
  const found = await ask(`${doc.path}/graph`);
  if (found) grown(found);
  about();
  if (doc.state === "running") watch(); else readRequests();
}
begin();

// The page of a run in the studio: what is known grows while it runs; prompts and responses follow the graph.

function about() {
  $("state").textContent = doc.state;
  $("state").className = `chip ${{ done: "good", failed: "bad", killed: "bad", invalid: "bad" }[doc.state] || ""}`;
  $("stop").hidden = doc.state !== "running" || !doc.mine;
  $("again").hidden = doc.state === "running";
  $("said").textContent = doc.said || "";
  if (doc.state === "running" && !views.size) $("said").textContent = "Nothing has begun yet.";
}

async function readRequests() {
  const found = await ask(`${doc.path}/details`);
  if (!found) return;
  grown(found);
  if (chosen.item !== null && !$("panel").contains(document.activeElement)) show(chosen.item);
}

// While it runs, what a click shows is read again: the responses have just come.
function selected() {
  if (doc.state === "running") readRequests();
}

function watch() {
  const source = follow(`${doc.path}/events`, {
    graph: (data) => {
      const ended = doc.state === "running" && data.state !== "running";
      grown({ ...data, reading: true });
      about();
      if (ended) source.close();
      if (ended || chosen.item !== null) readRequests();
    },
  });
}

$("stop").onclick = async () => { $("stop").disabled = true; await ask(`${doc.path}/stop`, {}); };
$("again").onclick = () => {
  const form = limits("The same inputs and settings again: what is in the cache is not asked for again.", (given) => ask(`${doc.path}/again`, { limits: given }));
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

// An evaluation that runs: its table, its charts and its rows are read again as rows end; what is chosen stays.
if (doc.live) live(`/rows/${doc.run}/events`, (fresh) => {
  const data = JSON.parse(fresh.getElementById("data").textContent), own = $("rows").closest("section"), top = frame.scrollTop;
  if (data.schemes.join() !== doc.schemes.join() || data.metric !== doc.metric) return location.reload();
  for (const old of [...own.parentElement.children]) if (old !== own) old.remove();
  own.before(...[...fresh.querySelector("main").children].filter((one) => !one.querySelector("#rows")));
  Object.assign(doc, data);
  count(); arrange();
  frame.scrollTop = top;
  draw();
  const panel = $("panel"), read = panel.scrollTop;
  if (chosen.row === null || panel.contains(document.activeElement) || !getSelection().isCollapsed) return;
  select(chosen.row);
  panel.scrollTop = read;
});

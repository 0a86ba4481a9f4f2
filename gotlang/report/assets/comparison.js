// Two runs side by side: what differs in settings, program, prompts and responses.
const KINDS = { "-": "gone", "+": "new" };

// A text that changed, in two columns: what is gone on the left, what is new on the right.
function sides(lines) {
  const box = make("div", null, "two diff"), left = make("pre"), right = make("pre");
  for (const [mark, text] of lines) {
    const shown = text.length > LONGEST ? text.slice(0, LONGEST) + "…" : text || " ";
    if (mark === "@") { for (const side of [left, right]) side.append(make("span", "…", "soft row")); continue; }
    if (mark !== "+") left.append(make("span", shown, `row ${KINDS[mark] || ""}`));
    if (mark !== "-") right.append(make("span", shown, `row ${KINDS[mark] || ""}`));
  }
  box.append(left, right);
  return box;
}

for (const run of doc.runs) {
  const box = make("section", null, "card"), link = make("a", run.run), title = make("h2");
  link.href = `/runs/${run.run}`;
  title.append(link, ` ${run.state}`);
  const result = passage(run.result === null ? "no result" : written(run.result));
  result.className = "result";
  box.append(title, make("p", run.title), make("p", run.facts.slice(1).map(([name, value]) => name ? `${name} ${value}` : value).join(" · "), "soft"), result);
  $("heads").append(box);
}

if (doc.settings.length) {
  const table = make("table"), body = make("tbody");
  for (const [name, one, other] of doc.settings) {
    const line = make("tr");
    line.append(make("th", name), ...[one, other].map((value) => make("td", value !== null ? written(value) : name.startsWith("param ") ? "default" : "–", "left wrap")));
    body.append(line);
  }
  table.append(body);
  $("settings").append(table);
} else $("settings").append(make("p", "The same.", "soft"));

if (doc.same_program) $("program").append(make("p", "The same.", "soft"));
else $("program").append(doc.program === null ? make("p", "The program changed; the text of one version was not stored.", "soft") : sides(doc.program));

$("count").textContent = doc.count ? `${doc.count} operation${doc.count === 1 ? "" : "s"} differ${doc.count === 1 ? "s" : ""}${doc.count > doc.operations.length ? `; the first ${doc.operations.length} are shown` : ""}.` : "The same.";
for (const one of doc.operations) {
  const box = make("details", null, "block"), title = make("summary");
  title.append(make("b", one.title), ` ${one.path} `, ...[one.only ? `only in ${one.only === "left" ? doc.runs[0].run : doc.runs[1].run}` : null, one.prompt ? "prompt" : null, one.given ? "responses" : null].filter(Boolean).map((word) => make("span", word, "chip aside")));
  box.append(title);
  box.open = doc.operations.length <= 6;
  if (one.prompt) box.append(make("h3", "prompt"), sides(one.prompt));
  if (one.given) box.append(make("h3", "responses"), sides(one.given));
  $("operations").append(box);
}

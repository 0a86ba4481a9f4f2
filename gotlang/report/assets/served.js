// What pages of the studio do with their server: ask, tell what was refused, and follow what happens.

function tell(text) { $("told").textContent = text || ""; }

// Data from an address; with a body, sent to it. What is refused is told in the menu, and gives null.
async function ask(address, body) {
  tell();
  try {
    const answer = await fetch(address, body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    if ((answer.headers.get("Content-Type") || "").startsWith("application/json")) {
      const found = await answer.json();
      if (answer.ok) return found;
      tell(found.help ? `${found.error} (${found.help})` : found.error);
    } else tell(await answer.text());
  } catch { tell("gotc studio does not answer: it has ended"); }
  return null;
}

// Calls `handlers[name](data)` for each event; `end` is the last one.
function follow(address, handlers) {
  const source = new EventSource(address);
  for (const [name, handler] of Object.entries(handlers)) source.addEventListener(name, (event) => handler(JSON.parse(event.data)));
  source.addEventListener("end", () => source.close());
  return source;
}

// Calls `shown` with this page as it is now, each time when events say that there is more to see.
function live(address, shown) {
  let busy = false, more = false;
  const refresh = async () => {
    more = busy;
    if (busy) return;
    busy = true;
    const text = await (await fetch(location.href, { headers: { Accept: "text/html" } })).text();
    const fresh = new DOMParser().parseFromString(text, "text/html");
    if (fresh.querySelector("main")) shown(fresh);
    busy = false;
    if (more) refresh();
  };
  follow(address, { more: refresh });
}

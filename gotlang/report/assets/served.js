// What pages of the studio do with their server: ask, tell what was refused, and follow what happens.

let gone = false; // whether what is told is that the studio does not answer
function tell(text, ended = false) { gone = ended; $("told").textContent = text || ""; }

// Data from an address; with a body, sent to it. What is refused is told in the menu, and gives null.
function ask(address, body) {
  tell();
  return poll(address, body);
}

// The same for what is asked again and again: what is told stays.
async function poll(address, body) {
  try {
    const answer = await fetch(address, body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    if ((answer.headers.get("Content-Type") || "").startsWith("application/json")) {
      const found = await answer.json();
      if (answer.ok) {
        if (gone) tell();
        return found;
      }
      tell(found.help ? `${found.error} (${found.help})` : found.error);
    } else tell(await answer.text(), true);
  } catch { tell("gotc studio does not respond: it has ended", true); }
  return null;
}

// Calls `handlers[name](data)` for each event; `end` is the last one. A page that is not seen is not told: a
// browser has few connections to a host, for all of its windows. Gives a function that ends it.
function follow(address, handlers) {
  let source = null, over = false;
  const pause = () => { source?.close(); source = null; };
  const end = () => { over = true; pause(); };
  const listen = () => {
    if (over || source || document.hidden) return;
    source = new EventSource(address);
    for (const [name, handler] of Object.entries(handlers)) source.addEventListener(name, (event) => handler(JSON.parse(event.data)));
    source.addEventListener("end", end);
    source.onopen = () => { if (gone) tell(); };
    source.onerror = () => tell(source?.readyState === EventSource.CLOSED ? "no more live updates: open the address printed by `gotc studio`" : "gotc studio does not respond", true);
  };
  document.addEventListener("visibilitychange", () => { if (document.hidden) pause(); else listen(); });
  listen();
  return end;
}

// A function that does `work`, once at a time: calls while it is busy are one call after it.
function single(work) {
  let busy = false, more = false;
  return async function go() {
    more = busy;
    if (busy) return;
    busy = true;
    try { await work(); } finally { busy = false; }
    if (more) go();
  };
}

// Calls `shown` with this page as it is now, each time when events say that there is more to see.
function live(address, shown) {
  follow(address, { more: single(async () => {
    const text = await fetch(location.href, { headers: { Accept: "text/html" } }).then((answer) => answer.ok ? answer.text() : "").catch(() => "");
    const fresh = new DOMParser().parseFromString(text, "text/html");
    if (fresh.querySelector("main")) shown(fresh);
  }) });
}

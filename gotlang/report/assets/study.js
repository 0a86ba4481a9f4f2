// A study that runs: its page is asked for again when there is more to see, and what is open stays open.
if (doc.live) {
  let busy = false, more = false;
  const refresh = async () => {
    more = busy;
    if (busy) return;
    busy = true;
    const text = await (await fetch(location.href, { headers: { Accept: "text/html" } })).text();
    const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("main");
    if (fresh) {
      const open = document.querySelector("main details")?.open, details = fresh.querySelector("details");
      if (details) details.open = open;
      document.querySelector("main").replaceWith(document.adoptNode(fresh));
    }
    busy = false;
    if (more) refresh();
  };
  follow(`/studies/${doc.run}/events`, { more: refresh });
}

// A study that runs: its page is read again when there is more to see, and what is open stays open.
if (doc.live) live(`/studies/${doc.run}/events`, (fresh) => {
  const main = fresh.querySelector("main"), open = document.querySelector("main details")?.open, details = main.querySelector("details");
  if (details) details.open = open;
  document.querySelector("main").replaceWith(document.adoptNode(main));
});

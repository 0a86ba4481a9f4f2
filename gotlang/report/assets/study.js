// The plots are drawn while the page is still being laid out; told of its size again, they fit.
addEventListener("load", () => dispatchEvent(new Event("resize")));

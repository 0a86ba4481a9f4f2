// What the scripts of all pages share: the data, elements, and how values are written.
const doc = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

function make(tag, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

// A framed text with a header; `text` may also be an element.
function block(left, right, text) {
  const box = make("section", null, "block"), head = make("header");
  head.append(make("span", left), make("span", right));
  box.append(head, text instanceof Element ? text : make("pre", text));
  return box;
}

const written = (value) => typeof value === "string" ? value : JSON.stringify(value);
const dollars = (value) => value === null || value === undefined ? null : "$" + value.toFixed(value > 0 && value < 0.0001 ? Math.min(20, 1 - Math.floor(Math.log10(value))) : 4);

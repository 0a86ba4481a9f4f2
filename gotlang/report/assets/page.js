// What the scripts of all pages share: the data, elements, and how values are written.
const doc = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

function make(tag, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

// A text, long ones a part at a time: a browser takes minutes to lay out millions of characters. `fill` writes a
// part into the element.
const LONGEST = 20000;
function passage(text, fill = (box, part) => box.append(part)) {
  const box = make("pre");
  let from = 0;
  const next = () => {
    let to = Math.min(text.length, from + LONGEST);
    if (to < text.length && /[\uD800-\uDBFF]/.test(text[to - 1])) to -= 1; // half of a character
    fill(box, text.slice(from, to));
    from = to;
    if (from === text.length) return;
    const more = make("button", ` show more (${(text.length - from).toLocaleString("en")} characters)`, "link");
    more.type = "button";
    more.onclick = () => { more.remove(); next(); };
    box.append(more);
  };
  next();
  return box;
}

// A framed text with a header; `text` may also be an element.
function block(left, right, text) {
  const box = make("section", null, "block"), head = make("header");
  head.append(make("span", left), make("span", right));
  box.append(head, text instanceof Element ? text : passage(text ?? ""));
  return box;
}

// `/` goes to the search of a page that has one, unless something is being typed.
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || !$("search")) return;
  if (document.activeElement.matches("input, textarea, select")) return;
  event.preventDefault();
  $("search").focus();
});

const STATE = { done: "good", running: "accent", failed: "bad", killed: "bad", invalid: "bad" }; // kinds of chips
const written = (value) => typeof value === "string" ? value : JSON.stringify(value);
const dollars = (value) => value === null || value === undefined ? null : "$" + value.toFixed(value > 0 && value < 0.0001 ? Math.min(20, 1 - Math.floor(Math.log10(value))) : 4);

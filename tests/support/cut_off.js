const wide = document.documentElement.clientWidth, found = [];
if (document.documentElement.scrollWidth > wide + 1) found.push(`page ${document.documentElement.scrollWidth}`);
const marked = (one) => one && (getComputedStyle(one).textOverflow === "ellipsis" || one.classList.contains("sr") || marked(one.parentElement));
const clips = (one) => one && one !== document.body && (getComputedStyle(one).overflowX !== "visible" ? one : clips(one.parentElement));
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const own = node.parentElement;
  if (!node.data.trim() || ["SCRIPT", "STYLE", "OPTION", "TITLE", "title"].includes(own.tagName) || marked(own)) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  const box = range.getBoundingClientRect(), frame = clips(own);
  const end = frame && frame !== document.body ? Math.min(wide, frame.getBoundingClientRect().right) : wide;
  if (box.width && (box.right > end + 1 || box.left < -1)) found.push(`${own.tagName} ${node.data.trim().slice(0, 40)}`);
}
return found.slice(0, 10);

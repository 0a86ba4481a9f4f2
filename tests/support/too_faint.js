const parts = (color) => {
  const made = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  made.fillStyle = color; made.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = made.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
};
const over = (top, under) => top.slice(0, 3).map((v, i) => v * top[3] + under[i] * (1 - top[3]));
const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (one) => {
  const color = one ? parts(getComputedStyle(one).backgroundColor) : [255, 255, 255, 1];
  return color[3] >= 1 || !one ? color.slice(0, 3) : over(color, ground(one.parentElement));
};
const found = new Set(), seen = new Map();
for (const one of document.querySelectorAll("body *")) {
  const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!own || one.closest("svg, script, style, .sr, option") || !one.offsetParent || one.disabled) continue;
  const style = getComputedStyle(one), key = [style.color, ...function* () { for (let at = one; at; at = at.parentElement) yield getComputedStyle(at).backgroundColor; }()].join();
  if (!seen.has(key)) {
    const behind = ground(one), [a, b] = [light(over(parts(style.color), behind)), light(behind)].sort((x, y) => y - x);
    seen.set(key, (a + 0.05) / (b + 0.05));
  }
  const large = parseFloat(style.fontSize) >= 24 || parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700;
  if (seen.get(key) < (large ? 3 : arguments[0])) found.add(`${one.tagName}.${one.className} ${seen.get(key).toFixed(2)}`);
}
return [...found].slice(0, 10);

// Bundles the extension into dist/, with the licences of the packages that are in it.

import { copyFileSync, existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const { metafile } = await build({
  entryPoints: ["src/extension.js"],
  outfile: "dist/extension.js",
  bundle: true,
  minify: true,
  metafile: true,
  platform: "node",
  target: "node18",
  external: ["vscode"],
  logLevel: "warning",
});

const folder = (path) => path.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0];
const packages = [...new Set(Object.keys(metafile.inputs).map(folder).filter(Boolean))].sort();
const notices = packages.map((path) => {
  const { name, version } = JSON.parse(readFileSync(`${path}/package.json`, "utf8"));
  const file = readdirSync(path).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence`);
  return `${name} ${version}\n\n${readFileSync(`${path}/${file}`, "utf8").trim()}\n`;
});
writeFileSync("dist/licenses.txt", notices.join(`\n${"-".repeat(80)}\n\n`));
if (existsSync("../../LICENSE")) copyFileSync("../../LICENSE", "LICENSE.txt");

// Reads {name: text} from standard input and writes {name: [[line, start, end, scopes], ...]}, as VS Code tokenizes.
//     node textmate.mjs FOLDER_OF_NODE_MODULES GRAMMAR.json

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, path] = process.argv.slice(2);
const require = createRequire(`${folder}/`);
const oniguruma = require("vscode-oniguruma");
const { Registry, INITIAL, parseRawGrammar } = require("vscode-textmate");

await oniguruma.loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
const registry = new Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async () => parseRawGrammar(readFileSync(path, "utf8"), path),
});
const grammar = await registry.loadGrammar("source.got");

const answers = {};
for (const [name, text] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  let state = INITIAL;
  answers[name] = text.split("\n").flatMap((line, number) => {
    const found = grammar.tokenizeLine(line, state);
    state = found.ruleStack;
    return found.tokens.map((token) => [number, token.startIndex, token.endIndex, token.scopes.slice(1)]);
  });
}
process.stdout.write(JSON.stringify(answers));

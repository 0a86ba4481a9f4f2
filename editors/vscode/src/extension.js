// Starts `gotc lsp` for programs, and the commands of gotc in a terminal.

const { existsSync } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

/** How gotc is started: the setting, with its program found in the first folder where it is a path. */
function command() {
  const [program, ...rest] = vscode.workspace.getConfiguration("got").get("command");
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const inside = folder && /[\\/]/.test(program) ? path.resolve(folder, program) : program;
  return [existsSync(inside) ? inside : program, ...rest];
}

async function start() {
  const [program, ...rest] = command();
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  client = new LanguageClient(
    "got",
    "got",
    { command: program, args: [...rest, "lsp"], options: { cwd: folder } },
    { documentSelector: [{ language: "got" }] },
  );
  try {
    await client.start();
  } catch (error) {
    const install = "pip install 'gotlang[lsp]'";
    const chosen = await vscode.window.showErrorMessage(
      `${[program, ...rest].join(" ")} lsp does not start: ${error.message}. Install it with ${install}, or set got.command.`,
      "Open Setting",
    );
    if (chosen) vscode.commands.executeCommand("workbench.action.openSettings", "got.command");
  }
}

async function restart() {
  await client?.dispose();
  await start();
}

/** Types a gotc command into a terminal: the person sees it, and may change and repeat it. */
function inTerminal(words, uri, submit = true) {
  const cwd = vscode.workspace.getWorkspaceFolder(uri)?.uri.fsPath ?? path.dirname(uri.fsPath);
  const name = "gotc";
  const open = vscode.window.terminals.find((t) => t.name === name && t.exitStatus === undefined);
  const terminal = open ?? vscode.window.createTerminal({ name, cwd });
  terminal.show();
  terminal.sendText([...command(), ...words].map(quoted).join(" "), submit);
}

function quoted(word) {
  if (/^[\w./:=@%+-]+$/.test(word)) return word;
  return process.platform === "win32" ? `"${word.replaceAll('"', '""')}"` : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The saved program that a command is about: of a code lens, or of the editor. */
async function program(uri) {
  const found = uri ? vscode.Uri.parse(String(uri)) : vscode.window.activeTextEditor?.document.uri;
  if (found?.scheme !== "file") throw new Error("open a .got file first");
  const document = await vscode.workspace.openTextDocument(found);
  if (document.isDirty && !(await document.save())) throw new Error("the program is not saved");
  return document;
}

/** The scheme to use: the only one, or the one that the person picks; undefined where they pick none. */
async function schemeOf(document) {
  const names = [...document.getText().matchAll(/^scheme[ \t]+(\w+)/gm)].map((match) => match[1]);
  return names.length > 1 ? vscode.window.showQuickPick(names, { placeHolder: "Scheme" }) : names[0];
}

function about(verb, submit) {
  return async (uri, scheme, model) => {
    try {
      const document = await program(uri);
      const chosen = scheme ?? (await schemeOf(document));
      const words = [verb, document.uri.fsPath, "--scheme", chosen, ...(model ? ["--model", model] : [])];
      if (chosen) inTerminal(words, document.uri, submit);
    } catch (error) {
      vscode.window.showErrorMessage(`gotc ${verb}: ${error.message}`);
    }
  };
}

function studio() {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (folder) inTerminal(["studio"], folder);
  else vscode.window.showErrorMessage("gotc studio: open a folder first");
}

async function activate(context) {
  const commands = {
    "got.run": about("run", false), // its inputs are typed after it
    "got.explain": about("explain", true),
    "got.graph": about("graph", true),
    "got.studio": studio,
    "got.restart": restart,
  };
  for (const [name, action] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(name, action));
  }
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("got.command")) restart();
    }),
  );
  await start();
}

async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate };

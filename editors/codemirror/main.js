// What the Playground uses of CodeMirror 6, as one file: `CM` in the page.
export { EditorView, basicSetup } from "codemirror";
export { EditorState } from "@codemirror/state";
export { keymap } from "@codemirror/view";
export { indentWithTab } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, indentUnit, syntaxHighlighting } from "@codemirror/language";
export { lintGutter, setDiagnostics } from "@codemirror/lint";
export { tags } from "@lezer/highlight";

"""The language server: the protocol's messages to `gotlang.editing` and back. The extra is `lsp`."""

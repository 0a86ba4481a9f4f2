#!/usr/bin/env bash
# Generates src/parser.c from grammar.js, with tree-sitter 0.22.6 (parsers of ABI 14, which every editor reads).
# Debian trixie has it: where its libc is too new, TREE_SITTER may be a script that runs it through its own ld-linux.
set -euo pipefail
cd "$(dirname "$0")"
"${TREE_SITTER:-tree-sitter}" generate --no-bindings
sha256sum grammar.js >src/grammar.sha256

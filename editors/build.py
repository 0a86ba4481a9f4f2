"""Writes what the editors' files say of the language's words, from the grammar and the operations.

    python editors/build.py

A word is a keyword where the grammar accepts it. Which words begin a declaration, a statement, a part of a
prompt or a clause of a study is read off the grammar's rules; nothing else lists them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EDITORS = ROOT / "editors"
QUERIES = EDITORS / "tree-sitter-got" / "queries"
COPIED = ("highlights.scm", "injections.scm", "locals.scm", "folds.scm", "indents.scm")
HELIX = {
    "@boolean": "@constant.builtin.boolean",
    "@number": "@constant.numeric",
    "@property": "@variable.other.member",
    "@string.escape": "@constant.character.escape",
    "@local.definition.var": "@local.definition",
    "@local.definition.function": "@local.definition",
    "@local.definition.type": "@local.definition",
    "@local.definition.parameter": "@local.definition",
}
SCOPES = {
    "argument": "variable.parameter",
    "builtin": "support.function",
    "comment": "comment.line.number-sign",
    "constant": "constant.language",
    "declared": "entity.name.function",
    "escape": "constant.character.escape",
    "function": "entity.name.function",
    "keyword": "keyword.control",
    "name": "variable.other",
    "number": "constant.numeric",
    "operation": "support.class.operation",
    "operator": "keyword.operator",
    "punctuation": "punctuation",
    "string": "string.quoted.double",
    "template": "punctuation.section.embedded",
    "type": "entity.name.type",
}
"""The scopes of TextMate for the kinds of the rules."""
CONSTANTS = ("true", "false", "none")
OPERATORS = ("and", "in", "not", "or")
ABOUT = {
    "KEYWORDS": "Every word that is a keyword somewhere.",
    "RESERVED": "Keywords wherever a name may be read, but not as a field or an argument.",
    "CONSTANTS": "Values that are words.",
    "DECLARATIONS": "The first word of a declaration.",
    "SEARCH_PARTS": "The first word of a part of a `search`.",
    "PROMPT_PARTS": "The first word of a part of a prompt.",
    "PARSERS": "Words after `parse`.",
    "CLAUSES": "The first word of a clause of a study.",
    "IMPORTED": "Words after `import`.",
    "DIRECTIONS": "Words after the arrow of a score or a metric.",
    "OBJECTIVES": "Words before the goal of a study.",
    "BLOCKS": "Patterns of the blocks whose word is a name elsewhere.",
    "OPERATIONS": "The operations and blocks that are written as calls.",
    "BUILTINS": "Functions of the language.",
}


def words() -> dict[str, tuple[str, ...]]:
    """The words of the language by their use."""
    from gotlang.operations import BLOCKS, OPERATIONS
    from gotlang.scope import THOUGHT_FUNCTIONS
    from gotlang.semantics.builtins import BUILTINS
    from gotlang.syntax.typos import RESERVED

    grammar = _Grammar()
    first, among = grammar.first, grammar.among
    return {
        "KEYWORDS": _sorted(grammar.keywords),
        "RESERVED": _sorted(RESERVED - set(CONSTANTS)),
        "CONSTANTS": CONSTANTS,
        "DECLARATIONS": _sorted(first("_declaration")),
        "SEARCH_PARTS": _sorted(first("_search_part")),
        "PROMPT_PARTS": _sorted(first("_prompt_part")),
        "PARSERS": _sorted(among("parse_tag", "parse_json", "parse_lines", "parse_after") - RESERVED),
        "CLAUSES": _sorted(first("_study_line")),
        "IMPORTED": _sorted(among("import_python", "import_mcp", "import_corpus") - {"import"}),
        "DIRECTIONS": tuple(grammar.words["DIRECTION"]),
        "OBJECTIVES": tuple(grammar.words["OBJECTIVE"]),
        "BLOCKS": tuple(grammar.patterns[name] for name in ("SEARCH", "FIRST", "RACE")),
        "OPERATIONS": tuple(name for name in (*OPERATIONS, *BLOCKS) if name[0].isupper()),
        "BUILTINS": _sorted({*BUILTINS, *THOUGHT_FUNCTIONS}),
    }


def module() -> str:
    """The text of gotlang/highlighting/words.py."""
    lines = ['"""The words of the language by their use. Made by `python editors/build.py`."""\n']
    for name, found in words().items():
        rows = wrap(" ".join(f"{json.dumps(word)}," for word in found), 100) if name != "BLOCKS" else []
        rows = rows or [f"{json.dumps(pattern)}," for pattern in found]
        lines.append("\n".join([f"{name} = (", *(f"    {row}" for row in rows), ")  # fmt: skip"]))
        lines.append(f'"""{ABOUT[name]}"""')
    return "\n".join(lines) + "\n"


def files() -> Iterator[tuple[Path, str]]:
    """Every file that is made from the grammar, and its text; the words first, which the rules import."""
    yield ROOT / "gotlang" / "highlighting" / "words.py", module()
    yield EDITORS / "vscode" / "got.tmLanguage.json", textmate()
    queries = {path.name: path.read_text("utf-8") for path in sorted(QUERIES.glob("*.scm"))}
    queries["highlights.scm"] = with_keywords(queries["highlights.scm"])
    yield QUERIES / "highlights.scm", queries["highlights.scm"]
    for name in COPIED:
        yield EDITORS / "nvim" / "queries" / "got" / name, queries[name]
    for name in COPIED[:3]:
        yield EDITORS / "helix" / "queries" / "got" / name, renamed(queries[name])
    for name in COPIED[:2]:
        yield EDITORS / "zed" / "languages" / "got" / name, queries[name]


def textmate() -> str:
    """TextMate's grammar: the rules that the lexer of Pygments is made of."""
    from gotlang.highlighting.rules import CONTEXTS, PatternMatch, Rule

    def captures(kinds: str) -> dict[str, dict[str, str]]:
        numbered = enumerate(kinds.split(), 1 if " " in kinds else 0)
        return {str(number): {"name": f"{SCOPES[kind]}.got"} for number, kind in numbered if kind != "-"}

    def converted(rule: Rule) -> dict[str, Any]:
        if isinstance(rule, str):
            return {"include": f"#{rule}"}
        if isinstance(rule, PatternMatch):
            return {"match": rule.pattern, "captures": captures(rule.kinds)}
        inside = [{"include": f"#{rule.inside}"}] if CONTEXTS[rule.inside] else []
        found = {
            "begin": rule.begin,
            "beginCaptures": captures(rule.kinds),
            "end": rule.end,
            "endCaptures": captures(rule.end_kind),
            "patterns": inside,
        }
        return found | ({"contentName": f"{SCOPES[rule.text]}.got"} if rule.text != "-" else {})

    grammar = {
        "comment": "Made by `python editors/build.py` of gotlang/highlighting/rules.py.",
        "name": "got",
        "scopeName": "source.got",
        "fileTypes": ["got"],
        "patterns": [{"include": "#root"}],
        "repository": {name: {"patterns": list(map(converted, rules))} for name, rules in CONTEXTS.items()},
    }
    return json.dumps(grammar, indent=2) + "\n"


def with_keywords(query: str) -> str:
    """A query of tree-sitter with every keyword of the grammar between its two marks."""
    found = [w for w in words()["KEYWORDS"] if w not in (*CONSTANTS, *OPERATORS, "skip")]
    rows = [f"  {row}" for row in wrap(" ".join(f'"{word}"' for word in found), 90)]
    head, tail = (
        query.index("[\n", query.index("; keywords: made")),
        query.index("] @keyword\n; keywords: end"),
    )
    return query[: head + 2] + "\n".join(rows) + "\n" + query[tail:]


def renamed(query: str) -> str:
    """A query with Helix's names of captures."""
    return re.sub(r"@[\w.]+", lambda found: HELIX.get(found[0], found[0]), query)


class _Grammar:
    """The grammar's rules, and which words they begin with and contain."""

    def __init__(self) -> None:
        from gotlang.syntax.grammar import build_parser

        parser = build_parser()
        self.patterns = {str(t.name): str(t.pattern.value) for t in parser.terminals}
        self.words: dict[str, list[str]] = {}
        for terminal in parser.terminals:
            found = re.fullmatch(r"\(?(\w+(?:\|\w+)*)\)?(?:\\b)?", terminal.pattern.value)
            if found and found[1].islower():
                self.words[terminal.name] = found[1].split("|")
        self.words |= {name: [name.lower()] for name in ("SEARCH", "FIRST", "RACE")}
        self.keywords = {word for found in self.words.values() for word in found}
        self._rules: dict[str, list[list[str]]] = {}
        for rule in parser.rules:
            self._rules.setdefault(rule.origin.name, []).append([str(s.name) for s in rule.expansion])

    def first(self, start: str) -> set[str]:
        """The words with which a text of a rule may begin."""
        seen, waiting, found = {start}, [start], set[str]()
        while waiting:
            for expansion in self._rules[waiting.pop()]:
                for symbol in expansion[:1]:
                    found.update(self.words.get(symbol, ()))
                    if symbol in self._rules and symbol not in seen:
                        seen.add(symbol)
                        waiting.append(symbol)
        return found

    def among(self, *rules: str) -> set[str]:
        """The words of some rules themselves, and of the rules that are only a word."""
        found = set[str]()
        for symbol in {s for rule in rules for expansion in self._rules[rule] for s in expansion}:
            found.update(self.words.get(symbol, ()))
            for expansion in self._rules.get(symbol, []):
                if len(expansion) == 1:
                    found.update(self.words.get(expansion[0], ()))
        return found


def _sorted(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(found))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for path, text in files():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

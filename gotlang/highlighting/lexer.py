"""The lexer of programs for Pygments, which finds it by the name `got` or by the ending of a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, include
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from gotlang.highlighting.rules import CONTEXTS, PatternMatch, Rule

_KINDS: dict[str, Any] = {
    "-": Text,
    "argument": Name.Attribute,
    "builtin": Name.Builtin,
    "comment": Comment,
    "constant": Keyword.Constant,
    "declared": Name.Function,
    "escape": String.Escape,
    "function": Name.Function,
    "keyword": Keyword,
    "name": Name,
    "number": Number,
    "operation": Name.Builtin,
    "operator": Operator,
    "punctuation": Punctuation,
    "string": String,
    "template": String.Interpol,
    "type": Name.Class,
}
_Found = Iterator[tuple[int, Any, str]]


def _groups(kinds: str) -> Callable[[Any, re.Match[str]], _Found]:
    """Returns the parts of a match, each with its kind."""
    types = [_KINDS[kind] for kind in kinds.split()]

    def found(_: Any, match: re.Match[str]) -> _Found:
        first = 1 if match.re.groups else 0
        for number, type_ in enumerate(types, first):
            if match[number]:
                yield match.start(number), type_, match[number]

    return found


def _states() -> dict[str, list[Any]]:
    """The states of Pygments, one for each context and one for each region."""
    states: dict[str, list[Any]] = {}

    def converted(rule: Rule) -> Any:
        if isinstance(rule, str):
            return include(rule)
        if isinstance(rule, PatternMatch):
            return rule.pattern, _groups(rule.kinds)
        state, text = f"region {len(states)}", _KINDS[rule.text]
        end = rule.end, _groups(rule.end_kind), "#pop"
        plain = r"[ \t]+" if rule.text == "-" else r'[^"\\{#\n]+'
        states[state] = [end, include(rule.inside), (plain, text), (r"[\s\S]", text)]
        return rule.begin, _groups(rule.kinds), state

    for name, rules in CONTEXTS.items():
        states[name] = []
        states[name] += [converted(rule) for rule in rules]
    states["root"].append((r"\n|[ \t]+", Whitespace))
    return states


class GotLexer(RegexLexer):
    """Programs of .got, with the Jinja of their prompts."""

    name = "got"
    aliases: ClassVar[list[str]] = ["got"]
    filenames: ClassVar[list[str]] = ["*.got"]
    mimetypes: ClassVar[list[str]] = ["text/x-got"]
    flags = re.MULTILINE
    tokens: ClassVar[dict[str, list[Any]]] = _states()

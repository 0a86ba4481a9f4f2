"""Patterns for highlighters without a parser: words and regions, by context.

Keywords of the language are contextual, so a word is one only where the grammar may accept it: at the start
of a line of a prompt, after an arrow, in the head of a scheme. Rules are tried at each place in the order of
the context. Patterns have the same meaning in Python's `re` and Oniguruma; a line ends with a line break.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gotlang.highlighting import words


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """One place. `kinds` are those of the pattern's groups, `-` for none, or one for all of it."""

    pattern: str
    kinds: str


@dataclass(frozen=True, slots=True)
class NestedContext:
    """A region between two places, with the rules of the context `inside`. `text` is the kind of text that
    matches no rule inside."""

    begin: str
    kinds: str
    inside: str
    end: str
    end_kind: str = "-"
    text: str = "-"


Rule = PatternMatch | NestedContext | str
"""A rule, or the name of a context whose rules it includes."""

MARGIN: Final = r"^(?=[^\s#])"
"""The start of a declaration, which ends the one before."""


def _any(found: Iterable[str]) -> str:
    return f"(?:{'|'.join(found)})"


def _brackets(opening: str, closing: str, inside: str) -> NestedContext:
    lost = rf"^(?={_any(words.DECLARATIONS)}[ \t]+[\w\"])"
    return NestedContext(rf"\{opening}", "punctuation", inside, rf"\{closing}|{lost}", "punctuation")


def _string(quotes: str, end: str, inside: str) -> NestedContext:
    return NestedContext(quotes, "string", inside, end, "string", "string")


def _jinja(end: str) -> tuple[Rule, ...]:
    """Jinja in a text that ends with `end`."""
    return (
        NestedContext(r"\{#", "comment", "nothing", rf"#\}}|(?={end})", "comment", "comment"),
        NestedContext(r"\{\{[-+]?", "template", "jinja", rf"[-+]?\}}\}}|(?={end})", "template"),
        NestedContext(r"\{%[-+]?", "template", "jinja", rf"[-+]?%\}}|(?={end})", "template"),
        "escapes",
    )


_PARSER: Final = _any(words.PARSERS)
_JINJA: Final = (
    "for",
    "endfor",
    "in",
    "if",
    "elif",
    "else",
    "endif",
    "set",
    "endset",
    "is",
    "not",
    "and",
    "or",
)
_MANY: Final = PatternMatch(r"(->)([ \t]*)(many)\b", "operator - keyword")
_WITHIN: Final = PatternMatch(r"\b(within)(?=[ \t]+[0-9])", "keyword")
_HEAD: Final = rf":|{MARGIN}"
_NAMED: Final = "keyword - declared"
_PARTS: Final = _any(word for word in words.SEARCH_PARTS if word != "backup")

CONTEXTS: Final[dict[str, tuple[Rule, ...]]] = {
    "root": ("declarations", "lines", "expression"),
    "nothing": (),
    "declarations": (
        PatternMatch(rf"^(import)([ \t]+)({_any(words.IMPORTED)})\b", "keyword - keyword"),
        NestedContext(r"^(prompt)([ \t]+)(\w+)", _NAMED, "prompt", MARGIN),
        NestedContext(r"^(partial)([ \t]+)(\w+)", _NAMED, "texts", MARGIN),
        NestedContext(r"^(param)([ \t]+)(\w+)", _NAMED, "param", MARGIN),
        NestedContext(r"^(score|metric)([ \t]+)(\w+)", _NAMED, "measure", _HEAD, "punctuation"),
        NestedContext(r"^(scheme)([ \t]+)(\w+)", _NAMED, "scheme", _HEAD, "punctuation"),
        NestedContext(r"^(study)([ \t]+)(\w+)", _NAMED, "study", MARGIN),
        NestedContext(r'^(test|law)(?=[ \t]+")', "keyword", "test", MARGIN),
        PatternMatch(r"^(type|operation|function)([ \t]+)(\w+)", _NAMED),
        PatternMatch(rf"^({_any(words.DECLARATIONS)})(?=[ \t]+[\w\"])", "keyword"),
        PatternMatch(r'(?<=[\w"])([ \t]+)(import)\b', "- keyword"),
    ),
    "param": (PatternMatch(r"\b(each)([ \t]+)(in)\b", "keyword - keyword"), "expression"),
    "prompt": (
        _MANY,
        PatternMatch(r"^([ \t]+)(examples)([ \t]+)(as)([ \t]+)(turns)\b", "- keyword - keyword - keyword"),
        PatternMatch(
            rf"^([ \t]+)(parse)([ \t]+)({_PARSER})\b(?:([ \t]+)({_PARSER})\b)?",
            "- keyword - keyword - keyword",
        ),
        PatternMatch(rf"^([ \t]+)({_any(words.PROMPT_PARTS)})\b(?![ \t]*=(?!=))", "- keyword"),
        "texts",
    ),
    "measure": (
        PatternMatch(rf"(->)([ \t]*)({_any(words.DIRECTIONS)})\b", "operator - keyword"),
        PatternMatch(r"(,)([ \t]*)(best|failed)\b", "punctuation - keyword"),
        "expression",
    ),
    "scheme": (
        _MANY,
        PatternMatch(r"(,)([ \t]*)(truth)\b", "punctuation - keyword"),
        PatternMatch(r"\bdecreases\b", "keyword"),
        _WITHIN,
        "expression",
    ),
    "test": (
        _WITHIN,
        PatternMatch(r"(,)([ \t]*)(at)([ \t]+)(least)\b", "punctuation - keyword - keyword"),
        PatternMatch(r"(?<=[0-9])([ \t]+)(of)\b", "- keyword"),
        "expression",
    ),
    "study": (
        PatternMatch(r"^([ \t]+)(subject)([ \t]+)(to)\b", "- keyword - keyword"),
        PatternMatch(rf"^([ \t]+)({_any(words.CLAUSES)})\b", "- keyword"),
        PatternMatch(rf"(,)([ \t]*)({_any(words.OBJECTIVES)})\b", "punctuation - keyword"),
        PatternMatch(r'(?<=")([ \t]*)(scheme)\b', "- keyword"),
        "expression",
    ),
    "lines": (
        *(PatternMatch(rf"^([ \t]*)({block})", "- keyword") for block in words.BLOCKS),
        *(PatternMatch(rf"(?<![=!<>])(=)([ \t]*)({block})", "operator - keyword") for block in words.BLOCKS),
        PatternMatch(r"^([ \t]+)(backup)(?=[ \t]+\w+[ \t]*(?:#|$))", "- keyword"),
        PatternMatch(
            rf"^([ \t]+)({_PARTS})(?=[ \t]*:(?![^\n#=(]*=(?!=)))",
            "- keyword",
        ),
        PatternMatch(r"(,)([ \t]*)(at)([ \t]+)(once)\b", "punctuation - keyword - keyword"),
    ),
    "expression": (
        "strings",
        PatternMatch(r"#.*", "comment"),
        PatternMatch(r"\\[ \t]*\n[ \t]*", "operator"),
        PatternMatch(r"[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|[0-9]+", "number"),
        PatternMatch(r"\.\.\.?", "operator"),
        PatternMatch(r"(\.)([ \t]*)([a-z_]\w*)(?=[ \t]*\()", "punctuation - function"),
        PatternMatch(r"(\.)([ \t]*)([a-z_]\w*)", "punctuation - name"),
        PatternMatch(rf"\b{_any(words.CONSTANTS)}\b", "constant"),
        PatternMatch(rf"\b{_any(words.RESERVED)}\b", "keyword"),
        PatternMatch(rf"\b{_any(words.OPERATIONS)}\b(?=[ \t]*\()", "operation"),
        PatternMatch(r"\b[A-Z]\w*", "type"),
        PatternMatch(rf"\b{_any(words.BUILTINS)}\b(?=[ \t]*\()", "builtin"),
        PatternMatch(r"\b[a-z_]\w*(?=[ \t]*\()", "function"),
        PatternMatch(r"\b[a-z_]\w*", "name"),
        _brackets("(", ")", "arguments"),
        _brackets("{", "}", "fields"),
        _brackets("[", "]", "items"),
        PatternMatch(r"->|==|!=|<=|>=|\*\*|//|[-+*/%<>=|?]", "operator"),
        PatternMatch(r"[,:.]", "punctuation"),
    ),
    "arguments": (PatternMatch(r"\b([a-z_]\w*)([ \t]*)(=)(?!=)", "argument - operator"), "expression"),
    "fields": (PatternMatch(r"\b([a-z_]\w*)([ \t]*)(:)", "argument - punctuation"), "expression"),
    "items": (PatternMatch(r'\b(file)(?=[ \t]*")', "keyword"), "expression"),
    "strings": (_string('"""', '"""', "escapes"), _string('"', r'"|$', "escapes")),
    "escapes": (PatternMatch(r'\\(?:[ntr"\\]|u[0-9a-fA-F]{4}|$)', "escape"),),
    "texts": (_string('"""', '"""', "long text"), _string('"', r'"|$', "text"), "expression"),
    "long text": _jinja('"""'),
    "text": _jinja(r'(?<!\\)"|$'),
    "jinja": (
        PatternMatch(r"'[^'\n]*'|\\\"(?:[^\"\\\n])*\\\"|\"[^\"\n]*\"", "string"),
        PatternMatch(r"[0-9]+(?:\.[0-9]+)?", "number"),
        PatternMatch(r"(\|)([ \t]*)([a-z_]\w*)", "operator - function"),
        PatternMatch(rf"\b{_any(_JINJA)}\b", "keyword"),
        PatternMatch(r"\b[A-Za-z_]\w*", "name"),
        PatternMatch(r"[-+*/%<>=~!]+", "operator"),
    ),
}
"""The rules of each context; `root` is that of a file."""

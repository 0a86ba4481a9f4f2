"""What a highlighter without a parser looks for: words and regions, by the context that they are in.

Keywords of the language are contextual, so a word is one only where the grammar may accept it: at the start
of a line of a prompt, after an arrow, in the head of a scheme. A rule is tried at each place in the order of
its context. Patterns are those that Python's `re` and Oniguruma read alike; a line ends with a line break.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gotlang.highlighting import words


@dataclass(frozen=True, slots=True)
class Match:
    """One place. `kinds` are those of the pattern's groups, `-` for none, or one for all of it."""

    pattern: str
    kinds: str


@dataclass(frozen=True, slots=True)
class Region:
    """From one place to another, with the rules of the context `inside` between them. `text` is the kind of
    what no rule inside matches."""

    begin: str
    kinds: str
    inside: str
    end: str
    end_kind: str = "-"
    text: str = "-"


Rule = Match | Region | str
"""A rule, or the name of a context whose rules it includes."""

MARGIN: Final = r"^(?=[^\s#])"
"""The start of a declaration, which ends the one before."""


def _any(found: Iterable[str]) -> str:
    return f"(?:{'|'.join(found)})"


def _brackets(opening: str, closing: str, inside: str) -> Region:
    lost = rf"^(?={_any(words.DECLARATIONS)}[ \t]+[\w\"])"
    return Region(rf"\{opening}", "punctuation", inside, rf"\{closing}|{lost}", "punctuation")


def _string(quotes: str, end: str, inside: str) -> Region:
    return Region(quotes, "string", inside, end, "string", "string")


def _jinja(end: str) -> tuple[Rule, ...]:
    """Jinja in a text that ends with `end`."""
    return (
        Region(r"\{#", "comment", "nothing", rf"#\}}|(?={end})", "comment", "comment"),
        Region(r"\{\{[-+]?", "template", "jinja", rf"[-+]?\}}\}}|(?={end})", "template"),
        Region(r"\{%[-+]?", "template", "jinja", rf"[-+]?%\}}|(?={end})", "template"),
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
_MANY: Final = Match(r"(->)([ \t]*)(many)\b", "operator - keyword")
_WITHIN: Final = Match(r"\b(within)(?=[ \t]+[0-9])", "keyword")
_HEAD: Final = rf":|{MARGIN}"
_NAMED: Final = "keyword - declared"
_PARTS: Final = _any(word for word in words.SEARCH_PARTS if word != "backup")

CONTEXTS: Final[dict[str, tuple[Rule, ...]]] = {
    "root": ("declarations", "lines", "expression"),
    "nothing": (),
    "declarations": (
        Match(rf"^(import)([ \t]+)({_any(words.IMPORTED)})\b", "keyword - keyword"),
        Region(r"^(prompt)([ \t]+)(\w+)", _NAMED, "prompt", MARGIN),
        Region(r"^(partial)([ \t]+)(\w+)", _NAMED, "texts", MARGIN),
        Region(r"^(param)([ \t]+)(\w+)", _NAMED, "param", MARGIN),
        Region(r"^(score|metric)([ \t]+)(\w+)", _NAMED, "measure", _HEAD, "punctuation"),
        Region(r"^(scheme)([ \t]+)(\w+)", _NAMED, "scheme", _HEAD, "punctuation"),
        Region(r"^(study)([ \t]+)(\w+)", _NAMED, "study", MARGIN),
        Region(r'^(test|law)(?=[ \t]+")', "keyword", "test", MARGIN),
        Match(r"^(type|operation|function)([ \t]+)(\w+)", _NAMED),
        Match(rf"^({_any(words.DECLARATIONS)})(?=[ \t]+[\w\"])", "keyword"),
        Match(r'(?<=[\w"])([ \t]+)(import)\b', "- keyword"),
    ),
    "param": (Match(r"\b(each)([ \t]+)(in)\b", "keyword - keyword"), "expression"),
    "prompt": (
        _MANY,
        Match(r"^([ \t]+)(examples)([ \t]+)(as)([ \t]+)(turns)\b", "- keyword - keyword - keyword"),
        Match(
            rf"^([ \t]+)(parse)([ \t]+)({_PARSER})\b(?:([ \t]+)({_PARSER})\b)?",
            "- keyword - keyword - keyword",
        ),
        Match(rf"^([ \t]+)({_any(words.PROMPT_PARTS)})\b(?![ \t]*=(?!=))", "- keyword"),
        "texts",
    ),
    "measure": (
        Match(rf"(->)([ \t]*)({_any(words.DIRECTIONS)})\b", "operator - keyword"),
        Match(r"(,)([ \t]*)(best|failed)\b", "punctuation - keyword"),
        "expression",
    ),
    "scheme": (
        _MANY,
        Match(r"(,)([ \t]*)(truth)\b", "punctuation - keyword"),
        Match(r"\bdecreases\b", "keyword"),
        _WITHIN,
        "expression",
    ),
    "test": (
        _WITHIN,
        Match(r"(,)([ \t]*)(at)([ \t]+)(least)\b", "punctuation - keyword - keyword"),
        Match(r"(?<=[0-9])([ \t]+)(of)\b", "- keyword"),
        "expression",
    ),
    "study": (
        Match(r"^([ \t]+)(subject)([ \t]+)(to)\b", "- keyword - keyword"),
        Match(rf"^([ \t]+)({_any(words.CLAUSES)})\b", "- keyword"),
        Match(rf"(,)([ \t]*)({_any(words.OBJECTIVES)})\b", "punctuation - keyword"),
        Match(r'(?<=")([ \t]*)(scheme)\b', "- keyword"),
        "expression",
    ),
    "lines": (
        *(Match(rf"^([ \t]*)({block})", "- keyword") for block in words.BLOCKS),
        *(Match(rf"(?<![=!<>])(=)([ \t]*)({block})", "operator - keyword") for block in words.BLOCKS),
        Match(r"^([ \t]+)(backup)(?=[ \t]+\w+[ \t]*(?:#|$))", "- keyword"),
        Match(
            rf"^([ \t]+)({_PARTS})(?=[ \t]*:(?![^\n#=(]*=(?!=)))",
            "- keyword",
        ),
        Match(r"(,)([ \t]*)(at)([ \t]+)(once)\b", "punctuation - keyword - keyword"),
    ),
    "expression": (
        "strings",
        Match(r"#.*", "comment"),
        Match(r"\\[ \t]*\n[ \t]*", "operator"),
        Match(r"[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|[0-9]+", "number"),
        Match(r"\.\.\.?", "operator"),
        Match(r"(\.)([ \t]*)([a-z_]\w*)(?=[ \t]*\()", "punctuation - function"),
        Match(r"(\.)([ \t]*)([a-z_]\w*)", "punctuation - name"),
        Match(rf"\b{_any(words.CONSTANTS)}\b", "constant"),
        Match(rf"\b{_any(words.RESERVED)}\b", "keyword"),
        Match(rf"\b{_any(words.OPERATIONS)}\b(?=[ \t]*\()", "operation"),
        Match(r"\b[A-Z]\w*", "type"),
        Match(rf"\b{_any(words.BUILTINS)}\b(?=[ \t]*\()", "builtin"),
        Match(r"\b[a-z_]\w*(?=[ \t]*\()", "function"),
        Match(r"\b[a-z_]\w*", "name"),
        _brackets("(", ")", "arguments"),
        _brackets("{", "}", "fields"),
        _brackets("[", "]", "items"),
        Match(r"->|==|!=|<=|>=|\*\*|//|[-+*/%<>=|?]", "operator"),
        Match(r"[,:.]", "punctuation"),
    ),
    "arguments": (Match(r"\b([a-z_]\w*)([ \t]*)(=)(?!=)", "argument - operator"), "expression"),
    "fields": (Match(r"\b([a-z_]\w*)([ \t]*)(:)", "argument - punctuation"), "expression"),
    "items": (Match(r'\b(file)(?=[ \t]*")', "keyword"), "expression"),
    "strings": (_string('"""', '"""', "escapes"), _string('"', r'"|$', "escapes")),
    "escapes": (Match(r'\\(?:[ntr"\\]|u[0-9a-fA-F]{4}|$)', "escape"),),
    "texts": (_string('"""', '"""', "long text"), _string('"', r'"|$', "text"), "expression"),
    "long text": _jinja('"""'),
    "text": _jinja(r'(?<!\\)"|$'),
    "jinja": (
        Match(r"'[^'\n]*'|\\\"(?:[^\"\\\n])*\\\"|\"[^\"\n]*\"", "string"),
        Match(r"[0-9]+(?:\.[0-9]+)?", "number"),
        Match(r"(\|)([ \t]*)([a-z_]\w*)", "operator - function"),
        Match(rf"\b{_any(_JINJA)}\b", "keyword"),
        Match(r"\b[A-Za-z_]\w*", "name"),
        Match(r"[-+*/%<>=~!]+", "operator"),
    ),
}
"""The rules of each context; `root` is that of a file."""

"""Syntax errors in words: terminals by the names a user knows, and hints for the mistakes people make."""

from __future__ import annotations

from collections.abc import Iterable

_NAMES = {
    "_NL": "the end of the line",
    "_INDENT": "an indented block",
    "_DEDENT": "the end of the block",
    "$END": "the end of the file",
    "NAME": "a name",
    "OPERATION": "an operation such as `Generate`",
    "INT": "a number",
    "FLOAT": "a number",
    "STRING": "a text in quotes",
    "LONG_STRING": "a text in triple quotes",
    "DIRECTION": "`lower` or `higher`",
    "OBJECTIVE": "`minimize` or `maximize`",
    "COMPARE": "a comparison",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "EQUAL": "`=`",
    "DOT": "`.`",
    "VBAR": "`|`",
    "PLUS": "an operator",
    "MINUS": "an operator",
    "STAR": "an operator",
    "SLASH": "an operator",
    "DOUBLE_SLASH": "an operator",
    "PERCENT": "an operator",
    "POWER": "an operator",
    "OR": "an operator",
    "AND": "an operator",
    "NOT": "an operator",
    "IF": "`if`",
    "IN": "`in`",
    "__ANON_0": "`->`",
    "__ANON_1": "`..`",
}

# Terminals that mean the same to a reader, named once: where one of these sets is wholly allowed.
_GROUPS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"NAME", "INT", "STRING", "LSQB", "LPAR", "LBRACE", "TRUE"}), "an expression"),
    (frozenset({"INT", "FLOAT", "STRING", "TRUE", "MINUS"}), "a constant"),
    (frozenset({"PARAM", "PROMPT", "SCHEME"}), "a declaration (`param`, `prompt`, `score`, `scheme`, ...)"),
    (frozenset({"OPERATION", "FOREACH", "REDUCE"}), "a step such as `Generate(k=5) sort(part)`"),
)
_EXPRESSION = frozenset(
    ["NAME", "INT", "FLOAT", "STRING", "LONG_STRING", "LSQB", "LPAR", "LBRACE", "TRUE", "FALSE", "NONE", "NOT", "PLUS", "MINUS"]
)
_CONSTANT = frozenset(["INT", "FLOAT", "STRING", "LONG_STRING", "TRUE", "FALSE", "MINUS", "LSQB"])
_DECLARATION = frozenset(["IMPORT", "PARAM", "PROMPT", "SCORE", "SCHEME", "SIMULATE", "STUDY", "TYPE"])
_STEP = frozenset(["OPERATION", "FOREACH", "REDUCE", "REPEAT", "IF", "RETURN"]) | _EXPRESSION
_COVERED = {
    "an expression": _EXPRESSION,
    "a constant": _CONSTANT,
    "a declaration (`param`, `prompt`, `score`, `scheme`, ...)": _DECLARATION,
    "a step such as `Generate(k=5) sort(part)`": _STEP,
}
_OPERATORS = frozenset(name for name, word in _NAMES.items() if word == "an operator") | {
    "COMPARE",
    "IN",
    "IF",
}


def expected(terminals: Iterable[str], literals: dict[str, str]) -> str:
    """The terminals a parser would take, as one phrase; `literals` gives keywords their text."""
    left = set(terminals)
    words: list[str] = []
    for group, phrase in reversed(_GROUPS):
        if group <= left:
            words.append(phrase)
            left -= _COVERED[phrase]
    if left >= {"PLUS", "STAR"}:
        left -= _OPERATORS | {"DOT", "LSQB"}
        words.append("an operator")
    for terminal in sorted(left):
        word = f"`{literals[terminal]}`" if terminal in literals else _NAMES.get(terminal)
        if word and word not in words:
            words.append(word)
    if len(words) > 6:
        words = [*words[:6], "..."]
    if not words:
        return "something else"
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def found(terminal: str, text: str) -> str:
    """The token that was met, in words."""
    if terminal in {"_NL", "_INDENT", "_DEDENT", "$END"}:
        return _NAMES[terminal]
    shown = text if len(text) <= 30 else text[:27] + "..."
    return f"`{shown}`"


def hint(terminal: str, text: str, wanted: set[str], before: str) -> str | None:
    """What the user most likely meant, or None."""
    if text in {"True", "False", "None"}:
        return f"write `{text.lower()}`"
    if text == "=" and "COMPARE" in wanted:
        return "to compare, write `==`"
    if text in {"&&", "&"}:
        return "write `and`"
    if text in {"||", "|"} and "COMPARE" in wanted:
        return "write `or`"
    if text == "!":
        return "write `not`"
    if terminal == "_INDENT":
        return "this line is indented further than the one before it, which opens no block"
    if terminal == "_NL" and "COLON" in wanted:
        return "a block's first line ends with `:`"
    if "_INDENT" in wanted:
        return "indent the lines of a block, by four spaces"
    if before == "'" or text.startswith("'"):
        return 'texts stand in double quotes: "..."'
    if text in {"def", "for", "while", "class", "lambda", "with"}:
        return f"`{text}` is Python's; see docs/language.md for the blocks of this language"
    if terminal == "_NL" and wanted & {"RPAR", "RSQB", "RBRACE"}:
        return "a bracket is still open"
    return None

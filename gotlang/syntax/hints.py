"""What the user of a wrong line most likely meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

_PYTHON = {
    "class": "types are written `type State = {path: list[str]}`",
    "def": "write `scheme name(x: int) -> int:`, or import a function from Python",
    "for": "write `foreach x in xs:`",
    "while": "write `repeat n until condition:`",
    "from": 'write `import "other.got"` or `import python "tools.py": name`',
    "lambda": "there are no functions inside expressions; write a comprehension",
    "async": "steps that do not need each other run at the same time by themselves",
    "await": "steps that do not need each other run at the same time by themselves",
    "try": "a failed thought is dropped by itself; `Validate` and `if` decide on the others",
    "pass": "a pipeline needs a step",
    "print": "a scheme's result is its last step's thoughts, or what `return` names",
    "elseif": "write `elif`",
    "elsif": "write `elif`",
    "const": "write `param name = 5 in 1..10`",
    "let": "write `name = value`",
    "var": "write `name = value`",
    "func": "write `scheme name(x: int) -> int:`",
    "fn": "write `scheme name(x: int) -> int:`",
    "function": "write `scheme name(x: int) -> int:`",
}
_SIGNS = {
    "'": 'texts stand in double quotes: "..."',
    "“": 'texts stand in straight double quotes: "..."',
    "”": 'texts stand in straight double quotes: "..."',
    "‘": 'texts stand in straight double quotes: "..."',
    "’": 'texts stand in straight double quotes: "..."',
    "`": 'texts stand in double quotes: "..."',
    "–": "write `-`",
    "—": "write `-`",
    "−": "write `-`",
    "×": "write `*`",
    "÷": "write `/`",
    "→": "write `->`",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
    "…": "write `..`",
    "\u00a0": "write a plain space",
    "&": "write `and`",
    "!": "write `not`",
    ";": "one statement stands on one line",
    "?": "write `a if condition else b`",
    "@": "there are no decorators",
    "$": "names have no sign before them",
    "^": "write `**` for a power",
    "~": "write `not`",
}
CAPITAL = {"True": "true", "False": "false", "None": "none"}
"""Python's constants, and how they are written here."""

LABELS = {
    "else": "there is no `if` above it at this indentation",
    "elif": "there is no `if` above it at this indentation",
    "elseif": "write `elif`",
    "elsif": "write `elif`",
    "while": "write `repeat n until condition:`",
    "for": "write `foreach x in xs:`",
}
"""Words that start no label, because who writes them means a block."""

# What a line may start with.
_OPENINGS = (
    *("import", "param", "prompt", "scheme", "score", "simulate", "study", "type"),
    *("examples", "instruction", "parse", "system", "user"),
    *("elif", "else", "foreach", "if", "reduce", "repeat", "return"),
    *("data", "maximize", "minimize", "program", "prompts", "subject", "vary"),
)

_SETTING_WITHOUT = re.compile(r"(?:[a-z_]\w*[ \t]*=[ \t]*)?([A-Z]\w*)[ \t]+([a-z_]\w*)")
_VALUE = re.compile(r"=[ \t]*([\w.]+)")


def hint(
    terminal: str, met: str, wanted: set[str], text: str, at: int, known: Mapping[str, str]
) -> str | None:
    """What to write instead, or None.

    `terminal` and `met` are the token that did not fit, `wanted` the terminals that would have, `at` its
    offset in `text`, `known` the text of each keyword by its terminal.
    """
    before = text[text.rfind("\n", 0, at) + 1 : at].strip()
    opening = (before or met).split(maxsplit=1)[0] if (before or met).strip() else ""
    if met in CAPITAL:
        return f"write `{CAPITAL[met]}`"
    if met in _SIGNS and terminal in {"", "VBAR"}:
        return _SIGNS[met]
    if met == "if" and before == "else":
        return "write `elif`"
    if opening in _PYTHON and terminal != "_NL":
        return _PYTHON[opening]
    if met == "=":
        return _of_equal_sign(wanted, before, text[at:], text.startswith("prompt"))
    if terminal == "_NL":
        return _of_line_end(wanted, opening)
    if met in {"//", "/"} and text[at : at + 2] in {"//", "/*"}:
        return "a comment starts with `#`"
    if terminal in {"STRING", "LONG_STRING"} and re.search(r"\b[fFrRbBuU]{1,2}$", before):
        return "a text has no letter before it; a prompt's text takes values as `{{ name }}`"
    return (
        _of_declaration(met, wanted, opening)
        or _misspelt(terminal, met, [known[terminal] for terminal in wanted if terminal in known])
        or (_misspelt("NAME", opening, _OPENINGS) if re.fullmatch(r"[\w ]+", before) else None)
    )


def _of_equal_sign(wanted: set[str], before: str, rest: str, in_prompt: bool) -> str | None:
    if settings := _SETTING_WITHOUT.fullmatch(before):
        value = _VALUE.match(rest)
        return f"settings stand in parentheses: `{settings[1]}({settings[2]}={value[1] if value else '...'})`"
    if before.endswith(("+", "-", "*", "/")):
        return "write `x = x + 1`"
    if in_prompt and "INT" in wanted:
        return "a setting of a prompt has no `=`: `temperature 1.0`"
    return "to compare, write `==`" if "COMPARE" in wanted else None


def _of_line_end(wanted: set[str], opening: str) -> str | None:
    if "COLON" not in wanted or "EQUAL" in wanted:
        return None
    if opening == "import":
        return 'say what it takes: `import python "tools.py": name`'
    return "the first line of a block ends with `:`"


def _of_declaration(met: str, wanted: set[str], opening: str) -> str | None:
    if met == ":" and "ARROW" in wanted:
        result = "`-> lower` or `-> higher`" if opening == "score" else "the result: `-> list[int]`"
        return f"after the inputs stands {result}"
    if opening in {"prompt", "scheme", "score"} and wanted == {"COLON"} and met in {",", ")"}:
        return "an input has a type: `numbers: list[int]`"
    if opening == "param" and "EQUAL" in wanted and met == "in":
        return "a param has a default: `param k = 3 in 1..5`"
    if opening == "param" and "INT" in wanted:
        return "a param's default and range are constants"
    return None


def _misspelt(terminal: str, word: str, words: Iterable[str]) -> str | None:
    if terminal not in {"NAME", "OPERATION"} or word in _OPENINGS:
        return None
    near = get_close_matches(word.lower(), [word for word in words if word.isalpha()], n=1, cutoff=0.76)
    return f"did you mean `{near[0]}`?" if near else None

"""Messages of syntax errors: the unexpected token, the expected ones, and what the author most likely
meant."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gotlang.diagnostics import Diagnostic, Fix
from gotlang.span import Fragment
from gotlang.syntax.grammar import parser
from gotlang.syntax.recovery import end_of_code, misspelt_match
from gotlang.syntax.typos import BLOCKS, CAPITAL, STATEMENTS, misspelt

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

_SCHEME = "write `scheme name(x: int) -> int:`"
_PYTHON = {
    "class": "types are written `type State = {path: list[str]}`",
    "def": f"{_SCHEME}, or import a function from Python",
    **dict.fromkeys(("func", "fn", "function"), "write `function name(x: int) -> int = x + 1`"),
    "for": "write `foreach x in xs:`",
    "while": "write `repeat n until condition:`",
    "switch": "write `match value:`",
    **dict.fromkeys(("elseif", "elsif"), "write `elif`"),
    "from": 'write `import "other.got"` or `import python "tools.py": name`',
    "lambda": "lambdas are not supported; write a comprehension",
    **dict.fromkeys(("async", "await"), "independent steps already run concurrently"),
    **dict.fromkeys(("except", "catch", "finally"), "write `else:` with the fallback of the `try`"),
    "assert": "mark thoughts with `Validate()` and keep those with `KeepValid()`",
    "pass": "a pipeline needs at least one step",
    "print": "a scheme returns the thoughts of its last step, or the value after `return`",
    "const": "write `param name = 5 in 1..10`",
    **dict.fromkeys(("let", "var"), "write `name = value`"),
}
# Signs of other languages, and their equivalents here.
_OTHER_SIGNS = "× *  ÷ /  ^ **  – -  — -  − -  → ->  … ..  ≤ <=  ≥ >=  ≠ !=  & and  ! not  ~ not"
_SIGNS = {
    **{sign: f"write `{ours}`" for sign, ours in re.findall(r"(\S) (\S+)", _OTHER_SIGNS)},
    **dict.fromkeys("'`", 'strings use double quotes: "..."'),
    **dict.fromkeys("“”‘’", 'strings use straight double quotes: "..."'),
    "?": "write `a if condition else b`",
    "\u00a0": "write a plain space",
    ";": "write each statement on its own line",
    "@": "decorators are not supported",
    "$": "names have no prefix",
}
_NAMES = {
    "_NL": "end of line",
    "_INDENT": "an indented block",
    "_DEDENT": "end of block",
    "$END": "end of text",
    "NAME": "a name",
    "OPERATION": "an operation such as `Generate`",
    **dict.fromkeys(("INT", "FLOAT"), "a number"),
    **dict.fromkeys(("STRING", "LONG_STRING"), "a string"),
    "DIRECTION": "`lower` or `higher`",
    "OBJECTIVE": "`minimize` or `maximize`",
    "COMPARE": "a comparison",
    **{word.upper(): f"`{word}`" for word in ("search", "first", "race")},
}
"""Descriptions of grammar terminals without a text of their own."""


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_DECLARATION = _set(
    "FROM FUNCTION IMPORT LAW METRIC OPERATION_WORD PARAM PARTIAL PROMPT SCHEME SCORE SIMULATE STUDY TEST"
    " TYPE"
)
_BLOCK = _set("FIRST FOREACH IF MATCH RACE REDUCE REPEAT RETURN SEARCH SKIP TRY")
_PROMPT_PART = _set("ASSISTANT EXAMPLES INSTRUCTION MESSAGES PARSE STOP SYSTEM TOOLS USER")
_CLAUSE = _set("DATA PROGRAM PROMPTS SCHEME SUBJECT VARY")
_STRING = _set("STRING LONG_STRING")
_EXPRESSION = _STRING | _set("NAME OPERATION INT FLOAT LSQB LPAR LBRACE TRUE FALSE NONE PLUS MINUS")
_OPERATORS = _set("PLUS MINUS STAR SLASH DOUBLE_SLASH PERCENT POWER COMPARE AND OR NOT IN IF DOT LSQB")
# A set that may follow as a whole is named once.
_GROUPS = (
    ("a declaration (`param`, `prompt`, `score`, `scheme`, ...)", _DECLARATION),
    ("a step such as `Generate(k=5) sort(part)`", _EXPRESSION | _BLOCK),
    ("a step, a block or an expression", _EXPRESSION | _BLOCK - {"RETURN", "SKIP"}),
    ("a setting, a string or another part of a prompt", _PROMPT_PART | _STRING | {"NAME"}),
    ("a clause of a study", _CLAUSE | {"OBJECTIVE", "NAME"}),
    ("an expression", _EXPRESSION),
    ('a case such as `Act {tool}:` or `"sure":`', _set("FALSE NONE TRUE STRING OPERATION")),
    ("a constant", _STRING | _set("INT FLOAT TRUE FALSE MINUS LSQB")),
    ("a type", _set("NAME OPERATION STRING LBRACE")),
)
_MOST = 6
# The possible starts of a line.
_OPENINGS = frozenset(
    {name.lower() for name in _DECLARATION | _BLOCK - {"FIRST", "RACE", "SEARCH"} | _PROMPT_PART | _CLAUSE}
    | {"elif", "else", "maximize", "minimize"}
)
_SETTING_WITHOUT = re.compile(r"(?:[a-z_]\w*[ \t]*=[ \t]*)?([A-Z]\w*)[ \t]+([a-z_]\w*)")
_SETTING_IN_CAPITALS = re.compile(r"(?:^|[ \t])[A-Z]\w*\((?:[^()]*,)?[ \t]*([A-Z]\w*)$")
_STEP_HEAD = re.compile(r"[ \t]*(?:[a-z_]\w*[ \t]*=[ \t]*)?(?!Repeat\b)[A-Z]\w*[ \t]*\(")
_OTHER_QUOTES = re.compile(r"[“‘'`]([^\"“”‘’'`\\\n]*)[”’'`]")
_VALUE = re.compile(r"=[ \t]*([\w.]+)")
_CLAUSE_WITHIN = re.compile(r",[ \t]*(data|maximize|minimize|program|prompts|subject|vary)\b")


def explain(error: UnexpectedInput, fragment: Fragment) -> tuple[Diagnostic, int]:
    """The diagnostic of a syntax error, and an offset in the line with the error."""
    from lark.exceptions import UnexpectedToken

    def problem(code: str, message: str, start: int, end: int, at: str, help: str | None) -> Diagnostic:
        return Diagnostic(code, message, fragment.span(start, end), at, help=help)

    text = fragment.text
    state: Any = error.interactive_parser
    wanted: set[str] = {terminal for terminal in state.accepts() if not terminal.startswith("LOST")}
    if isinstance(error, UnexpectedToken):
        terminal, met = error.token.type, str(error.token)
        start, end = error.token.start_pos or 0, error.token.end_pos or 0
    else:
        start = error.pos_in_stream or 0
        terminal, met, end = "", text[start], start + 1

    if wanted == {"_INDENT"}:
        # The end of the line that opens the block is the last token that the parser accepted.
        end = state.parser_state.value_stack[-1].start_pos
        help = "indent the lines of this block by four spaces"
        help += ", or write a value after `=`" if text[end - 1] == "=" else ""
        if _STEP_HEAD.match(text[text.rfind("\n", 0, end) + 1 : end]):
            help = "remove the `:`"
        found = problem("GOT0003", "expected an indented block", end - 1, end, "", help)
        gone = help == "remove the `:`" and text[end - 1] == ":"
        return replace(found, fix=Fix(found.span) if gone else None), end - 1
    if terminal == "_INDENT":
        # The place of an indentation is the line end before it.
        help = "align it with the line above, or end that line with `:`"
        return problem("GOT0003", "unexpected indentation", end, end_of_code(text, end), "", help), start
    if (word := misspelt_match(text, start)) is not None:
        help = "did you mean `match`?"
        found = problem("GOT0012", f"unexpected `{word[0]}`", *word.span(), "", help)
        return replace(found, fix=Fix(found.span, "match")), word.start()
    if terminal == "$END":
        start = max(0, len(text) - 1)
    if terminal in {"$END", "_NL", "_DEDENT"}:
        end = start + 1
    known = _literals()
    if "_NL" in wanted and wanted & _OPERATORS:
        wanted -= {"OPERATION"}  # a `Repeat(k)`, which is rarely meant
    at = f"expected {expected(wanted, known)}"
    hint = _hint(terminal, met, wanted, text, start, known)
    found = problem("GOT0001", _unexpected(terminal, met), start, end, at, hint)
    fix = _fix(hint or "", terminal, met, text, start)
    return replace(found, fix=fix and Fix(fragment.span(*fix[:2]), fix[2])), start


def _fix(hint: str, terminal: str, met: str, text: str, at: int) -> tuple[int, int, str] | None:
    """The edit for a hint, as offsets and replacement text; None if it is ambiguous."""
    if hint.startswith("the first line of a block ends with") and terminal == "_NL":
        return at, at, ":"
    if hint.startswith("remove the `:` after"):
        colon = text.rindex(":", 0, at)
        return colon, colon + 1, ""
    if hint.startswith(("write the text without", "settings are written without")):
        return at, at + len(met) + len(text[at + len(met) :]) - len(text[at + len(met) :].lstrip(" ")), ""
    if hint == "to compare, write `==`":
        return at, at + 1, "=="
    if hint.startswith("a comment starts") and text.startswith("//", at):
        return at, at + 2, "#"
    if hint.startswith("strings use") and (quoted := _OTHER_QUOTES.match(text, at)) is not None:
        return *quoted.span(), f'"{quoted[1]}"'
    told = re.fullmatch(r"(?:write|did you mean) `(\S+)`\??", hint)
    if told is None:
        return None
    if met in CAPITAL:
        return at, at + len(met), told[1]
    if met in _SIGNS:
        end = at + len(met) * (2 if text.startswith(met * 2, at) else 1)
        before, after = ("" if text[i : i + 1].isspace() else " " for i in (at - 1, end))
        return at, end, f"{before}{told[1]}{after}" if told[1].isalpha() else told[1]
    margin = text.rfind("\n", 0, at) + 1
    if met == "]" and (element := re.search(r"\w+\[ *$", text[margin:at])) is not None:
        return margin + element.start(), at + 1, told[1]
    if told[1] == "elif":
        return text.rindex("else", 0, at), at + len(met), told[1]
    first = re.compile(r" *(?:[a-z]\w* = )?([a-z]\w*)").match(text, margin)
    near = [(at, met), *([(first.start(1), first[1])] if first is not None else [])]
    start, word = max(near, key=lambda one: SequenceMatcher(None, one[1], told[1]).ratio())
    return start, start + len(word), told[1]


@cache
def _literals() -> dict[str, str]:
    """The text of each keyword and sign of the grammar by its terminal's name."""
    return {t.name: t.pattern.value for t in parser().terminals if t.pattern.type == "str"}


# ---------------------------------------------------------------- suggestions


def _hint(
    terminal: str, met: str, wanted: set[str], text: str, at: int, known: Mapping[str, str]
) -> str | None:
    """Advice, or None.

    `terminal` and `met` are the unexpected token, `wanted` the terminals that could have followed, `at` its
    offset in `text`, `known` the text of each keyword by its terminal.
    """
    before = text[text.rfind("\n", 0, at) + 1 : at].strip()
    opening = (before or met).split(maxsplit=1)[0] if (before or met).strip() else ""
    if met in CAPITAL:
        return f"write `{CAPITAL[met]}`"
    if met in _SIGNS and terminal in {"", "VBAR", "QMARK"}:
        return _SIGNS[met]
    if not terminal and met.isalpha():
        return "names have the letters `a` to `z` and `A` to `Z`, digits and underscores"
    if terminal == "OPERATION" and wanted == {"NAME"} and before.endswith("."):
        if text[at + len(met) : at + len(met) + 1] == "(":
            return "an operation is a step of its own: write it on a line before, `x = ...`"
        return f"fields start with a small letter; a case goes by its own name: `{met}`"
    if terminal == "OPERATION" and re.match(r"(?:prompt|score|scheme|function|metric)\b.*[(,]$", before):
        return f"names start with a small letter, such as `{met[0].lower()}{met[1:]}`"
    if terminal == "NAME" and (called := re.fullmatch(r"(?:\w+ = )?([a-z]\w*)\([^()]*\)", before)):
        return f"operations start with a capital: `{called[1][0].upper()}{called[1][1:]}(...)`"
    if met == "(" and re.fullmatch(r"return [A-Z]\w*", before):
        return "`return` gives a value: write the step first, `found = ...`, and then `return found`"
    if met == "decreases":
        return "write `decreases` before `within`"
    if text.startswith("study") and (clause := _CLAUSE_WITHIN.search(f"{before} {met}")) is not None:
        return f"start a new line with `{clause[1].replace('subject', 'subject to')}`"
    if before == "repeat until":
        return _PYTHON["while"]
    if (case := re.match(r"(?:\w+ = )?([A-Z]\w*) not in$", before)) is not None:
        return f"put it into parentheses: `({case[1]} not in ...)`"
    if met == "if" and before == "else":
        return "write `elif`"
    if re.search(r"[A-Z]\w*\([^()]*\):$", before):
        return "remove the `:` after the operation"
    openings = (*STATEMENTS, *BLOCKS) if re.match(r"\w+ [a-z]", before) else STATEMENTS
    if (meant := misspelt(opening, openings)) is not None and opening not in _OPENINGS:
        return f"did you mean `{meant}`?"
    if opening in _PYTHON and terminal != "_NL":
        return _PYTHON[opening]
    if met in {"=", ":"} and wanted <= _STRING:
        return f'write the text without `{met}`: `{before} "..."`'
    if met == "=":
        return _of_equal_sign(wanted, before, text[at:], text.startswith(("prompt", "study")))
    if terminal == "_NL":
        return _of_line_end(wanted, opening, before)
    if (instead := _of_expression(met, wanted, before)) is not None:
        return instead
    if met in {"//", "/"} and text[at : at + 2] in {"//", "/*"}:
        return "a comment starts with `#`"
    if terminal in {"STRING", "LONG_STRING"} and re.search(r"\b[fFrRbBuU]{1,2}$", before):
        return 'texts have no prefix: write `"..." + name`, or `"..." + str(name)` for other values'
    return (
        _of_declaration(met, wanted, opening)
        or _of_pattern(met, wanted, before)
        or _of_type(met, wanted, before)
        or _misspelt(terminal, met, [known[terminal] for terminal in wanted if terminal in known])
        or (_misspelt("NAME", opening, _OPENINGS) if re.fullmatch(r"[\w ]+", before) else None)
    )


def _of_equal_sign(wanted: set[str], before: str, rest: str, settings_without_sign: bool) -> str | None:
    value = _VALUE.match(rest)
    if settings := _SETTING_WITHOUT.fullmatch(before):
        return f"write settings in parentheses: `{settings[1]}({settings[2]}={value[1] if value else '...'})`"
    if (setting := _SETTING_IN_CAPITALS.search(before)) is not None:
        return f"settings are in lower case: `{setting[1].lower()}=`"
    if before.endswith(("+", "-", "*", "/")):
        return "a name cannot be reassigned: keep the changing value in the pool, `Map() it + 1`"
    if wanted == {"COMMA", "RPAR"} or (wanted == {"COLON"} and before.count("(") > before.count(")")):
        return "an input has no default: with the type `int?` it may be left out, and a `param` has one"
    if settings_without_sign and "INT" in wanted:
        return f"settings are written without `=` here: `{before} {value[1] if value else '...'}`"
    return "to compare, write `==`" if "COMPARE" in wanted else None


def _of_expression(met: str, wanted: set[str], before: str) -> str | None:
    """The equivalent of an expression of Python."""
    if met == "for" and "RSQB" in wanted and " for " in before:
        return "one list inside another: `flatten([[x + y for y in ys] for x in xs])`"
    if met == ":" and "RSQB" in wanted and re.search(r"\[[^\]]*:[^\]]*$", before):
        return "a slice has no step: write `[xs[i] for i in range(0, len(xs), 2)]`"
    if (met == "[" and {"RBRACE", "STRING"} <= wanted) or (
        met in {"(", "[", ".", "+", "for"} and wanted <= {"COLON", "COMMA", "RBRACE"} and "{" in before
    ):
        return "names of fields are constant: for others, write a list, `[{name: x, n: 1} for x in xs]`"
    return None


def _of_line_end(wanted: set[str], opening: str, before: str) -> str | None:
    if "COLON" not in wanted or "EQUAL" in wanted:
        return None
    if opening == "import":
        return f"name what to import: `{before}: name`"
    return "the first line of a block ends with `:`"


def _of_declaration(met: str, wanted: set[str], opening: str) -> str | None:
    if met == ":" and "ARROW" in wanted:
        if opening in {"score", "metric"}:
            return "after the inputs, write the direction: `-> lower` or `-> higher`"
        return "after the inputs, write the result type: `-> list[int]`"
    if opening in {"prompt", "scheme", "score", "metric"} and wanted == {"COLON"} and met in {",", ")"}:
        return "an input needs a type: `numbers: list[int]`"
    if opening == "param" and "EQUAL" in wanted and met == "in":
        return "a param needs a default: `param k = 3 in 1..5`"
    if opening == "param" and "INT" in wanted:
        return "a param's default and range must be constants"
    return None


def _of_type(met: str, wanted: set[str], before: str) -> str | None:
    """Advice about a type in the notation of another language."""
    if (element := re.search(r"(\w+)\[$", before)) is not None and met == "]":
        return f"write `list[{element[1]}]`"
    if met.startswith('"') and wanted == {"NAME", "RBRACE"}:
        return "fields have no quotes: `{name: str}`"
    if (met == "[" and before.endswith(("->", ":"))) or (met in {"or", "("} and "VBAR" in wanted):
        return 'one of a few texts is written `"yes" | "no"`'
    return None


def _of_pattern(met: str, wanted: set[str], before: str) -> str | None:
    """Advice about a branch of a `match` in another notation."""
    if met == "(" and {"LBRACE", "AS", "VBAR"} <= wanted:
        return f"write its fields in braces: `{before} {{name}}:`"
    if met == ":" and wanted == {"COMMA", "RBRACE"} and "{" in before and before[:1].isupper():
        case = before.partition("{")[0].strip()
        return f"list fields by their own names, `{case} {{name}}:`, or write `{case} as x:` and `x.name`"
    if before or not {"STRING", "OPERATION", "NONE"} <= wanted or "NAME" in wanted:
        return None
    if met[0].isdigit():
        return "a `match` distinguishes cases and texts: for numbers, write `if`, `elif` and `else`"
    own = {"_": "write `else:`", "else": "`else:` comes last", "case": 'write `"sure":`, without `case`'}
    return own.get(met, f'write `"{met}":` for a text; the name of a case starts with a capital')


def _misspelt(terminal: str, word: str, words: Iterable[str]) -> str | None:
    if terminal not in {"NAME", "OPERATION"} or word in _OPENINGS:
        return None
    words = [word for word in words if word.isalpha()]
    near = misspelt(word, words) or next(iter(get_close_matches(word.lower(), words, n=1, cutoff=0.76)), None)
    return f"did you mean `{near}`?" if near else None


def expected(terminals: Iterable[str], literals: Mapping[str, str]) -> str:
    """The terminals that may follow, as one phrase; `literals` has the text of keywords and signs."""
    left = set(terminals)
    groups: list[str] = []
    for phrase, members in _GROUPS:
        if members <= left:
            groups.append(phrase)
            left -= members
    last = ["an operator"] if left >= {"PLUS", "STAR"} else []
    if last:
        left -= _OPERATORS
    if groups:
        left -= {"NOT", "_NL", "$END"}
    named = {f"`{literals[t]}`" if t in literals else _NAMES[t] for t in left - {"_DEDENT"}}
    words = groups + sorted(named, key=lambda word: (not word.startswith("`"), word))
    if len(words) + len(last) > _MOST:
        words, last = words[: _MOST - 1 - len(last)], [*last, "something else"]
    words += last
    if not words:
        return _NAMES["_DEDENT"] if "_DEDENT" in terminals else "nothing"
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _unexpected(terminal: str, text: str) -> str:
    """The message about an unexpected token; an invalid character has no terminal."""
    if not terminal:
        return f"invalid character {_character(text)}"
    if terminal in {"_NL", "$END", "_DEDENT"}:
        return f"unexpected {_NAMES[terminal]}"
    first = text.split("\n", 1)[0]
    return f"unexpected `{text if len(text) <= 30 and first == text else first[:27] + '...'}`"


def _character(text: str) -> str:
    """A character, with its number and name where it could be confused with another one."""
    named = f"U+{ord(text):04X} {unicodedata.name(text, '')}".rstrip()
    if not text.isprintable() or text.isspace():
        return named
    return f"`{text}`" if text.isascii() else f"`{text}` ({named})"

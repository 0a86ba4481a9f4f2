"""Grammars in the form of llama.cpp (GBNF): what is wrong with one, before a server is asked."""

from __future__ import annotations

from gotlang.patterns import lazy_pattern

_TOKEN = lazy_pattern(
    r"""(?P<space>(?:\s|\#[^\n]*)+)|(?P<name>[a-zA-Z][\w-]*)(?P<rule>\s*::=)?|(?P<open>\()|(?P<close>\))"""
    r"""|"(?:\\.|[^"\\\n])*"|\[(?:\\.|[^\]\\\n])*\]|[|*+?.]|\{\d+(?:,\d*)?\}"""
)


def wrong_in_grammar(text: str) -> tuple[str, int] | None:
    """What is wrong with a grammar, and where, in characters from 0; None if it has rules, one of them
    `root`, and each rule that they name."""
    at, defined, used, opened = 0, set[str](), dict[str, int](), list[int]()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return f"`{text[at]}` is no part of a grammar here", at
        if found["rule"] or found["close"] or not (defined or found["space"]):
            if found["rule"] and opened:
                return "`(` without its `)`", opened[-1]
            if found["close"] and not opened:
                return "`)` without its `(`", at
            if not found["rule"] and not defined:
                return "a grammar begins with a rule: `root ::= ...`", at
        if found["rule"]:
            if found["name"] in defined:
                return f"a second rule `{found['name']}`", at
            defined.add(found["name"])
        elif found["name"]:
            used.setdefault(found["name"], at)
        elif found["open"]:
            opened.append(at)
        elif found["close"]:
            opened.pop()
        at = found.end()
    if opened:
        return "`(` without its `)`", opened[-1]
    missing = next((name for name in used if name not in defined), None)
    if missing is not None:
        return f"there is no rule `{missing}`", used[missing]
    return None if "root" in defined else ("there is no rule `root`, where a grammar starts", 0)

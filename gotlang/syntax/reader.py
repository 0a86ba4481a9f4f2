"""Parses texts by the tables that Lark makes of a grammar, without objects for tokens and trees.

One pattern finds the tokens of all states; where a keyword is not possible, its word is a name. A text that
cannot be parsed so is passed to Lark itself, which reports the error (`gotlang/syntax/parse.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, final

if TYPE_CHECKING:
    from lark import Lark

Token = tuple[str, str, int, int]
"""The kind of a token, its text, and its start and end."""

_Rule = tuple[int, str, str | None, bool, list[tuple[int, bool, int]] | None, int]
"""See `tables`."""

_OPENING, _CLOSING = frozenset({"LPAR", "LSQB", "LBRACE"}), frozenset({"RPAR", "RSQB", "RBRACE"})


class ValueBuilder(Protocol):
    """Builds values of tokens and rules."""

    def token(self, kind: str, text: str, start: int, end: int) -> Any:
        """The value of a token."""

    def rule(self, name: str, start: int, end: int, parts: list[Any]) -> Any:
        """The value of a rule, from those of its parts; None for a missing optional part."""


class Unreadable(Exception):
    """The text does not match the grammar. `place` is that of the unexpected token."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__("unreadable")
        self.place = start, end


def tables(lark: Lark) -> dict[str, Any]:
    """The parser's tables for a reader, as plain data.

    `states` have for each symbol the next state, or -1 - r if rule r ends. `rules` have their size and
    symbol; their name, or None if their values are their parent's; whether a single value replaces the rule;
    and, unless all parts are values, which are, with the number of optional ones that are missing before it
    and whether it has several values; and how many are missing at the end.
    """
    from lark.parse_tree_builder import maybe_create_child_filter

    frontend: Any = lark.parser
    table = frontend.parser._parse_table
    numbers = {rule: number for number, rule in enumerate(lark.rules)}
    rules = []
    for rule in lark.rules:
        options, origin = rule.options, str(rule.origin.name)
        kept: Any = maybe_create_child_filter(
            rule.expansion, options.keep_all_tokens, False, list(options.empty_indices)
        )
        parts, *missing = kept.args if kept is not None else (None,)
        name = None if origin.startswith("_") else rule.alias or origin
        single = options.expand1 and not rule.alias
        picked = [(*part, 0)[:3] for part in parts] if parts is not None else None
        rules.append((len(rule.expansion), origin, name, single, picked, *(missing or [0])))
    terminals = sorted(
        lark.terminals, key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name)
    )
    patterns = {terminal.name: terminal.pattern.to_regexp() for terminal in terminals}
    words = {t.pattern.value: t.name for t in terminals if re.fullmatch(r"\w+", t.pattern.value)}
    tokens = "|".join(
        f"(?P<{name}>{pattern})"
        for name, pattern in patterns.items()
        if name not in words.values() and name not in lark.ignore_tokens
    )
    ignored = "|".join(patterns[name] for name in lark.ignore_tokens)
    return {
        "pattern": f"(?:{ignored})*+(?:{tokens}|\\Z|(?P<unknown>[\\s\\S]))",
        "name": patterns["NAME"],
        "words": words,
        "rules": rules,
        "states": [
            {
                str(symbol): target if action.name == "Shift" else -1 - numbers[target]
                for symbol, (action, target) in table.states[number].items()
            }
            for number in range(len(table.states))
        ],
        "starts": {name: (state, table.end_states[name]) for name, state in table.start_states.items()},
    }


@final
class Reader:
    """Parses texts by their tables."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self._pattern, self._name = re.compile(tables["pattern"]), re.compile(tables["name"])
        self._words: dict[str, str] = tables["words"]
        self._rules: list[tuple[int, str, str | None, bool, list[tuple[int, bool, int]] | None, int]] = (
            tables["rules"]
        )
        self._states: list[dict[str, int]] = tables["states"]
        self._starts: dict[str, tuple[int, int]] = tables["starts"]
        self._jumps: dict[tuple[int, int, str], tuple[int, int | None]] = {}

    def tokens(self, text: str) -> Iterator[Token]:
        """The tokens of a text, including those of its indentation. Raises Unreadable."""
        words, columns, depth = self._words, [0], 0
        for found in self._pattern.finditer(text):
            kind = found.lastgroup
            if kind is None:
                break
            start, end = found.span(kind)
            if kind == "_NL":
                if depth:
                    continue
                start = found.start()  # with the blanks before it
                yield kind, "", start, end
                column = end - text.rindex("\n", 0, end) - 1
                if column > columns[-1]:
                    columns.append(column)
                    yield "_INDENT", "", start, end
                while column < columns[-1]:
                    columns.pop()
                    yield "_DEDENT", "", start, end
                if column != columns[-1]:
                    raise Unreadable(start, end)
                continue
            if kind in _OPENING:
                depth += 1
            elif kind in _CLOSING:
                depth -= 1
            word = text[start:end]
            yield words.get(word, kind), word, start, end
        yield "$END", "", len(text), len(text)

    def read(self, tokens: Iterable[Token], start: str, builder: ValueBuilder) -> Any:
        """The value of a text's tokens, which match the rule `start`. Raises Unreadable."""
        states, rules, jumps = self._states, self._rules, self._jumps
        token, rule = builder.token, builder.rule
        state, end_state = self._starts[start]
        stack, values, starts, ends = [state], list[Any](), list[int](), list[int]()
        for kind, text, begin, end in tokens:
            action = states[stack[-1]].get(kind)
            if action is None and self._name.fullmatch(text):
                kind = "NAME"
                action = states[stack[-1]].get(kind)
            while action is not None and action < 0:
                size, origin, name, single, picked, missing = rules[~action]
                if size == 1 and single and picked is None:
                    chain = stack[-2], stack[-1], kind
                    if (jump := jumps.get(chain)) is None:
                        jump = jumps[chain] = self._jump(*chain, end_state)
                    stack[-1], action = jump
                else:
                    at = len(values) - size
                    parts = values[at:]
                    place = (starts[at], ends[-1]) if size else (begin, begin)
                    del stack[at + 1 :], values[at:], starts[at:], ends[at:]
                    if picked is not None:
                        parts = _picked(parts, picked, missing)
                    if single and len(parts) == 1:
                        values.append(parts[0])
                    else:
                        values.append(parts if name is None else rule(name, *place, parts))
                    starts.append(place[0])
                    ends.append(place[1])
                    stack.append(states[stack[-1]][origin])
                    action = states[stack[-1]].get(kind)
                if stack[-1] == end_state and kind == "$END":
                    return values[-1]
            if action is None:
                break
            stack.append(action)
            values.append(token(kind, text, begin, end))
            starts.append(begin)
            ends.append(end)
        raise Unreadable(begin, end)

    def _jump(self, below: int, state: int, kind: str, end_state: int) -> tuple[int, int | None]:
        """The state and the action after a chain of rules that only pass a value on, as from one level of
        precedence to the next."""
        action: int | None = self._states[state][kind]
        while action is not None and action < 0:
            size, origin, _, single, picked, _ = self._rules[~action]
            if size != 1 or not single or picked is not None:
                break
            state = self._states[below][origin]
            if state == end_state and kind == "$END":
                break
            action = self._states[state].get(kind)
        return state, action


def _picked(parts: list[Any], picked: list[tuple[int, bool, int]], missing: int) -> list[Any]:
    """The values of a rule among those of its parts."""
    found: list[Any] = []
    for number, several, before in picked:
        if before:
            found += [None] * before
        if not several:
            found.append(parts[number])
        elif found:
            found += parts[number]
        else:
            found = parts[number]  # a long list grows in place
    if missing:
        found += [None] * missing
    return found

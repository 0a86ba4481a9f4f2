"""Well-typed programs, as in `typed_programs`, that also hedge, ask lines at once, let prompts use tools, use
the standard library, have operations and functions of their own, schemes that call themselves or each other
with less, and a scheme with a budget of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

from tests.support.typed_programs import (
    BOOL,
    INT,
    STR,
    Names,
    Pool,
    Prompt,
    TypedProgram,
    Writer,
    finished,
)

STD = {
    "cascade": "Cascade CascadeAtOnce",
    "debate": "debate mixture_of_agents",
    "refine": "SelfRefine",
    "search": "TreeSearch beam climb",
    "vote": "BestOf FilteredVote RankedVote SelfConsistency ValidVote WeightedVote self_consistency",
}
"""What is used of the standard library, by its modules."""
FURTHER = (
    Prompt("mend", (("value", STR), ("note", STR)), STR),
    Prompt("hear", (("question", STR), ("own", STR), ("all", ("list", STR))), STR),
    Prompt("blend", (("question", STR), ("others", ("list", STR))), STR),
    Prompt("seek", (("value", INT),), INT, tool="look_up"),
)
"""Prompts that only the statements below ask; `seek` may use a tool."""
SCHEMES = """\
score size(value: int) -> higher:
    value
scheme grow(value: int) -> many int:
    Generate(k=2) better(value)
operation Again(rounds: int = 2) ask: prompt, good: bool = false:
    Generate(k=rounds) ask
    Vote()
    repeat rounds until good:
        Generate() ask
function twice(value: int, more: int) -> int = value * 2 + more
scheme capped(value: int, rounds: int) -> int within 8 calls, 8 hops:
    Generate() better(value)
    repeat min(rounds, 3) until it > value:
        Generate() better(it)
"""


class NewerWriter(Writer):
    """Writes one program."""

    def declare_prompts(self) -> None:
        """The prompts, and schemes that tools, searches and statements call."""
        super().declare_prompts()
        declared = self.prompts
        self.prompts = []
        for prompt in FURTHER:
            self.add_prompt(prompt)
        at = next(i for i, line in enumerate(self.lines) if line.startswith("prompt seek("))
        self.lines[at + 1 : at + 1] = ["    tools look_up", f"    turns {self.pick(1, 2, 3)}"]
        self.prompts = declared
        for line in SCHEMES.splitlines():
            self.write(line)
        self.write("scheme look_up(word: str, value: int) -> int:")
        self.write(self.pick("    Generate() better(value)", "    Pool() len(word) + value"))
        self.write("scheme down(value: int, n: int) -> int decreases n:")
        self.write("    Generate() better(value)")
        self.write(self.pick("    if n > 1:", "    if n >= 2 and it < 4:"))
        for line in self.pick(
            ("down(it, n - 1)",),
            ("down(it + 1, n - 2)",),
            ("foreach x in [it, it + 1]:", "    down(x, n - 1)", "Vote()"),
        ):
            self.write("        " + line)
        less = self.pick(1, 2)
        self.write("scheme ping(value: int, n: int) -> int decreases n:")
        self.write("    Generate() better(value)")
        self.write(f"    if n >= {less}:")
        self.write(f"        pong(it, n - {less})")
        self.write("scheme pong(value: int, n: int) -> int decreases n:")
        self.write(self.pick("    Generate(k=2) better(value)", "    Pool() value, twice(value, 1)"))
        self.write("    Vote()")
        self.write("    if n > 0:")
        for line in self.pick(
            ("ping(it, n - 1)",), ("foreach x in [it, n]:", "    ping(x, n - 1)", "Vote()")
        ):
            self.write("        " + line)

    def settings(self, pool: Pool) -> tuple[str, bool, bool]:
        """Settings of a step that asks, now and then hedged."""
        text, one, logprobs = super().settings(pool)
        return (", ".join(filter(None, (text, "hedge=0.9"))) if self.chance(6) else text), one, logprobs

    def kinds(self, pool: Pool, names: Names, depth: int) -> list[Callable[[Pool, Names], Pool]]:
        """The statements to choose from."""
        further = [self.seek, self.down, self.own, *[self.vote_of, self.over_std] * 2] if pool.single else []
        return super().kinds(pool, names, depth) + further

    def first(self, pool: Pool, names: Names, depth: int) -> Pool:
        """A `first` or a `race`; some lines start at once."""
        at = len(self.lines)
        left = super().first(pool, names, depth)
        if len(self.lines) > at and self.lines[at].lstrip().startswith("first") and self.chance():
            self.lines[at] = f"{self.lines[at][:-1]}, at once:"
        return left

    def number(self, names: Names, pool: Pool) -> str:
        return self.expression(INT, names, pool, 1)

    def seek(self, pool: Pool, names: Names) -> Pool:
        if not self.spend():
            return pool
        k = self.pick("", "", "k=2")
        self.write(f"Generate({k}) seek({self.number(names, pool)})")
        return Pool(INT, k == "")

    def down(self, pool: Pool, names: Names) -> Pool:
        if not self.spend():
            return pool
        depth = self.pick("1", "3", "tries", f"min(3, {self.number(names, pool)})")
        scheme = self.pick("down", "ping", "pong")
        self.write(f"{scheme}({self.number(names, pool)}, {depth})")
        return Pool(INT)

    def own(self, pool: Pool, names: Names) -> Pool:
        """An operation of the program, or a scheme with a budget."""
        if not self.spend():
            return pool
        value = f"twice({self.number(names, pool)}, {self.number(names, pool)})"
        good = self.pick("", f", {self.expression(BOOL, names, Pool(INT), 1)}")
        self.write(
            self.pick(
                f"capped({value}, {self.number(names, pool)})",
                f"Again() better({value}){good}",
                f"Again(rounds=tries) better({value}){good}",
            )
        )
        return Pool(INT)

    def vote_of(self, pool: Pool, names: Names) -> Pool:
        """An operation of the library over a prompt, and what it takes of the new thoughts."""
        if not self.spend():
            return pool
        prompt = self.rng.choice([p for p in self.prompts if not p.many])
        new = Pool(prompt.result)
        name, wanted = self.pick(
            ("SelfConsistency(2)", None),
            ("BestOf(3)", INT),
            ("WeightedVote(k=tries)", INT),
            ("FilteredVote(4, kept=0.5)", INT),
            ("RankedVote(3)", INT),
            ("ValidVote(2)", BOOL),
            ("Cascade()", BOOL),
            ('CascadeAtOnce(small="tiny")', BOOL),
        )
        operands = [self.call(prompt, names, pool)]
        operands += [self.expression(wanted, names, new, 1)] if wanted is not None else []
        self.write(f"{name} {', '.join(operands)}")
        return Pool(prompt.result)

    def over_std(self, pool: Pool, names: Names) -> Pool:
        """A scheme of the library, or one of its operations that takes several prompts."""
        if not self.spend():
            return pool
        text, number = (self.expression(kind, names, pool, 1) for kind in (STR, INT))
        strategy = self.pick("uct", "beam", "best", "depth")
        until = self.pick("", f", {self.expression(BOOL, names, Pool(INT), 1)}")
        kind, lines = self.pick(
            (STR, [f"self_consistency({text}, clearer, k=2)"]),
            (STR, [f"debate({text}, clearer, hear, agents=2, rounds=tries)"]),
            (STR, [f"mixture_of_agents({text}, blend, agents=2)"]),
            (STR, [f"SelfRefine(2) clearer({text}), clearer(it), mend(it)"]),
            (INT, [f"beam({number}, better, size, width=2, depth=2, k=2)"]),
            (INT, [f"climb({number}, better, size, steps=tries, k=2)"]),
            (
                INT,
                [
                    f"Pool() {number}",
                    f'TreeSearch(2, levels=2, strategy="{strategy}") grow(it), size(it){until}',
                ],
            ),
        )
        for line in lines:
            self.write(line)
        return Pool(kind, True, "size" if lines[0].startswith(("beam", "climb")) else None)


def newer_program(seed: object) -> TypedProgram:
    """The program of a seed."""
    made = finished(NewerWriter(Random(str(seed)).random()), FURTHER)
    words = set(re.findall(r"\w+", made.text))
    imports = []
    for module, names in STD.items():
        if used := [name for name in names.split() if name in words]:
            imports.append(f"from std.{module} import {', '.join(used)}\n")
    return replace(made, text="".join(imports) + made.text)

"""Programs that run: well-typed, small, of every operation and block, with simulators for their prompts.

They compute nothing worth knowing. Values are numbers from 0 to 4 and lists of them, so that equal requests
are common; some answers cannot be read, so that thoughts fail. What a program asks in the worst case is
bounded (`MAX_CALLS`), and everything in it is a function of the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from hypothesis import strategies as st
from support.orders import compiled

from gotlang.api import Options
from gotlang.errors import RunError
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result

MAX_CALLS = 400
"""What one program may ask in the worst case."""

HEAD = """\
param tries = 2 in 1..3
param goal = 3 in 0..4
param deep = 1 in 0..2

prompt one(x: int) -> int:
    instruction "Give a number like this one."
    examples:
        x = 1 -> 2
        x = 4 -> 4
    "{{ x }}"
prompt same(x: int) -> int:
    temperature 0
    "{{ x }}"
prompt pair(x: int, y: int) -> int:
    instruction "{{ x }} goes first."
    "{{ x }} {{ y }}"
prompt spread(x: int) -> many int:
    "{{ x }}"
prompt three(x: int) -> many int:
    count 2 + 1
    "three of {{ x }}"
prompt listed(x: int) -> list[int]:
    "list {{ x }}"
prompt folded(xs: list[int]) -> int:
    "{{ xs }}"
prompt fussy(x: int) -> int:
    "fussy {{ x }}"
prompt good(x: int) -> bool:
    "good {{ x }}"
prompt rated(x: int) -> int:
    "rate {{ x }}"

score near(x: int) -> lower, best 0:
    abs(x - goal)
score above(x: int, y: int) -> higher, best 4:
    min(max(x - y, 0), 4)
score off(x: int, y: int) -> lower, best 0:
    abs(x - y)
score judged(x: int) -> higher:
    r = Generate(k=2) rated(x)
    unused = Generate() one(x)
    mean(r) + 1 - 1
"""


def _answer(rng: Random, x: int) -> str:
    return str((x + rng.randrange(3)) % 5)


REPEATS = (" Repeat(2, temperature=0.5)", " Repeat(2, seed=1)")
"""Repetitions that may stand after what is asked at temperature 0 too."""
SIMULATORS: Mapping[str, Callable[..., str]] = {
    "one": _answer,
    "same": _answer,
    "pair": lambda rng, x, y: str((x + y + rng.randrange(2)) % 5),
    "spread": lambda rng, x: str([(x + i) % 5 for i in range(1 + rng.randrange(3))]),
    "three": lambda rng, x: str([(x + rng.randrange(5)) % 5 for _ in range(3)]),
    "listed": lambda rng, x: str([(x + i) % 5 for i in range(rng.randrange(4))]),
    "folded": lambda rng, xs: str((sum(xs) + rng.randrange(2)) % 5),
    "fussy": lambda rng, x: "?" if rng.random() < 0.2 else _answer(rng, x),
    "good": lambda rng, x: rng.choice(["yes", "no"]),
    "rated": lambda rng, x: str((x + rng.randrange(3)) % 5),
}


@dataclass(frozen=True)
class Generated:
    """A program with its inputs; `run` runs it on its simulators."""

    text: str
    inputs: Mapping[str, Any] = field(default_factory=lambda: {"x": 1, "xs": [2, 0, 4]})

    def run(self, **options: Any) -> Result:
        """One run. Raises RunError where the program leaves no result."""
        options.setdefault("model", SimulatedModel(SIMULATORS))
        return compiled(self.text).run(self.inputs, truth=3, options=Options(**options))

    def try_run(self, **options: Any) -> Result | RunError:
        """One run; the error where there is no result."""
        try:
            return self.run(**options)
        except RunError as error:
            return error

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Pool:
    """What flows: nothing yet, numbers or lists of numbers; exactly one or at most `size`."""

    type: str = "none"
    single: bool = True
    scored: bool = False
    size: int = 1


@dataclass
class Scope:
    """Names by what they are worth in an expression, and those that may be pooled with their size."""

    values: dict[str, str]
    pools: dict[str, Pool] = field(default_factory=dict)

    def inside(self) -> Scope:
        return Scope(dict(self.values), dict(self.pools))

    def bind(self, name: str, pool: Pool) -> None:
        self.pools[name] = pool
        self.values[name] = pool.type if pool.single else f"list[{pool.type}]"


class Writer:
    """Writes the body of one scheme. `rest` is how many calls it may still ask, `times` how often what is
    written now runs in the worst case. `trying`: with steps that may fail, and ways to go on."""

    def __init__(
        self, draw: st.DrawFn, callable_schemes: Mapping[str, int], rest: int, trying: bool = False
    ) -> None:
        self.draw = draw
        self.trying = trying
        self.schemes = callable_schemes
        self.rest = rest
        self.times = 1
        self.lines: list[str] = []
        self.margin = 1
        self.names = 0
        self.bound_last: str | None = None

    # ---------------------------------------------------------------- choices

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, one_in: int = 2) -> bool:
        return self.draw(st.integers(0, one_in - 1)) == 0

    def write(self, line: str) -> None:
        self.lines.append("    " * self.margin + line)

    def fresh(self, scope: Scope) -> str:
        """A name; now and then one that an outer block has too."""
        self.names += 1
        return f"v{self.names}"

    def spend(self, calls: int) -> bool:
        """Whether so many calls, each time, are still allowed."""
        if calls * self.times > self.rest:
            return False
        self.rest -= calls * self.times
        return True

    # ---------------------------------------------------------------- expressions

    def number(self, scope: Scope, it: str | None = None, depth: int = 2) -> str:
        """An expression for a number from 0 to 4; `it` is the type of the current thought."""
        atoms = [str(n) for n in range(5)] + [
            "goal",
            "2 - 1",
            "(1 if 1 < 2 else 0)",
            "len([1, 2])",
            "min(7, 3)",
        ]
        atoms += [name for name, type_ in scope.values.items() if type_ == "int"] * 2
        lists = [name for name, type_ in scope.values.items() if type_ == "list[int]"]
        lists += ["it"] if it == "list[int]" else []
        atoms += [f"min(len({name}), 4)" for name in lists]
        atoms += [f"sum({name}) % 5" for name in lists]
        atoms += ["it"] * 4 if it == "int" else []
        if depth and self.chance(3):
            a, b = self.number(scope, it, depth - 1), self.number(scope, it, depth - 1)
            return str(self.pick(f"({a} + {b}) % 5", f"max({a}, {b})", f"({a} if {a} > {b} else {b})"))
        return str(self.draw(st.sampled_from(atoms)))

    def list(self, scope: Scope, it: str | None = None) -> str:
        """An expression for a list of at most 3 numbers."""
        names = [name for name, type_ in scope.values.items() if type_ == "list[int]"]
        names += ["it"] if it == "list[int]" else []
        a, b = self.number(scope, it, 1), self.number(scope, it, 1)
        options = [f"[{a}, {b}]", f"[{a}]", "range(3)", f"[(n + {a}) % 5 for n in [1, 2]]"]
        return str(self.draw(st.sampled_from([*options, *(f"{name}[:3]" for name in names)])))

    def condition(self, scope: Scope, it: str | None = None) -> str:
        a, b = self.number(scope, it, 1), self.number(scope, it, 1)
        options = ["true", "1 > 2", f"{a} > {b}", f"{a} != {b} and true", f"false or {a} == {b}", "deep > 0"]
        return str(self.draw(st.sampled_from(options)))

    def how_many(self) -> tuple[str, int]:
        return self.draw(st.sampled_from([("", 1), ("k=1", 1), ("k=2", 2), ("k=tries", 3), ("k=1 + 2", 3)]))

    # ---------------------------------------------------------------- pipelines

    def block(self, pool: Pool, scope: Scope, depth: int, *, least: int = 1) -> Pool:
        """Some statements."""
        before = len(self.lines)
        for _ in range(self.draw(st.integers(least, 3))):
            written, bound = len(self.lines), self.bound_last
            self.bound_last = None
            pool = self.statement(pool, scope, depth)
            if len(self.lines) == written:
                self.bound_last = bound
        if self.bound_last is not None:
            # A binding that ends a block would be what it leaves.
            self.write(f"Pool() {self.bound_last}")
            pool = scope.pools[self.bound_last]
            self.bound_last = None
        if least and len(self.lines) == before:
            self.write(f"Pool() {self.number(scope)}")
            pool = Pool("int")
        return pool

    def finish(self, pool: Pool, scope: Scope) -> Pool:
        """Statements that leave exactly one number."""
        if pool.type == "none":
            pool = self.generate(pool, scope, force=True)
        if pool.type == "list[int]":
            self.write("Map() sum(it) % 5")
            pool = replace(pool, type="int", scored=False)
        if not pool.single:
            if self.chance(3):
                self.write("Vote()")
            else:
                self.write(f"Score() {self.scorer(scope)}")
                self.write("KeepBestN(1)")
        return Pool("int", True, pool.scored)

    def statement(self, pool: Pool, scope: Scope, depth: int) -> Pool:
        """One statement; what it leaves."""
        kinds: list[Any] = [self.generate, self.best_of, self.best_of, self.values, self.bound]
        if self.schemes:
            kinds.append(self.invoke)
        if pool.type == "int":
            kinds += [self.improve, self.aggregate, self.score, self.filter, self.mend, self.map, self.vote]
        if depth:
            kinds += [self.foreach, self.foreach, self.if_, self.if_, self.labelled, self.again]
            kinds += [self.search, self.first]
            kinds += [self.try_] * 3 if self.trying else []
            if pool.type == "int":
                kinds += [self.repeat, self.repeat] if pool.single else [self.reduce] * 4
        kind = self.draw(st.sampled_from(kinds))
        blocks = (self.foreach, self.again, self.if_, self.labelled, self.repeat, self.reduce, self.try_)
        blocks += (self.search, self.first)
        if kind in (self.bound, *blocks):
            return kind(pool, scope, depth - 1)
        return kind(pool, scope)

    def generate(self, pool: Pool, scope: Scope, *, force: bool = False) -> Pool:
        setting, k = self.how_many()
        if not (self.spend(pool.size * k) and pool.size * k <= 12):
            setting, k = "", 1
            if not force and not self.spend(pool.size):
                return pool
        it = pool.type
        a = self.number(scope, it)
        call, type_, many = self.draw(
            st.sampled_from(
                [
                    (f"one({a})", "int", 1),
                    (f"one({a})", "int", 1),
                    (f"same({a})", "int", 1),
                    (f"fussy({a})", "int", 1),
                    (f"pair({a}, {self.number(scope, it)})", "int", 1),
                    (f"folded({self.list(scope, it)})", "int", 1),
                    (f"listed({a})", "list[int]", 1),
                    (f"spread({a})", "int", 3),
                    (f"three({a})", "int", 3),
                ]
            )
        )
        if many * pool.size * k > 12:
            call, type_, many = f"one({a})", "int", 1
        again = ""
        if many == 1 and self.chance(6) and pool.size * k * 2 <= 12 and self.spend(pool.size * k):
            cold = call.startswith("same")
            again, k = self.pick("" if cold else " Repeat(2)", *REPEATS) or REPEATS[0], k * 2
        until = ", until=it == goal" if type_ == "int" and k > 1 and not again and self.chance(5) else ""
        single = pool.single and many == 1 and setting in {"", "k=1"} and not again
        retries = ""
        if self.trying and "same" not in call and self.chance() and self.spend(pool.size * k * 2):
            retries = f"{', ' if setting else ''}retries={self.pick(1, 2)}"
        self.write(f"Generate({setting}{until if setting else ''}{retries}) {call}{again}")
        return Pool(type_, single, False, pool.size * k * many)

    def improve(self, pool: Pool, scope: Scope) -> Pool:
        setting, k = self.how_many()
        if pool.size * (1 + k) > 12 or not self.spend(pool.size * k):
            return pool
        keep = self.chance()
        settings = ", ".join(part for part in (setting, "keep=true" if keep else "") if part)
        self.write(
            f"Improve({settings}) {self.pick('one(it)', 'fussy(it)', f'pair(it, {self.number(scope)})')}"
        )
        single = pool.single and setting in {"", "k=1"} and not keep
        return Pool("int", single, False, pool.size * (1 + k))

    def aggregate(self, pool: Pool, scope: Scope) -> Pool:
        setting, k = self.how_many()
        if not self.spend(k):
            return pool
        self.write(f"Aggregate({setting}) folded(thoughts)")
        return Pool("int", setting in {"", "k=1"}, False, k)

    def best_of(self, pool: Pool, scope: Scope) -> Pool:
        """Samples of which only the best go on: what early stop is for. Sometimes they have a name, too."""
        if pool.size * 3 > 12 or not self.spend(pool.size * 3):
            return pool
        asked = self.pick("one", "fussy")
        improves = pool.type == "int" and self.chance()
        call = f"{asked}({'it' if improves else self.number(scope, pool.type)})"
        step = f"Improve(k=3{self.pick(', keep=true', '')}) {call}" if improves else f"Generate(k=3) {call}"
        self.write(step)
        if self.chance(4):
            name = self.fresh(scope)
            self.write(f"{name} = Pool() thoughts")
            scope.bind(name, Pool("int", False, False, pool.size * 4))
        self.write(f"Score() {self.pick('near(it)', f'off(it, {self.number(scope)})')}")
        n = self.pick("1", "1", "2", "1 + 1")
        self.write(f"KeepBestN({n})")
        return Pool("int", n == "1", True, 1 if n == "1" else 2)

    def scorer(self, scope: Scope) -> str:
        return str(
            self.pick("near(it)", "near(it)", f"above(it, {self.number(scope)})", "it", "1 * 2 - near(it)")
        )

    def score(self, pool: Pool, scope: Scope) -> Pool:
        if self.chance(4) and self.spend(pool.size * 3):
            self.write(f"Score({self.pick('', 'k=1')}) judged(it)")
        elif self.chance(5) and self.spend(pool.size * 2):
            self.write("Score(k=2) rated(it)")
        else:
            self.write(f"Score() {self.scorer(scope)}")
        if self.chance(3):
            return replace(pool, scored=True)
        n = self.pick("1", "1", "2", "tries")
        self.write(f"KeepBestN({n})")
        single = pool.single or n == "1"
        return Pool("int", single, True, 1 if single else min(pool.size, 3))

    def filter(self, pool: Pool, scope: Scope) -> Pool:
        if self.chance(3):
            if self.chance(3) and self.spend(pool.size):
                self.write("Validate() good(it)")
            else:
                self.write(f"Validate() {self.condition(scope, 'int')}")
            if self.chance():
                self.write("KeepValid()")
            return pool
        if self.chance(3):
            self.write(f"Select() {self.condition(scope, 'int')} or it >= 0")
            return pool
        positions = self.pick("[0]", "[-1, 0]")
        self.write(f"Select({positions})")
        return replace(pool, single=positions == "[0]", size=max(2, pool.size))

    def mend(self, pool: Pool, scope: Scope) -> Pool:
        tries = self.draw(st.integers(0, 2))
        judge, asked = self.pick((f"it == {self.number(scope)}", 1), ("good(it)", 2))
        if self.spend(pool.size * (tries + 1) * asked):
            self.write(f"ValidateAndImprove(tries={tries}) {judge}, {self.pick('one(it)', 'fussy(it)')}")
        return replace(pool, scored=False)

    def map(self, pool: Pool, scope: Scope) -> Pool:
        if self.trying and self.chance():
            self.write("Map() 4 // (it - x)")
            return replace(pool, scored=False)
        if self.chance(4):
            self.write(f"Map() {self.list(scope, 'int')}")
            return replace(pool, type="list[int]", scored=False)
        self.write(f"Map() {self.number(scope, 'int')}")
        return replace(pool, scored=False)

    def vote(self, pool: Pool, scope: Scope) -> Pool:
        self.write(self.pick("Vote()", f"Vote(weight={self.number(scope, 'int')} + 1)"))
        return Pool("int", True, pool.scored)

    def values(self, pool: Pool, scope: Scope) -> Pool:
        """`Pool()` of names and of a new value."""
        names = [name for name, bound in scope.pools.items() if bound.type == "int"]
        chosen = self.draw(st.lists(st.sampled_from(names), max_size=3)) if names else []
        operands = [*chosen, *([self.number(scope)] if not chosen or self.chance() else [])]
        pools = [scope.pools[name] for name in chosen] + [Pool("int")] * (len(operands) - len(chosen))
        self.write(f"Pool() {', '.join(operands)}")
        size = sum(bound.size for bound in pools)
        return Pool("int", len(pools) == 1 and pools[0].single, all(p.scored for p in pools), size)

    def bound(self, pool: Pool, scope: Scope, depth: int) -> Pool:
        """`name = ...`: the pool stays as it was."""
        name = self.fresh(scope)
        if self.chance(3):
            self.write(f"{name} = {self.number(scope, pool.type if pool.single else None)}")
            scope.bind(name, Pool("int"))
            self.bound_last = name
            return pool
        self.write(f"{name} =")
        inner = scope.inside()
        self.margin += 1
        found = self.block(pool, inner, max(depth, 0))
        found = self.generate(found, inner, force=True) if found.type == "none" else found
        self.margin -= 1
        scope.bind(name, found)
        self.bound_last = name
        return pool

    def invoke(self, pool: Pool, scope: Scope) -> Pool:
        name = self.draw(st.sampled_from(sorted(self.schemes)))
        if not self.spend(pool.size * self.schemes[name]):
            return pool
        arguments = [self.number(scope, pool.type)]
        if name == "deeper":
            arguments.append(self.pick("0", "1", "deep", "3 - 1"))
        times, again = 1, ""
        if self.chance(5) and pool.size * 2 <= 12 and self.spend(pool.size * self.schemes[name]):
            times, again = 2, self.pick(*REPEATS)
        self.write(f"{name}({', '.join(arguments)}){again}")
        return Pool("int", pool.single and times == 1, False, pool.size * times)

    # ---------------------------------------------------------------- blocks

    def many_times(self, times: int, write: Callable[[], Pool]) -> Pool:
        """A block that runs several times."""
        self.times *= times
        self.margin += 1
        found = write()
        self.margin -= 1
        self.times //= times
        return found

    def foreach(self, pool: Pool, scope: Scope, depth: int) -> Pool:
        element = self.fresh(scope)
        inner = scope.inside()
        over_pool = pool.type == "int" and not pool.single and self.chance()
        items = pool if over_pool else Pool("int", False, False, 3)
        if items.size * self.times > 60:
            return pool
        names = element
        inner.bind(element, Pool("int", True, items.scored))
        if self.chance(3):
            index = self.fresh(scope)
            names = f"{index}, {element}"
            inner.values[index] = "int"
            earlier = f"[n for n in [0, 1] if n < {index}]"
            after = f" after {self.pick(f'range({index})', f'[{index} - 1]', earlier)}"
        else:
            after = ""
        head = f"foreach {names}"
        if after or not over_pool:
            source = "thoughts" if over_pool else self.list(scope, pool.type if pool.single else None)
            head += f" in enumerate({source})" if after else f" in {source}"
        if after and self.chance():
            inner.values["len(done)"] = "int"
        self.write(f"{head}{after}:")

        def body() -> Pool:
            if self.trying and self.chance():
                self.write(f"if ({self.condition(inner, 'int')}) == (x < 9):")
                self.write("    skip")
            found = self.block(Pool("int", True, items.scored), inner, depth)
            return self.finish(found, inner) if self.chance() else found

        found = self.many_times(items.size, body)
        scope.bind(element, Pool(found.type, False, found.scored, items.size * found.size))
        return scope.pools[element]

    def reduce(self, pool: Pool, scope: Scope, depth: int) -> Pool:
        if pool.single or pool.size * self.times > 60:
            return pool
        a, b = self.fresh(scope), self.fresh(scope)
        inner = scope.inside()
        inner.bind(a, Pool("int", True, pool.scored))
        inner.bind(b, Pool("int", True, pool.scored))
        step = ""
        if self.chance():
            name = self.fresh(scope)
            step = f" as {name}"
            inner.values[f"{name}.level"] = "int"
            inner.values[f"(1 if {name}.last else 2)"] = "int"
        self.write(f"reduce {a}, {b}{step}:")

        def body() -> Pool:
            found = self.aggregate(Pool("int", False, pool.scored, 2), inner)
            return self.finish(self.block(found, inner, depth, least=0), inner)

        self.many_times(pool.size, body)
        return Pool("int", True, False)

    def repeat(self, pool: Pool, scope: Scope, depth: int) -> Pool:
        rounds, most = self.pick(("1 + 1", 2), ("tries", 3), ("goal", 4), ("2", 2), ("0 + deep", 2))
        if not pool.single or self.times > 20:
            return pool
        inner = scope.inside()
        counter = ""
        if self.chance():
            name = self.fresh(scope)
            counter = f" as {name}"
            inner.values[name] = "int"
        until = f" until {self.condition(inner, 'int')}" if self.chance() else ""
        self.write(f"repeat {rounds}{counter}{until}:")
        plain = replace(pool, scored=False)
        self.many_times(most, lambda: self.finish(self.block(plain, inner, depth), inner))
        return Pool("int", True, False)

    def again(self, pool: Pool, scope: Scope, depth: int) -> Pool:
        if self.times > 20 or pool.size > 4:
            return pool
        self.write(f"{self.pick(*REPEATS).strip()}:")
        self.margin += 1
        self.write("Generate() one(1)")
        self.margin -= 1
        start = replace(pool, type="int", scored=False)
        self.many_times(2, lambda: self.finish(self.block(start, scope.inside(), depth), scope.inside()))
        return Pool("int", False, False, 2)

    def search(self, pool: Pool, scope: Scope, depth: int) -> Pool:
        if self.times > 5:
            return pool
        state, inner = self.fresh(scope), scope.inside()
        inner.bind(state, Pool("int"))
        until = self.pick("", f" until {state} == goal", f" until score({state}) > 3")
        select = self.pick("best", "depth", "beam(2)", "uct(1.4)", "uct(goal) if deep > 0 else beam(tries)")
        more = self.pick("", ", parallel 2", ", depth 1 + 1", ", parallel tries, depth 3")
        root = self.number(scope, pool.type if pool.single else None)
        rollouts = self.pick("2", "tries", "1 + 2")
        self.write(f"search {state} from {root}{until}, rollouts {rollouts}, select {select}{more}:")
        self.margin += 1
        self.write("expand:")
        found = self.many_times(3, lambda: self._whole(Pool("int"), inner.inside(), depth))
        if self.chance(3):
            self.write("simulate:")
            self.many_times(3 * found.size, lambda: self._one(inner, depth))
        self.write("value:")

        def value() -> Pool:
            self._one(inner, depth)
            self.write(f"Score() {self.pick('it', f'off(it, {state})', 'near(it)')}")
            return Pool("int", True, True)

        self.many_times(3 * found.size, value)
        if self.chance():
            self.write(f"backup {self.pick('mean', 'max')}")
        self.margin -= 1
        return Pool("int", True, True)

    def _one(self, scope: Scope, depth: int) -> Pool:
        """A block that leaves exactly one number, from one."""
        inner = scope.inside()
        return self.finish(self.block(Pool("int"), inner, min(depth, 0)), inner)

    def first(self, pool: Pool, scope: Scope, depth: int) -> Pool:
        self.write(self.pick("first until it == goal:", "first until it > 1:", "first:"))
        self.margin += 1
        for _ in range(self.draw(st.integers(2, 3))):
            self.names += 1
            self.write(f"line {self.names}:")
            inner = scope.inside()
            self.many_times(1, lambda: self.finish(self.block(pool, inner, depth), inner))  # noqa: B023
        self.margin -= 1
        return Pool("int", True, False)

    def if_(self, pool: Pool, scope: Scope, depth: int) -> Pool:
        it = pool.type if pool.single and pool.type == "int" else None
        self.write(f"if ({self.condition(scope, it)}) == (x < 9):")
        results = [self.many_times(1, lambda: self._whole(pool, scope.inside(), depth))]
        if self.chance(3):
            self.write(f"elif ({self.condition(scope, it)}) == (x < 8):")
            results.append(self.many_times(1, lambda: self._whole(pool, scope.inside(), depth)))
        if pool.type != "int" or self.chance():
            self.write("else:")
            results.append(self.many_times(1, lambda: self._whole(pool, scope.inside(), depth)))
        else:
            results.append(pool)
        single, scored = all(p.single for p in results), all(p.scored for p in results)
        return Pool("int", single, scored, max(p.size for p in results))

    def try_(self, pool: Pool, scope: Scope, depth: int) -> Pool:
        name = self.fresh(scope) if self.chance(3) else ""
        self.write(f"{name} = try:" if name else "try:")
        found = self.many_times(1, lambda: self._whole(pool, scope.inside(), depth))
        self.write("else:")
        if name and self.chance():
            self.write("    skip")
            self.write(f"Pool() {name}, {self.number(scope)}")
            return Pool("int", False, False, found.size + 1)
        other = self.many_times(1, lambda: self._whole(pool, scope.inside(), depth))
        both = Pool(
            "int",
            found.single and other.single,
            found.scored and other.scored,
            max(found.size, other.size),
        )
        if name:
            scope.bind(name, both)
            self.bound_last = name
            return pool
        return both

    def _whole(self, pool: Pool, scope: Scope, depth: int) -> Pool:
        """A block that leaves numbers."""
        found = self.block(pool, scope, depth)
        return found if found.type == "int" else self.finish(found, scope)

    def labelled(self, pool: Pool, scope: Scope, depth: int) -> Pool:
        self.names += 1
        inner = scope.inside()
        names = [name for name, bound in scope.pools.items() if bound.type == "int"]
        start = pool
        label = f"stage {self.names}"
        if names and self.chance():
            chosen = self.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2))
            inside = [self.fresh(scope) for _ in chosen]
            for name, source in zip(inside, chosen, strict=True):
                inner.bind(name, scope.pools[source])
            label += f" from {', '.join(chosen)} as {', '.join(inside)}"
            pools = [scope.pools[name] for name in chosen]
            size = sum(bound.size for bound in pools)
            start = Pool("int", len(pools) == 1 and pools[0].single, all(p.scored for p in pools), size)
        self.write(f"{label}:")
        return self.many_times(1, lambda: self.block(start, inner, depth))


@st.composite
def programs(draw: st.DrawFn, trying: bool = False) -> Generated:
    """A program of up to three schemes, of which the last is run; `trying`: with `try`, `skip`, retries."""
    parts = [HEAD]
    schemes: dict[str, int] = {}
    for name, signature in (("helper", "x: int"), ("deeper", "x: int, depth: int")):
        if not draw(st.booleans()):
            continue
        writer = Writer(draw, {}, 6, trying)
        scope = Scope({"x": "int"})
        if name == "deeper":
            scope.values["depth"] = "int"
            writer.write("if depth > 0:")
            writer.margin = 2
            writer.finish(writer.block(Pool(), scope.inside(), 0), scope)
            writer.write("deeper(it, depth - 1)")
            writer.margin = 1
            writer.write("else:")
            writer.margin = 2
        writer.finish(writer.block(Pool(), scope, 1), scope)
        parts.append(f"scheme {name}({signature}) -> int:\n" + "\n".join(writer.lines) + "\n")
        schemes[name] = 8 if name == "helper" else 24
    writer = Writer(draw, schemes, MAX_CALLS, trying)
    scope = Scope({"x": "int", "xs": "list[int]"})
    pool = writer.block(Pool(), scope, 2, least=2)
    writer.finish(pool, scope)
    if draw(st.booleans()):
        writer.write("GroundTruth() it == truth")
    parts.append("scheme main(x: int, xs: list[int]) -> int:\n" + "\n".join(writer.lines) + "\n")
    return Generated("\n".join(parts))

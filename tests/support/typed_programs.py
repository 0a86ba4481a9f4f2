"""Well-typed programs over the whole language, with a simulator for each prompt.

A program is a function of its seed. It is meant to pass the check, and a run of it may fail only by what data
and models give: an empty list, a step that leaves nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

Kind = tuple[Any, ...]
"""A type: ("int",), ("lit",), ("list", T), ("dict", T), ("opt", T), ("rec", name), ("alt", name)."""

INT, FLOAT, STR, BOOL, LIT = ("int",), ("float",), ("str",), ("bool",), ("lit",)
SIMPLE = (INT, FLOAT, STR, BOOL)
WORDS = ("sure", "likely", "never")
TEXTS = ("", "a", "b c", "a,b", "x <1>")

_PARTS: Mapping[str, Kind] = {
    "int": INT,
    "float": FLOAT,
    "str": STR,
    "bool": BOOL,
    "lit": LIT,
    "ints": ("list", INT),
    "strs": ("list", STR),
    "counts": ("dict", INT),
}
"""The values of the placeholders below."""


def _options(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


_INTS = _options("""
    ({int} + {int})
    ({int} - {int})
    max({int}, {int})
    len({str})
    sum({ints})
    abs({int})
    ({int} % 5)
    round({float})
    count({ints}, {int})
    ({int} // 2)
    -{int}
    ({ints} + [1])[0]
    descents({ints})
""")
_FLOATS = _options("""
    ({float} + {int})
    ({int} / 2)
    mean([{float}, {int}])
    {int}
    pi
    max({int}, {float})
    sqrt(abs({float}))
    ({float} * 2)
""")
_STRS = _options("""
    ({str} + {str})
    upper({str})
    str({int})
    join({strs}, ", ")
    strip({str})
    {lit}
    replace({str}, "a", {str})
    {str}[:2]
""")
_BOOLS = _options("""
    ({int} == {int})
    ({str} + "" == {str})
    ({int} < {float})
    (not {bool})
    ({bool} and {bool})
    ({bool} or {bool})
    ({int} in {ints})
    starts_with({str}, {str})
    any([{bool}])
    ({str} + "" == {lit})
    ({str} not in {strs})
""")
_LISTS = _options("""
    [{inner}, {inner}]
    ({same} + {same})
    {same}[:2]
    reversed({same})
    unique({same})
    ({same} + [])
    [{e} for {e} in {same} if {bool}]
    [{inner} for {e} in {ints}]
    concat({same}, {same})
    flatten([{same}])
    [{e} for {i}, {e} in enumerate({same})]
""")
_ORDERED = ["sorted({same})", "set({same})"]
_INT_LISTS = ["range(3)", "[{e} + 1 for {e} in {same}]", "[{e} for {e}, {i} in zip({same}, {same})]"]
_STR_LISTS = ['split({str}, ",")', "lines({str})", "keys({counts})"]


@dataclass
class Declared:
    """The types of a program: fields of records, and the cases of alternatives with theirs."""

    records: dict[str, dict[str, Kind]] = field(default_factory=dict)
    cases: dict[str, dict[str, dict[str, Kind]]] = field(default_factory=dict)

    def text(self, kind: Kind) -> str:
        """A type as a program writes it."""
        match kind:
            case ("list", inner):
                return f"list[{self.text(inner)}]"
            case ("dict", inner):
                return f"dict[str, {self.text(inner)}]"
            case ("opt", inner):
                return f"{self.text(inner)}?"
            case ("lit",):
                return "Mood"
            case (_, name):
                return str(name)
        return str(kind[0])

    def value(self, rng: Random, kind: Kind, depth: int = 3) -> Any:
        """A value of a type, as JSON has it."""
        match kind:
            case ("int",):
                return rng.randint(0, 4)
            case ("float",):
                return rng.choice([0.0, 0.5, 1.5, 3.0])
            case ("str",):
                return rng.choice(TEXTS[1:])
            case ("bool",):
                return rng.random() < 0.5
            case ("lit",):
                return rng.choice(WORDS)
            case ("opt", inner):
                return None if rng.random() < 0.4 else self.value(rng, inner, depth)
            case ("list", inner):
                count = rng.choice([0, 1, 2, 3]) if depth > 0 else 0
                return [self.value(rng, inner, depth - 1) for _ in range(count)]
            case ("dict", inner):
                return {
                    name: self.value(rng, inner, depth - 1) for name in rng.sample("abc", rng.randint(0, 2))
                }
            case ("rec", name):
                return {n: self.value(rng, k, depth - 1) for n, k in self.records[name].items()}
            case ("alt", name):
                case_ = rng.choice(list(self.cases[name]))
                fields = self.cases[name][case_]
                return {"type": case_} | {n: self.value(rng, k, depth - 1) for n, k in fields.items()}
        raise AssertionError(kind)


@dataclass(frozen=True)
class Prompt:
    """A prompt: the types of its inputs and of its result. `tool` is a scheme that it may call, which takes a
    text and a number."""

    name: str
    inputs: tuple[tuple[str, Kind], ...]
    result: Kind
    many: bool = False
    tool: str | None = None

    def takes(self, kind: Kind) -> bool:
        """Whether an input has a type."""
        return any(own == kind for _, own in self.inputs)


@dataclass(frozen=True)
class ScoreDeclaration:
    """A score of one value; `asks` a model or not."""

    name: str
    of: Kind
    lower: bool
    asks: bool


@dataclass(frozen=True)
class Scheme:
    """A scheme that others call."""

    name: str
    inputs: tuple[tuple[str, Kind], ...]
    result: Kind


@dataclass(frozen=True)
class Pool:
    """What flows. `kind` None: nothing yet."""

    kind: Kind | None = None
    single: bool = True
    score: str | None = None
    lower: bool = False
    validated: bool = False
    logprobs: bool = False

    def plain(self, kind: Kind, *, single: bool | None = None) -> Pool:
        """New thoughts, of which nothing is known."""
        return Pool(kind, self.single if single is None else single)


@dataclass
class Names:
    """Values in scope by name, and bound thoughts."""

    values: dict[str, Kind] = field(default_factory=dict)
    pools: dict[str, Pool] = field(default_factory=dict)

    def inside(self) -> Names:
        return Names(dict(self.values), dict(self.pools))


@dataclass(frozen=True)
class TypedProgram:
    """A program with its inputs and the results of its prompts."""

    text: str
    inputs: Mapping[str, Any]
    prompts: tuple[Prompt, ...]
    types: Declared

    def simulators(self) -> dict[str, Callable[..., str]]:
        """For each prompt a simulator that gives a value of its result's type."""
        return {prompt.name: self._simulator(prompt) for prompt in self.prompts}

    def _simulator(self, prompt: Prompt) -> Callable[..., str]:
        def simulate(rng: Random, **_inputs: Any) -> str:
            if prompt.tool is not None and rng.random() < 0.4:
                call = f'Call: {prompt.tool} {{"word": "a", "value": %s}}'
                return "\n".join(call % number for number in range(rng.choice((1, 2, 9))))
            if prompt.many:
                return json.dumps([self.types.value(rng, prompt.result) for _ in range(rng.randint(1, 2))])
            value = self.types.value(rng, prompt.result)
            return value if isinstance(value, str) else json.dumps(value)

        return simulate


class Writer:
    """Writes one program."""

    def __init__(self, seed: object) -> None:
        self.rng = Random(str(seed))
        self.types = Declared()
        self.lines: list[str] = []
        self.margin = 0
        self.count = 0
        self.prompts: list[Prompt] = []
        self.scores: list[ScoreDeclaration] = []
        self.schemes: list[Scheme] = []
        self.budget = 0

    # ---------------------------------------------------------------- choices

    def pick(self, *options: Any) -> Any:
        return self.rng.choice(options)

    def chance(self, one_in: int = 2) -> bool:
        return self.rng.randrange(one_in) == 0

    def fresh(self, word: str = "v") -> str:
        self.count += 1
        return f"{word}{self.count}"

    def write(self, line: str) -> None:
        self.lines.append("    " * self.margin + line)

    def kind(self, depth: int = 2) -> Kind:
        """A type that a prompt may give."""
        options: list[Callable[[], Kind]] = [
            lambda: INT,
            lambda: INT,
            lambda: STR,
            lambda: FLOAT,
            lambda: BOOL,
        ]
        options += [lambda: LIT, *(lambda name=name: ("rec", name) for name in self.types.records)]
        options += [(lambda name=name: ("alt", name)) for name in self.types.cases]
        if depth:
            options += [lambda: ("list", self.kind(depth - 1))] * 3
            options += [lambda: ("dict", self.kind(0)), lambda: ("opt", self.pick(INT, STR))]
        return self.rng.choice(options)()

    # ---------------------------------------------------------------- expressions

    def expression(self, kind: Kind, names: Names, pool: Pool, depth: int = 2) -> str:
        """An expression of a type. `it` is used where the pool has a type."""
        here = dict(names.values)
        for name, bound in names.pools.items():
            assert bound.kind is not None
            here[name] = bound.kind if bound.single else ("list", bound.kind)
        if pool.kind is not None:
            here["it"] = pool.kind
        same = [name for name, known in here.items() if known == kind]
        if "it" in same and self.chance():
            return "it"
        if same and not self.chance(3):
            return str(self.rng.choice(same))
        if depth and self.chance(3):
            held = [name for name, known in here.items() if known == ("list", kind)]
            if held:
                name = self.rng.choice(held)
                return self.pick(
                    f"({name}[0] if len({name}) > 0 else {self.leaf(kind)})",
                    f"{name}[0]",
                    f"{name}[-1]",
                    f"({name} + [{self.leaf(kind)}])[0]",
                )
            optional = [name for name, known in here.items() if known == ("opt", kind)]
            if optional:
                name = self.rng.choice(optional)
                return f"({name} if {name} != none else {self.leaf(kind)})"
            mapped = [name for name, known in here.items() if known == ("dict", kind)]
            if mapped:
                return f'get({self.rng.choice(mapped)}, "a", {self.leaf(kind)})'
            for name, known in here.items():
                if known[0] == "rec" and kind in self.types.records[known[1]].values():
                    fields = [n for n, k in self.types.records[known[1]].items() if k == kind]
                    return f"{name}.{self.rng.choice(fields)}"
        if depth == 0:
            return self.near(kind, here)
        return self.made(kind, lambda k: self.expression(k, names, pool, depth - 1), here)

    def near(self, kind: Kind, here: Mapping[str, Kind]) -> str:
        """A small expression of a type that depends on what flows, where anything fits."""
        names = list(here)
        self.rng.shuffle(names)
        for name in names:
            known = here[name]
            if known == kind:
                return name
            match kind, known:
                case ("int",), ("str",) | ("list", _):
                    return f"len({name})"
                case ("float",), ("int",):
                    return name
                case ("str",), ("int",) | ("float",) | ("bool",):
                    return f"str({name})"
                case ("str",), ("lit",):
                    return name
                case ("bool",), ("int",) | ("float",):
                    return f"({name} > 1)"
                case ("bool",), ("opt", _):
                    return f"({name} == none)"
                case (_, ("list", inner)) if inner == kind:
                    return f"{name}[0]"
        if kind[0] == "list" and not self.chance(4):
            return f"[{self.near(kind[1], here)}]"
        return self.leaf(kind)

    def outside(self, kind: Kind, names: Names, pool: Pool, depth: int = 2) -> str:
        """An expression where `it` is known only if there is one thought."""
        return self.expression(kind, names, pool if pool.single else Pool(), depth)

    def leaf(self, kind: Kind) -> str:
        """A constant of a type."""
        match kind:
            case ("list", inner):
                return self.pick(f"[{self.leaf(inner)}]", f"[{self.leaf(inner)}, {self.leaf(inner)}]")
            case ("dict", inner):
                return f"{{a: {self.leaf(inner)}, b: {self.leaf(inner)}}}"
            case ("opt", inner):
                return self.leaf(inner)
            case ("rec", name):
                return (
                    "{"
                    + ", ".join(f"{n}: {self.empty(k)}" for n, k in self.types.records[name].items())
                    + "}"
                )
            case ("alt", name):
                case_ = self.rng.choice(list(self.types.cases[name]))
                fields = self.types.cases[name][case_]
                return (
                    f"{case_} {{" + ", ".join(f"{n}: {self.leaf(k)}" for n, k in fields.items()) + "}"
                    if fields
                    else case_
                )
        value = self.types.value(self.rng, kind)
        return json.dumps(value)

    def empty(self, kind: Kind) -> str:
        """A constant of a type in a record: now and then an empty list, or none."""
        if kind[0] == "list" and (self.chance() or kind[1][0] == "rec"):
            return "[]"
        if kind[0] == "opt" and self.chance():
            return "none"
        return self.leaf(kind)

    def made(self, kind: Kind, part: Callable[[Kind], str], here: Mapping[str, Kind]) -> str:
        """A compound expression of a type; `part` writes what it is made of."""
        some = ["({same} if {bool} else {same})"]
        inner: Kind = kind
        element = ""
        match kind:
            case ("int",):
                options = [*some, *_INTS, *(f"len({n})" for n, k in here.items() if k[0] == "list")]
            case ("float",):
                options = [*some, *_FLOATS]
            case ("str",):
                options = [*some, *_STRS]
            case ("bool",):
                options = [*_BOOLS, *(f"({n} != none)" for n, k in here.items() if k[0] == "opt")]
            case ("lit",):
                options = some
            case ("list", inner):
                element = self.fresh("e")
                options = [*some, *_LISTS]
                options += _ORDERED if inner in (INT, STR, FLOAT) else []
                options += _INT_LISTS if inner == INT else _STR_LISTS if inner == STR else []
            case ("dict", inner):
                options = [*some, "{a: {inner}, b: {inner}}"]
            case ("opt", inner):
                options = ["{inner}", "({inner} if {bool} else none)"]
            case ("rec", name):
                fields = self.types.records[name]
                changed = self.rng.choice(list(fields))
                held = [n for n, k in here.items() if k == kind]
                if held and self.chance():
                    return f"{{...{self.rng.choice(held)}, {changed}: {part(fields[changed])}}}"
                return "{" + ", ".join(f"{n}: {part(k)}" for n, k in fields.items()) + "}"
            case ("alt", name):
                case_ = self.rng.choice(list(self.types.cases[name]))
                fields = self.types.cases[name][case_]
                inside = ", ".join(f"{n}: {part(k)}" for n, k in fields.items())
                return f"{case_} {{{inside}}}" if fields else case_
            case _:
                raise AssertionError(kind)
        text = str(self.rng.choice(options))
        known = {**_PARTS, "same": kind, "inner": inner}

        def written(found: re.Match[str]) -> str:
            word = found[1]
            return element if word == "e" else self.fresh("i") if word == "i" else part(known[word])

        return re.sub(r"\{(\w+)\}", written, text)

    # ---------------------------------------------------------------- declarations

    def template(self, name: str, kind: Kind) -> str:
        """What a prompt's text shows of an input."""
        whole = f"{{{{ {name} }}}}"
        match kind:
            case ("int",) | ("float",):
                return self.pick(whole, f"{{{{ {name} + 1 }}}}", f"{{% if {name} > 1 %}}many{{% endif %}}")
            case ("str",):
                return self.pick(whole, f"{{{{ {name} | upper }}}}", f"{{{{ {name} | length }}}}")
            case ("bool",):
                return f"{{% if {name} %}}yes{{% else %}}no{{% endif %}}"
            case ("list", _):
                return self.pick(
                    whole,
                    f"{{% for e in {name} %}}{{{{ loop.index }}}}: {{{{ e }}}} {{% endfor %}}",
                    f"{{{{ {name} | length }}}}",
                )
            case ("rec", record):
                return self.pick(
                    whole, f"{{{{ {name}.{self.rng.choice(list(self.types.records[record]))} }}}}"
                )
            case ("opt", _):
                return self.pick(whole, f"{{% if {name} != none %}}{{{{ {name} }}}}{{% endif %}}")
        return whole

    def declare_types(self) -> None:
        self.write('type Mood = "sure" | "likely" | "never"')
        for name in self.rng.sample(["State", "Item"], self.rng.randint(1, 2)):
            fields = {
                n: self.pick(INT, STR, ("list", INT), ("list", STR), ("opt", STR), BOOL)
                for n in self.rng.sample(["a", "b", "c", "d"], 2)
            }
            if self.types.records and self.chance(3):
                fields["inner"] = ("rec", next(iter(self.types.records)))
            self.types.records[name] = fields
            self.write(
                f"type {name} = {{" + ", ".join(f"{n}: {self.types.text(k)}" for n, k in fields.items()) + "}"
            )
        if self.chance(3):
            self.types.records["Node"] = {"text": STR, "children": ("list", ("rec", "Node"))}
            self.write("type Node = {text: str, children: list[Node]}")
        if self.chance():
            self.types.cases["Action"] = {
                "Act": {"tool": STR, "n": INT},
                "Finish": {"answer": STR},
                "Stop": {},
            }
            self.write("type Action = Act {tool: str, n: int} | Finish {answer: str} | Stop")

    def declare_prompts(self) -> None:
        for _ in range(self.rng.randint(3, 5)):
            inputs = tuple((self.fresh("p"), self.kind(1)) for _ in range(self.rng.randint(1, 2)))
            prompt = Prompt(self.fresh("ask"), inputs, self.kind(), self.chance(4))
            self.add_prompt(prompt)
        self.add_prompt(Prompt("better", (("value", INT),), INT))
        self.add_prompt(Prompt("clearer", (("value", STR),), STR))
        self.add_prompt(Prompt("judge", (("value", INT),), BOOL))
        self.add_prompt(Prompt("rate", (("value", INT),), FLOAT))

    def add_prompt(self, prompt: Prompt) -> None:
        self.prompts.append(prompt)
        inputs = ", ".join(f"{n}: {self.types.text(k)}" for n, k in prompt.inputs)
        result = f"{'many ' if prompt.many else ''}{self.types.text(prompt.result)}"
        self.write(f"prompt {prompt.name}({inputs}) -> {result}:")
        for setting in ("temperature 0.5", "max_tokens 200", "share true", "retries 1", 'system "Be brief."'):
            if self.chance(6):
                self.write("    " + setting)
        # Its name is in the text: equal requests may share a sample, whichever prompt they are of.
        self.write(f'    "{prompt.name} ' + " ".join(self.template(n, k) for n, k in prompt.inputs) + '"')

    def declare_scores(self) -> None:
        for _ in range(self.rng.randint(1, 3)):
            of, lower, asks = self.pick(INT, INT, STR, ("list", INT)), self.chance(), self.chance(3)
            score = ScoreDeclaration(self.fresh("metric"), of, lower, asks)
            names = Names({"value": of, "tries": INT, "goal": INT})
            best = ", best 0" if lower and self.chance() else ""
            self.write(
                f"score {score.name}(value: {self.types.text(of)}) -> {'lower' if lower else 'higher'}{best}:"
            )
            if asks:
                self.write("    rated = Generate(k=2) rate(1)")
            body = self.expression(self.pick(INT, FLOAT), names, Pool(), 2)
            body = f"{body} + mean(rated)" if asks else body
            self.write(f"    {f'abs({body})' if best else body}")
            self.scores.append(score)

    def declare_metric(self, main: Scheme) -> None:
        """A metric of the result, the known answer and an input."""
        taken = {"value": main.result, "truth": main.result, **dict(main.inputs[:1])}
        inputs = ", ".join(f"{name}: {self.types.text(kind)}" for name, kind in taken.items())
        self.write(f"metric measured({inputs}) -> {self.pick('lower', 'higher, failed 0')}:")
        names = Names({**taken, "tries": INT, "goal": INT})
        self.write(f"    {self.expression(self.pick(INT, FLOAT, BOOL), names, Pool(), 2)}")

    # ---------------------------------------------------------------- statements

    def call(self, callee: Prompt | Scheme, names: Names, pool: Pool) -> str:
        arguments = [self.expression(kind, names, pool) for _, kind in callee.inputs]
        return f"{callee.name}({', '.join(arguments)})"

    def settings(self, pool: Pool) -> tuple[str, bool, bool]:
        """Settings of a step that asks, whether it leaves one thought, and whether with log-probabilities."""
        k = self.pick("", "", "k=2", "k=tries", "k=1 + 1")
        logprobs = self.chance(6)
        parts = [
            part
            for part in (
                k,
                "logprobs=true" if logprobs else "",
                self.pick("", "", "", "temperature=0.7", "timeout=60", "retries=1"),
            )
            if part
        ]
        return ", ".join(parts), k == "", logprobs

    def spend(self) -> bool:
        self.budget -= 1
        return self.budget >= 0

    def body(self, pool: Pool, names: Names, depth: int, statements: int) -> Pool:
        """Some statements; what they leave."""
        for _ in range(statements):
            pool = self.statement(pool, names, depth)
        return pool

    def statement(self, pool: Pool, names: Names, depth: int) -> Pool:
        return self.rng.choice(self.kinds(pool, names, depth))(pool, names)

    def kinds(self, pool: Pool, names: Names, depth: int) -> list[Callable[[Pool, Names], Pool]]:
        """The statements to choose from."""
        kinds: list[Callable[[Pool, Names], Pool]] = [self.generate, self.bind, self.annotate, self.map]
        if pool.kind is None:
            kinds += [self.pool]
        else:
            kinds += [self.score, self.select, self.validate, self.improve, self.keep] * 2 + [self.vote]
        if self.schemes:
            kinds.append(self.invoke)
        if depth:
            blocks = [self.foreach, self.if_, self.try_, self.label, self.match, self.search, self.first]
            if pool.kind is not None:
                blocks += [self.repeat, self.repeat]
                blocks += [] if pool.single else [self.reduce]
            kinds += [(lambda p, n, block=block: block(p, n, depth - 1)) for block in blocks]
        return kinds

    def generate(self, pool: Pool, names: Names) -> Pool:
        prompt = self.rng.choice(self.prompts)
        if not self.spend():
            return pool
        settings, one, logprobs = self.settings(pool)
        self.write(f"Generate({settings}) {self.call(prompt, names, pool)}")
        return Pool(prompt.result, pool.single and one and not prompt.many, logprobs=logprobs)

    def invoke(self, pool: Pool, names: Names) -> Pool:
        if not self.spend():
            return pool
        scheme = self.rng.choice(self.schemes)
        self.write(self.call(scheme, names, pool))
        return Pool(scheme.result, pool.single)

    def improve(self, pool: Pool, names: Names) -> Pool:
        fitting = [p for p in self.prompts if p.result == pool.kind and not p.many and p.takes(pool.kind)]
        if not fitting or not self.spend():
            return pool
        prompt = self.rng.choice(fitting)
        place = next(i for i, (_, kind) in enumerate(prompt.inputs) if kind == pool.kind)
        arguments = [self.expression(kind, names, pool) for _, kind in prompt.inputs]
        arguments[place] = "it"
        keep = self.pick("", "", "keep=true")
        self.write(f"Improve({keep}) {prompt.name}({', '.join(arguments)})")
        return pool.plain(prompt.result, single=pool.single and not keep)

    def bind(self, pool: Pool, names: Names) -> Pool:
        kind = self.kind(1)
        if kind[0] not in ("int", "str", "float", "bool"):
            return self.annotate(pool, names)
        name = self.fresh()
        self.write(f"{name} = {self.outside(kind, names, pool)}")
        names.values[name] = kind
        return pool

    def annotate(self, pool: Pool, names: Names) -> Pool:
        kind = self.kind(1)
        name = self.fresh()
        self.write(f"{name}: {self.types.text(kind)} = {self.outside(kind, names, pool)}")
        names.values[name] = kind
        return pool

    def map(self, pool: Pool, names: Names) -> Pool:
        kind = self.kind(1)
        if kind[0] == "opt":
            return pool
        self.write(f"Map() {self.expression(kind, names, pool)}")
        return pool.plain(kind)

    def pool(self, pool: Pool, names: Names) -> Pool:
        bound = list(names.pools)
        if bound and not self.chance(3):
            name = self.rng.choice(bound)
            self.write(f"Pool() {name}")
            return names.pools[name]
        kind = self.kind(1)
        if kind[0] == "opt":
            return pool
        name = self.fresh()
        self.write(f"{name}: {self.types.text(kind)} = {self.outside(kind, names, pool)}")
        self.write(f"Pool() {name}")
        names.values[name] = kind
        return Pool(kind, True)

    def score(self, pool: Pool, names: Names) -> Pool:
        fitting = [one for one in self.scores if one.of == pool.kind]
        if fitting and self.spend():
            chosen = self.rng.choice(fitting)
            self.write(f"Score() {chosen.name}(it)")
            return replace(pool, score=chosen.name, lower=chosen.lower)
        self.write(f"Score() {self.expression(INT, names, pool)}")
        return replace(pool, score=self.fresh("s"), lower=False)

    def keep(self, pool: Pool, names: Names) -> Pool:
        if pool.score is None:
            return pool
        choice = self.pick("KeepBestN(1)", "KeepBestN(2)", "Vote(weight=score)", "Select() score >= 0")
        if choice.startswith("Vote") and pool.lower:
            choice = "KeepBestN(1)"
        self.write(choice)
        return replace(pool, single=pool.single or choice in ("KeepBestN(1)", "Vote(weight=score)"))

    def select(self, pool: Pool, names: Names) -> Pool:
        if self.chance(3):
            self.write("Select([0])")
            return replace(pool, single=True)
        self.write(f"Select() {self.expression(BOOL, names, pool)}{self.pick(' or true', '')}")
        return pool

    def validate(self, pool: Pool, names: Names) -> Pool:
        if pool.validated and self.chance():
            self.write(self.pick("KeepValid()", "Select() valid or true"))
            return pool
        if pool.kind == INT and self.chance(3) and self.spend():
            self.write("Validate() judge(it)")
        else:
            self.write(f"Validate() {self.expression(BOOL, names, pool)}{self.pick(' or true', '')}")
        return replace(pool, validated=True)

    def vote(self, pool: Pool, names: Names) -> Pool:
        self.write("Vote()")
        return replace(pool, single=True)

    def finish(self, kind: Kind, pool: Pool, names: Names) -> Pool:
        """Statements that leave exactly one thought of a type; at least one in a block."""
        if pool.kind == kind and pool.single and (self.lines[-1].endswith(":") or " = " in self.lines[-1]):
            self.write("Map() it")
            return pool.plain(kind)
        if pool.kind != kind:
            fitting = [p for p in self.prompts if p.result == kind and not p.many]
            if not pool.single:
                self.write("Vote()")
                pool = replace(pool, single=True)
            if fitting and self.chance():
                self.write(f"Generate() {self.call(self.rng.choice(fitting), names, pool)}")
            elif pool.kind is not None and not self.chance(3):
                self.write(f"Map() {self.expression(kind, names, pool)}")
            else:
                name = self.fresh()
                self.write(f"{name}: {self.types.text(kind)} = {self.expression(kind, names, pool)}")
                self.write(f"Pool() {name}")
            return Pool(kind, True)
        if not pool.single:
            self.write("KeepBestN(1)" if pool.score is not None else "Vote()")
        return replace(pool, single=True)

    # ---------------------------------------------------------------- blocks

    def indented(self, work: Callable[[], Pool]) -> Pool:
        self.margin += 1
        try:
            return work()
        finally:
            self.margin -= 1

    def foreach(self, pool: Pool, names: Names, depth: int) -> Pool:
        inner = names.inside()
        element, kind = self.fresh("x"), self.pick(INT, STR, *(("rec", name) for name in self.types.records))
        over = self.expression(("list", kind), names, pool if pool.single else Pool(), 1)
        over = f"({over} + [{self.leaf(kind)}])"
        if self.chance(3):
            position = self.fresh("i")
            inner.values[position] = INT
            after = self.pick("", f" after range({position})")
            self.write(f"foreach {position}, {element} in enumerate({over}){after}:")
        else:
            self.write(f"foreach {element} in {over}:")
        inner.values[element] = kind
        wanted = self.kind(1)
        wanted = INT if wanted[0] == "opt" else wanted

        def write() -> Pool:
            left = self.body(Pool(kind), inner, depth, self.rng.randint(0, 2))
            return self.finish(wanted, left, inner)

        left = self.indented(write)
        return replace(left, single=False)

    def reduce(self, pool: Pool, names: Names, depth: int) -> Pool:
        assert pool.kind is not None
        inner = names.inside()
        a, b = self.fresh("l"), self.fresh("r")
        inner.values |= {a: pool.kind, b: pool.kind}
        self.write(f"reduce {a}, {b}:")

        def write() -> Pool:
            self.write(f"Pool() {self.pick(a, b)}")
            return self.finish(pool.kind or INT, self.body(Pool(pool.kind), inner, depth, 1), inner)

        self.indented(write)
        return Pool(pool.kind, True)

    def repeat(self, pool: Pool, names: Names, depth: int) -> Pool:
        assert pool.kind is not None
        if not pool.single:
            return pool
        if "Node" in (declared := self.types.text(pool.kind)):  # rounds may put it into itself
            first = self.fresh()
            self.write(f"{first}: {declared} = {self.expression(pool.kind, names, pool)}")
            self.write(f"Pool() {first}")
            pool = Pool(pool.kind, True)
        inner = names.inside()
        until = f" until {self.expression(BOOL, names, pool, 1)}" if self.chance() else ""
        self.write(f"repeat {self.pick('2', 'tries', '1 + 1')}{until}:")
        self.indented(
            lambda: self.finish(
                pool.kind or INT, self.body(pool.plain(pool.kind or INT), inner, depth, 2), inner
            )
        )
        return Pool(pool.kind, True)

    def branches(self, heads: list[tuple[str, Names]], pool: Pool, depth: int) -> Pool:
        """Blocks that leave the same type under their heads."""
        kind = self.kind(1)
        kind = INT if kind[0] == "opt" else kind
        for head, inner in heads:
            self.write(head)
            self.indented(
                lambda inner=inner: self.finish(
                    kind, self.body(pool, inner, depth, self.rng.randint(0, 1)), inner
                )
            )
        return Pool(kind, True)

    def if_(self, pool: Pool, names: Names, depth: int) -> Pool:
        condition = self.expression(BOOL, names, pool if pool.single else Pool(), 1)
        start = pool if pool.single else Pool()
        if not pool.single:
            return pool
        return self.branches(
            [(f"if {condition} or goal > 9:", names.inside()), ("else:", names.inside())], start, depth
        )

    def try_(self, pool: Pool, names: Names, depth: int) -> Pool:
        if not pool.single:
            return pool
        return self.branches([("try:", names.inside()), ("else:", names.inside())], pool, depth)

    def first(self, pool: Pool, names: Names, depth: int) -> Pool:
        if not pool.single:
            return pool
        until = f" until {self.expression(BOOL, names, Pool(), 1)}" if self.chance() else ""
        self.write(f"{self.pick('first', 'race')}{until}:")
        heads = [(f"line {self.fresh()[1:]}:", names.inside()) for _ in range(self.rng.randint(2, 3))]
        return self.indented(lambda: self.branches(heads, pool, depth))

    def search(self, pool: Pool, names: Names, depth: int) -> Pool:
        kind = self.kind(1)
        kind = INT if kind[0] == "opt" or "Node" in self.types.text(kind) else kind
        if not pool.single:
            return pool
        root, state, inner = self.fresh(), self.fresh(), names.inside()
        self.write(f"{root}: {self.types.text(kind)} = {self.expression(kind, names, pool)}")
        inner.values[state] = kind
        here = Pool(kind)
        until = f" until {self.expression(BOOL, inner, here, 1)}" if self.chance() else ""
        select = self.pick("best", "depth", "beam(2)", "uct(1.4)", "uct(goal) if goal > 2 else beam(tries)")
        more = self.pick("", ", parallel 2", ", depth 2")
        self.write(f"search {state} from {root}{until}, rollouts {self.pick(1, 2)}, select {select}{more}:")

        def part() -> Pool:
            return self.finish(kind, self.body(here, inner.inside(), depth, 1), inner)

        def parts() -> Pool:
            self.write("expand:")
            self.indented(part)
            if self.chance():
                self.lines[-1:] = [self.lines[-1], f"{'    ' * (self.margin + 1)}Pool() it, {state}"]
            if self.chance(3):
                self.write("simulate:")
                self.indented(part)
            self.write("value:")
            self.indented(part)
            self.lines.append(f"{'    ' * (self.margin + 1)}Score() {self.expression(INT, inner, here)}")
            return Pool(kind, True, self.fresh("s"))

        return self.indented(parts)

    def fresh_in(self, kind: Kind, names: Names) -> bool:
        """Whether no field of a case is a name already in scope."""
        cases = self.types.cases[kind[1]] if kind[0] == "alt" else {}
        return names.values.keys().isdisjoint(field for fields in cases.values() for field in fields)

    def match(self, pool: Pool, names: Names, depth: int) -> Pool:
        if not pool.single:
            return pool
        subjects = [
            (n, k) for n, k in names.values.items() if k[0] in ("alt", "lit") and self.fresh_in(k, names)
        ]
        if not subjects:
            return self.if_(pool, names, depth)
        subject, kind = self.rng.choice(subjects)
        heads = []
        if kind[0] == "lit":
            heads = [('    "sure" | "likely":', names.inside()), ("    else:", names.inside())]
        else:
            for case_, fields in self.types.cases[kind[1]].items():
                inner = names.inside()
                renamed = list(fields)
                inner.values |= fields
                heads.append(
                    (f"    {case_} {{{', '.join(renamed)}}}:" if renamed else f"    {case_}:", inner)
                )
        for _, inner in heads:
            inner.values.pop(subject, None)  # what it may be is narrower here
        self.write(f"match {subject}:")
        kind = INT
        for head, inner in heads:
            self.write(head)
            self.margin += 1
            self.indented(
                lambda inner=inner: self.finish(
                    kind, self.body(pool, inner, depth, self.rng.randint(0, 1)), inner
                )
            )
            self.margin -= 1
        return Pool(kind, True)

    def label(self, pool: Pool, names: Names, depth: int) -> Pool:
        self.write(
            self.pick(f'"part {self.fresh()}":', f"step {self.rng.randint(1, 9)}{self.rng.randint(1, 99)}:")
        )
        return self.indented(
            lambda: self.finish(INT, self.body(pool, names.inside(), depth, 1), names.inside())
        )

    # ---------------------------------------------------------------- the whole

    def scheme(self, name: str, statements: int, depth: int) -> Scheme:
        inputs = tuple((self.fresh("in"), self.kind(1)) for _ in range(self.rng.randint(1, 2)))
        result = self.kind(1)
        result = STR if result[0] == "opt" else result
        names = Names({"tries": INT, "goal": INT, **dict(inputs)})
        declared = ", ".join(f"{n}: {self.types.text(k)}" for n, k in inputs)
        self.write(f"scheme {name}({declared}) -> {self.types.text(result)}:")
        self.margin = 1
        pool = self.body(Pool(), names, depth, statements)
        self.finish(result, pool, names)
        self.margin = 0
        return Scheme(name, inputs, result)


def typed_program(seed: object) -> TypedProgram:
    """The program of a seed."""
    return finished(Writer(seed))


def finished(writer: Writer, further: tuple[Prompt, ...] = ()) -> TypedProgram:
    """What a writer writes; `further` are prompts that its own statements ask."""
    writer.declare_types()
    writer.write("param tries = 2 in 1..3")
    writer.write("param goal = 3 in 0..4")
    writer.declare_prompts()
    writer.declare_scores()
    writer.budget = 6
    if writer.chance():
        writer.schemes.append(writer.scheme("helper", 2, 1))
    writer.budget = 12
    main = writer.scheme("main", writer.rng.randint(3, 8), 2)
    writer.declare_metric(main)
    inputs = {name: writer.types.value(writer.rng, kind) for name, kind in main.inputs}
    prompts = (*writer.prompts, *further)
    return TypedProgram("\n".join(writer.lines) + "\n", inputs, prompts, writer.types)

"""Budgets of schemes: proven bounds are never exceeded, and unproven budgets are refused."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from cli.conftest import Gotc, folder, gotc  # noqa: F401
from support.openai_server import OpenAIServer

import gotlang
from gotlang.diagnostics import Diagnostic
from gotlang.estimate.estimator import longest
from gotlang.flows import Guess
from gotlang.ir.evaluate import evaluate
from gotlang.models.simulated import SimulatedModel
from gotlang.span import Source
from gotlang.syntax.parse import parse_expression
from gotlang.templates import Template
from tests.budgets import Sent, hold, proven
from tests.support.laws import NEW, times

PRICED = """\
prompt ask(q: str) -> str:
    max_tokens 10
    "{{ q }}"
param tries = 2 in 1..5
scheme main(q: str) -> str within 3 calls, 2 hops, 0.0005 usd:
    Generate(k=tries) ask(q)
    Vote()
    Generate() ask(it)
scheme outer(q: str) -> str:
    main(q)
"""


@pytest.mark.parametrize("part", range(2))
def test_runs_of_generated_programs_stay_in_the_budgets_that_are_proven(part: int) -> None:
    first = 1_000_000 if NEW else 0
    for number in range(first + part, first + times(8), 2):
        hold(str(number))


def run(scheme: str, q: str, **params: int) -> tuple[str, int]:
    """The message of a refusal, or nothing, and how many requests were sent."""
    sent, model = Sent(), SimulatedModel({"ask": lambda rng, q: random.Random(q).choice("ab")})
    options = gotlang.Options(model=model, params=params, observe=sent, cache=None)
    try:
        gotlang.compile(PRICED).run(q=q, scheme=scheme, options=options)
    except gotlang.UsageError as error:
        return error.message, sent.count
    return "", sent.count


@pytest.mark.parametrize("scheme", ["main", "outer"])
def test_the_start_of_a_run_proves_what_depends_on_its_inputs_and_params(scheme: str) -> None:
    message, sent = run(scheme, "short")
    assert message == "" and sent
    message, sent = run(scheme, "long " * 1000)
    assert "may take 0.0" in message and "more than its budget of 0.0005 usd" in message and not sent
    message, sent = run(scheme, "short", tries=3)
    assert "may take 4 calls = 1 + tries" in message and not sent


def test_what_has_no_bound_says_what_to_bound() -> None:
    text = 'prompt ask(q: str) -> str:\n    "{{ q }}"\n'
    text += 'prompt chat(q: str) -> str:\n    tools ask_it\n    "{{ q }}"\n'
    text += "scheme ask_it(q: str) -> str:\n    Generate() ask(q)\n"
    text += "scheme main(q: str) -> str within 0.1 usd:\n    Generate() chat(q)\n"
    model = SimulatedModel({"ask": lambda rng, q: "a", "chat": lambda rng, q: "a"})
    with pytest.raises(gotlang.UsageError) as refused:
        gotlang.compile(text).run(q="x", options=gotlang.Options(model=model, cache=None))
    assert "cannot be proven: there is no bound" in refused.value.message
    assert "--max-usd" in str(refused.value.help) and "formula" not in str(refused.value.help)


def test_rows_are_proven_one_by_one() -> None:
    model = SimulatedModel({"ask": lambda rng, q: "a"})
    rows = [{"q": "short"}, {"q": "long " * 1000}]
    with pytest.raises(gotlang.UsageError, match="more than its budget"):
        gotlang.compile(PRICED).evaluate(
            rows, scheme="main", options=gotlang.Options(model=model, cache=None)
        )


def test_dollars_of_a_model_without_a_price_cannot_be_proven(gotc: Gotc, folder: Path) -> None:  # noqa: F811
    (folder / "main.got").write_text(PRICED)
    with OpenAIServer(lambda body, index: "a") as server:
        done = gotc("run", "main.got", "--input", "q=x", "--model", "openai:m", "--base-url", server.url)
        assert (done.code, server.requests) == (2, [])
        assert "the price of a model is not known" in done.err and "--prices" in done.err


def test_python_that_adds_steps_is_not_bounded(folder: Path) -> None:  # noqa: F811
    (folder / "grow.py").write_text(
        "from gotlang import changes_graph\n@changes_graph\ndef grow(view):\n    return 1\n"
    )
    (folder / "main.got").write_text(
        'import python "grow.py": grow -> int\nprompt ask(q: str) -> str:\n    "{{ q }}"\n'
        "scheme main(q: str) -> int within 1 call:\n    Generate() ask(q)\n    Call grow()\n"
    )
    with pytest.raises(gotlang.UsageError, match="`grow` adds steps"):
        gotlang.run(
            folder / "main.got",
            {"q": "x"},
            options=gotlang.Options(model=SimulatedModel({"ask": lambda rng, q: "a"}), python=True),
        )


def test_the_ir_keeps_budgets() -> None:
    from gotlang.ir.parse import from_text

    program = gotlang.compile(PRICED).ir()
    assert program.scheme("main").limits == (("calls", 3), ("hops", 2), ("usd", 0.0005))
    assert from_text(gotlang.compile(PRICED).ir_text()).scheme("main") == program.scheme("main")


def test_a_race_starts_after_all_that_its_lines_use() -> None:
    text = (
        'prompt ask(q: str) -> str:\n    "{{ q }}"\n'
        "scheme main(q: str) -> str within 3 calls, 2 hops:\n    x = Generate() ask(q)\n    race:\n"
        "        Pool() x\n        labelled:\n            Generate() ask(q)\n            Generate() ask(it)\n"
    ).replace("labelled:", "line 1:")
    with pytest.raises(gotlang.CompileError, match="may take 3 hops"):
        gotlang.compile(text)
    program = gotlang.compile(text.replace("2 hops", "3 hops"))
    model = SimulatedModel({"ask": lambda rng, q: "a"})
    result = program.run(q="b", options=gotlang.Options(model=model, cache=None))
    assert result.outcome.ledger.spent.calls == 3


def test_a_search_starts_after_what_its_end_is_told_by() -> None:
    text = (
        'prompt ask(q: str) -> str:\n    "{{ q }}"\n'
        "scheme main(q: str) -> str within 3 calls, 2 hops:\n    x = Generate() ask(q)\n"
        '    search state from "a" until state == x, rollouts 1, select best:\n'
        '        expand: Generate() ask("b")\n        value: Score() 1\n    Generate() ask(it)\n'
    )
    with pytest.raises(gotlang.CompileError, match="may take 3 hops"):
        gotlang.compile(text)


DOLLARS = {
    "the larger of two texts": ("a: str = max(it, q)", "x: str", "{{ x }}"),
    "a text several times": ("a: str = it + it + it + it", "x: str", "{{ x }}"),
    "a large number": ("a: int = len(it) ** 30 * len(it) ** 30", "x: int", "{{ x }}"),
    "a text in place of another": ('a: str = replace(it, "z", "a long text")', "x: str", "{{ x }}"),
    "words": ('a: list[str] = split(it, "z")', "x: list[str]", "{{ x }}"),
    "the same for each": ("a: list[str] = [q for i in range(50)]", "x: list[str]", "{{ x }}"),
    "a loop": (
        'a: list[str] = split(it, " ")',
        "x: list[str]",
        "{% for one in x %}this is one of the many parts that there are: {{ one }} {% endfor %}",
    ),
    "a condition": (
        "a: int = len(it)",
        "x: int",
        "{% if x > 3 %}a text that only some numbers are worth, and that is a long one{% endif %}",
    ),
    "characters": ("a: str = it", "x: str", "{% for one in x %}character {{ loop.index }} {% endfor %}"),
}


@pytest.mark.parametrize("case", DOLLARS)
def test_dollars_are_proven_of_what_becomes_of_a_response(case: str) -> None:
    """What a prompt shows is bounded by what it is made of; where it is not, no dollars are proven."""
    statement, parameter, text = DOLLARS[case]
    program = gotlang.compile(f"""\
prompt write(q: str) -> str:
    max_tokens 60
    "{{{{ q }}}}"
prompt read({parameter}) -> str:
    max_tokens 1
    "{text}"
scheme main(q: str) -> str:
    Generate() write(q)
    {statement}
    Generate() read(a)
""")
    model = SimulatedModel({"write": lambda rng, q: "z " * 30, "read": lambda rng, x: "y"})
    inputs = {"q": "some words"}
    options = gotlang.Options(model=model, cache=None)
    spent = program.run(inputs, options=options).outcome.ledger.spent.usd
    bounds = proven(program, model, inputs)
    assert spent <= bounds.get("usd", spent)
    assert "usd" in bounds or case in {"a text in place of another", "a large number", "characters"}


@pytest.mark.parametrize(
    ("written", "token"),
    [
        ('split(it, ",")', "," * 128),
        ("lines(it)", "\n" * 128),
        ("lower(it)", "A" * 128),
        ("{{ it | list }}", "a" * 128),
        ("{{ it | reverse }}", "a" * 128),
        ("{{ it | tojson }}", "<" * 128),
    ],
)
def test_a_token_may_be_a_text_of_128_characters_that_are_shown_one_by_one(written: str, token: str) -> None:
    """Real vocabularies have such tokens; each character of what is shown is a token at worst."""
    if written.startswith("{{"):
        template = Template.parse(written)
        shown = template.render({"it": token})
        bound = template.longest(lambda value: 1, {"it": 1}, {})
    else:
        node = parse_expression(Source("expression", written))
        assert not isinstance(node, Diagnostic)
        found = evaluate(node, {"it": token})
        shown = found if isinstance(found, str) else json.dumps(found)
        bound = longest(node, {"it": Guess(tokens=(0, 1))}, lambda value: 1)
    assert len(shown) <= bound < math.inf


class Numbers:
    """Writes a scheme in which numbers of any sign, lengths and counters decide what is asked."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"numbers {seed}")
        self.names = ["n", "m", "p", "q"]
        self.lines: list[str] = []

    def number(self, depth: int = 2) -> str:
        """An expression of type `int`."""
        if not depth or self.random.random() < 0.3:
            return self.random.choice([*self.names, "len(xs)", str(self.random.randint(-3, 4))])
        a, b = self.number(depth - 1), self.number(depth - 1)
        further = f"({a} if {b} > {a} else {b})", f"(-{a})", f"{a} % 3", f"round({a} / 2)", f"abs({a})"
        joint = [f"({a} {word} {b})" for word in "+--*"]
        return self.random.choice([*joint, *further, f"min({a}, {b})", f"max({a}, {b})"])

    def condition(self) -> str:
        """A comparison of two numbers."""
        return f"{self.number()} {self.random.choice(['<', '<=', '>', '>=', '==', '!='])} {self.number(1)}"

    def asked(self, indent: str) -> None:
        """Calls, as many as a number says, in one of two blocks or for each of a list."""
        match self.random.randrange(4):
            case 0:
                self.lines.append(f"{indent}Generate(k=min({self.number()}, 4)) ask({self.number(1)})")
            case 1:
                k = self.random.randint(1, 9)
                self.lines += [f"{indent}if {self.condition()}:", f"{indent}    Generate(k={k}) ask(n)"]
                self.lines += [f"{indent}else:", f"{indent}    Generate() ask(m)"]
            case 2:
                self.lines += [f"{indent}foreach x in range(min({self.number()}, 3)):"]
                self.names.append("x")
                self.lines += [f"{indent}    Generate(k=max(1, min({self.number(1)}, 3))) ask(x)"]
                self.names.remove("x")
            case _:
                made = self.random.choice(["words", "count"])
                name = f"v{len(self.lines)}"
                self.lines.append(f"{indent}Generate() {made}({self.number(1)})")
                self.lines.append(f"{indent}{name}: int = {'len(it)' if made == 'words' else 'it'}")
                self.lines.append(f"{indent}Generate() ask({name})")
                self.names.append(name)
        self.lines.append(f"{indent}Vote()")

    def program(self) -> str:
        """The program's text."""
        for _ in range(self.random.randint(1, 4)):
            if self.random.random() < 0.3:
                self.lines += ["    Generate() ask(1)"]
                self.lines += [f"    repeat min({self.number(1)}, 6) as i:"]
                known = [*self.names]
                self.names += ["i", "i"]
                self.asked(" " * 8)
                self.names = known
            else:
                self.asked(" " * 4)
        return NUMBERS + "\n".join(self.lines) + "\n"


NUMBERS = """\
param p = 2 in 0..4
param q = -1 in -4..4
prompt ask(n: int) -> str:
    "{{ n }}"
prompt words(n: int) -> list[str]:
    "{{ n }}"
prompt count(n: int) -> int:
    "{{ n }}"
scheme main(n: int, m: int, xs: list[int]) -> str:
"""


def test_numbers_of_any_sign_decide_no_more_than_is_proven() -> None:
    """The check proves a bound for all inputs: no input, however strange, makes more calls or hops."""
    simulators = {
        "ask": lambda rng, n: rng.choice("ab"),
        "words": lambda rng, n: ["w"] * rng.randint(0, 4),
        "count": lambda rng, n: rng.randint(-5, 5),
    }
    options = gotlang.Options(model=SimulatedModel(simulators), cache=None)
    proofs, first = 0, 1_000_000 if NEW else 0
    for seed in range(first, first + times(40)):
        text = Numbers(seed).program()
        try:
            program = gotlang.compile(text)
        except gotlang.CompileError:  # such as a list that is always empty
            continue
        bounds = proven(program, options.model, None)
        rng = random.Random(seed)
        for _ in range(4):
            inputs = {"n": rng.randint(-9, 9), "m": rng.randint(-2, 3), "xs": [1] * rng.randint(0, 3)}
            try:
                outcome = program.run(inputs, scheme="main", options=options).outcome
            except gotlang.RunError as error:
                outcome = error.outcome
            spent = {"calls": outcome.ledger.spent.calls, "hops": outcome.hops}
            for unit, number in bounds.items():
                assert unit == "usd" or spent[unit] <= number, (unit, inputs, text)
        proofs += len(bounds)
    assert proofs > times(40) // 2

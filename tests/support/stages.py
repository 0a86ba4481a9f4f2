"""Every stage of an operation or block on one small program, and runs of small programs, as text for golden
cases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from gotlang.api import Program, compile
from gotlang.compiler import compile_source, handed_in
from gotlang.diagnostics import Diagnostic, render
from gotlang.errors import GotError, RunError
from gotlang.estimate.critical_path import CallsRemaining
from gotlang.ir import program as ir
from gotlang.ir.effects import Effects
from gotlang.ir.parse import from_text
from gotlang.ir.text import step_text, to_text
from gotlang.ir.verify import verify
from gotlang.models.base import Message
from gotlang.models.simulated import SimulatedModel
from gotlang.operations import BLOCKS, OPERATIONS, record_of, title
from gotlang.options import Options
from gotlang.report.graphs import plan
from gotlang.runtime.plain import RequestLog, operations
from gotlang.span import Source
from gotlang.types import INT
from tests.support.answers import any_model

PRELUDE = """\
prompt digit(of: any) -> int:
    temperature 0.5
    "digit {{ of }}"
prompt next(n: int) -> int:
    "after {{ n }}"
prompt total(numbers: list[int]) -> int:
    "sum of {{ numbers }}"
prompt parts(n: int) -> many int:
    "parts of {{ n }}"
prompt even(n: int) -> bool:
    "is {{ n }} even?"
prompt rate(n: int) -> float:
    "rate {{ n }}"
prompt word(n: int) -> str:
    "a word for {{ n }}"
prompt unreadable(n: int) -> int:
    "nonsense about {{ n }}"
score size(n: int) -> higher:
    n
score distance(n: int, goal: int) -> lower, best 0:
    abs(n - goal)
score judged(n: int) -> higher:
    grade = Generate() rate(n)
    grade
"""
"""What the programs of cases may use; their schemes follow it."""


def _double(n: int) -> int:
    return 2 * n


def _fail(n: int) -> int:
    raise ValueError("nothing doing")


def _pages(query: str, k: int) -> list[str]:
    return ["one is a number", "two is a number", "cats are no numbers"][:k]


def _solve(n: int, messages: Sequence[Message]) -> str:
    """Calls tools in two turns, and answers with what the last one gave."""
    match sum(message.role == "assistant" for message in messages):
        case 0:
            return f'Call: twice {{"n": {n}}}\nCall: broken {n}\nCall: nothing {{}}\nCall: twice {{"m": 1}}'
        case 1:
            return f"Call: twice({int(messages[-1].content.split()[3]) + 1})\nResult of twice: 99"
    return messages[-1].content.rpartition(":")[2]


FUNCTIONS = {"double": _double, "fail": _fail, "pages": _pages}
TYPED = ["double -> int", "fail -> int", "pages"]
SIMULATED = {
    "digit": lambda rng, of: str(rng.randrange(10)),
    "next": lambda rng, n: str(n + 1),
    "total": lambda rng, numbers: str(sum(numbers)),
    "parts": lambda rng, n: str(list(range(n))),
    "even": lambda rng, n: "yes" if n % 2 == 0 else "no",
    "rate": lambda rng, n: str(n * 10),
    "word": lambda rng, n: ["zero", "one", "two", "three"][n % 4],
    "unreadable": lambda rng, n: "no number here",
    "solve": lambda rng, n, messages: _solve(n, messages),
}


def run_text(source: Source) -> str:
    """What the scheme `main` of a case gives: its value, what is known of it, what it cost, what failed."""
    text = "\n".join(_run(_program(source), {"n": 3, "xs": [3, 1, 2], "truth": 3}))
    return re.sub(r" \(\S+\.py:\d+\)", "", text)  # where a Python function failed is another place elsewhere


def _program(source: Source) -> Program:
    return compile(PRELUDE + source.text, source.name, functions=TYPED)


def _options() -> Options:
    return Options(model=SimulatedModel(SIMULATED), functions=FUNCTIONS, ask=lambda question: "7")


def _run(program: Program, values: dict[str, Any]) -> Iterator[str]:
    wanted = {name for name, _ in program.ir(0).scheme("main").parameters}
    given = {name: value for name, value in values.items() if name in wanted}
    try:
        truth = values["truth"] if program.ir(0).scheme("main").truth == INT else None
        result = program.run(given, scheme="main", truth=truth, options=_options())
    except RunError as error:
        yield f"error: {error.message}"
        yield from (f"  failed: {failure.operation}: {failure.reason}" for failure in error.failures)
        return
    outcome = result.outcome
    account = outcome.ledger.accounts[0]
    yield f"value: {json.dumps(result.value)}"
    yield f"score {result.outcome.score}, ground truth {result.ground_truth}"
    yield f"calls {account.calls}, requests {account.requests}, critical path {outcome.hops}"
    yield from (f"failed: {failure.operation}: {failure.reason}" for failure in outcome.failures)
    sources = program.compilation.sources
    for line in operations(outcome.graph, sources, RequestLog()):
        if line["kind"] in OPERATIONS:
            made = [thought.get("value", "seen") for thought in line["thoughts"]]
            known = [
                {key: thought[key] for key in ("score", "valid", "lower") if key in thought}
                for thought in line["thoughts"]
            ]
            yield f"  {line['path']}: {line['kind']} {json.dumps(made)} {json.dumps(known)}"


INPUTS = {"n": 3, "x": 2, "xs": [3, 1, 2], "ys": [5, 4], "q": "Which?", "word": "one", "words": ["a", "b"]}
"""What a reader's programs are run with, by the names of their inputs."""


def programs_text(source: Source) -> str:
    """What a reader sees of a program: what the check says of it, and where nothing is wrong what its last
    scheme gives for `INPUTS`, with a model that says some value of the prompt's type. A program after a line
    `---` does what was said of the one before."""
    parts = (Source.of(source.name, text) for text in source.text.split("---\n"))
    return "\n---\n".join("\n".join(_read(part)) for part in parts)


def _read(source: Source) -> Iterator[str]:
    found = compile_source(source).diagnostics
    yield from (render(each, {source.name: source}) for each in found)
    if any(each.severity == "error" for each in found):
        return
    program = compile(source.text, source.name)
    scheme = program.scheme(list(program.schemes)[-1])
    given = {name: INPUTS[name] for name, _ in scheme.parameters}
    try:
        result = program.run(
            given, scheme=scheme.name, options=Options(model=any_model(program.ir(0)), cache=None)
        )
    except RunError as error:
        yield f"error: {error.message}"
        yield from (f"  failed: {failure.operation}: {failure.reason}" for failure in error.failures)
        return
    yield f"value: {json.dumps(result.value)}"
    yield from (f"failed: {failure.operation}: {failure.reason}" for failure in result.outcome.failures)


def stages_text(source: Source) -> str:
    """All stages of the operations and blocks in a case: mistakes, IR, verification, effects, estimate,
    run, picture, reference.

    The case's text is a scheme `main` that is right, and after a line `wrong:` bodies that are not, each on
    a line of its own, `;` for a new line in it.
    """
    right, _, wrong = source.text.partition("wrong:\n")
    lines = [*_right(Source.of(source.name, right)), *_wrong(source.name, right, wrong)]
    return "\n".join(lines)


def _attempt(what: str, lines: Iterator[str]) -> list[str]:
    """The lines, or what went wrong: a stage that fails is seen like any other difference."""
    try:
        return [f"-- {what}", *lines]
    except Exception as error:
        return [f"-- {what}", f"{type(error).__name__}: {error}"]


def _right(source: Source) -> list[str]:
    out = _attempt("check", (_diagnostics(source.name, PRELUDE + each.text) for each in (source,)))
    try:
        program = _program(source)
        plain = program.ir(0)
        scheme = plain.scheme("main")
    except Exception as error:
        return [*out, f"{type(error).__name__}: {error}"]
    effects, remaining = Effects(plain), CallsRemaining(plain)
    steps = list(scheme.body.all_steps())
    out += _attempt("ir", (line for step in steps for line in _step(step, effects, remaining)))
    out += _attempt("read back", (str(from_text(to_text(each)) == each) for each in (plain,)))
    out += _attempt("verify", _mutations(plain))
    out += _attempt("optimized", _optimized(program))
    out += _attempt("explain", _explained(program))
    out += _attempt("run", _run(program, {"n": 3, "xs": [3, 1, 2], "truth": 3}))
    out += _attempt("picture", _picture(program, scheme))
    names = dict.fromkeys(record_of(step).name for step in steps)
    out += _attempt("reference", (_reference(name) for name in names))
    return out


def _optimized(program: Program) -> Iterator[str]:
    yield from to_text(program.ir(2)).split("scheme main", 1)[1].splitlines()[1:]


def _step(step: ir.Step, effects: Effects, remaining: CallsRemaining) -> Iterator[str]:
    yield step_text(step)
    found = sorted(effects.of(step)) or "none"
    yield f"    {title(step)}: effects {found}, calls in a row {remaining.own(step)}"


def _mutations(program: ir.Program) -> Iterator[str]:
    """What the verifier says of the program, and of ones in which a single thing is wrong."""
    verify(program)
    yield "right"
    text = to_text(program)
    head, main = text.split("scheme main", 1)
    for line in main.splitlines():
        name, _, step = line.strip().partition(" = ")
        for old, new in ((" one", ""), (step.rpartition(" : ")[2], "bool"), ("", " one")):
            if step and (changed := f"{step.removesuffix(old)}{new}") != step:
                changed_text = f"{head}scheme main{main.replace(step, changed, 1)}"
                yield from (f"{name}: {said}" for said in _verified(changed_text, step, changed))
    for old, new in (
        (" : int one\n", " : str one\n"),
        (" : int\n", " : int one\n"),
        ("k ", 'k "x" + '),
        ("=n)", "=[n])"),
        ("=it)", "=missing)"),
        ("(n=", "(m="),
        (" > ", ' > "x" + '),
        ("in xs", "in n"),
        ("when n", "when [n]"),
        ("repeat ", 'repeat "x" + '),
        ("tries ", 'tries "x" + '),
        ("weight ", 'weight "x" + '),
        ("KeepBestN ", 'KeepBestN "x" + '),
        ("at [", 'at ["x" + '),
        ("GroundTruth it == truth", "GroundTruth it"),
        ("@pages(", "@pages(1 + "),
        ("left=", "left=%gone"),
    ):
        if old in main:
            yield from _verified(f"{head}scheme main{main.replace(old, new, 1)}", old.strip(), new.strip())


def _verified(text: str, old: str, new: str) -> Iterator[str]:
    try:
        verify(from_text(text))
        yield f"{old} -> {new}: accepted"
    except GotError as error:
        yield f"{old} -> {new}: {error.message}"


def _explained(program: Program) -> Iterator[str]:
    for known in (None, {"n": 3, "xs": [3, 1, 2]}):
        wanted = {name for name, _ in program.ir(0).scheme("main").parameters}
        inputs = None if known is None else {name: known[name] for name in known if name in wanted}
        costs = program.explain(inputs, scheme="main", options=_options(), simulate=False).costs
        for name in ("calls", "requests", "critical_path", "volume", "output_tokens"):
            found = getattr(costs, name)
            yield f"{name} {found.low} to {found.high}: {found.formula or found.formula_high}"


def _picture(program: Program, scheme: ir.Scheme) -> Iterator[str]:
    picture = plan(program.ir(0), scheme, program.compilation.sources)
    for group in picture.groups:
        yield f"group {group.label}"
    for node in picture.nodes:
        yield f"{node.label} | {node.detail} | {node.family}"


def _reference(name: str) -> str:
    record = OPERATIONS.get(name) or BLOCKS[name]
    operation = OPERATIONS.get(name)
    if operation is None:
        return f"{record.usage} | {record.doc}"
    asks = ", ".join(sorted(operation.asks)) or "nothing"
    facts = f"asks for {asks}, keeps {'all' if operation.keeps else 'nothing'}"
    fails = f"fails: {operation.fails}"
    return f"{record.usage} | {record.doc} | {facts} | {fails} | {operation.syntax.example}"


_UNUSED = ("GOT0502", "GOT0503")
"""What is said of the prelude, most of which a case does not use."""


def _found(source: Source) -> list[Diagnostic]:
    found = compile_source(source, functions=handed_in(TYPED)).diagnostics
    return [problem for problem in found if problem.code not in _UNUSED]


def _diagnostics(name: str, text: str) -> str:
    source = Source.of(name, text)
    return "\n".join(render(problem, {source.name: source}) for problem in _found(source)) or "nothing to say"


def _said(source: Source) -> Iterator[str]:
    found = _found(source)
    yield from (f"{d.code} {d.message} ({d.at}) {d.help or ''}" for d in found)
    if not found:
        yield "nothing to say"


def _wrong(name: str, right: str, wrong: str) -> list[str]:
    out = []
    at = right.index("scheme main")
    head = right[:at] + right[at:].split(" -> ")[0]
    for body in wrong.splitlines():
        lines = "".join(f"    {line}\n" for line in body.split(";"))
        out += _attempt(f"wrong: {body}", _said(Source.of(name, f"{PRELUDE}{head} -> many any:\n{lines}")))
    return out

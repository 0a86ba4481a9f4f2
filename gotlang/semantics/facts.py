"""Facts about thoughts: those that a program requires, and those of the outputs of schemes."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TypeVar

from gotlang.diagnostics import Label, Report
from gotlang.operations.names import free_names
from gotlang.scope import Fact, Facts, Scope
from gotlang.span import NOWHERE, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import children_first, walk

FACT_OF: Mapping[str, Fact] = {
    "score": "score",
    "valid": "validity",
    "confidence": "log-probabilities",
    "tokens": "log-probabilities",
}
"""The facts that the functions of a thought need."""

_MISSING: Mapping[Fact, tuple[str, str, str]] = {
    "score": ("GOT0314", "no score", "put a `Score() ...` before it"),
    "validity": ("GOT0321", "not been validated", "put a `Validate() ...` before it"),
    "log-probabilities": (
        "GOT0322",
        "no log-probabilities",
        "write `logprobs true` in the prompt, or `logprobs=true` on the step that calls it",
    ),
}


def require(fact: Fact, facts: Facts, what: str, span: Span, report: Report, help: str = "") -> None:
    """Report thoughts without a required fact; `what` names them."""
    if not facts.has(fact):
        code, missing, usual = _MISSING[fact]
        verb = "have" if what == "these thoughts" else "has"
        label = Label(facts.rounds, "with 0 rounds, the thoughts from before remain")
        labels = () if facts.rounds == NOWHERE else (label,)
        report.error(code, f"{what} {verb} {missing}", span, labels=labels, help=help or usual)


def leaving_one(facts: Facts) -> str:
    """How to end a block with one of several thoughts, of which these facts are known."""
    unscored = "`Vote()`, or with `Score() ...` and `KeepBestN(1)`"
    return f"end with {'`KeepBestN(1)` or `Vote()`' if facts.scored else unscored}"


def require_one_score(facts: Facts, span: Span, report: Report) -> None:
    """Report thoughts that are compared by their scores and may have different ones."""
    if len(facts.scores) < 2:
        return
    first, *others = facts.scores
    other = next((score for score in others if score.lower != first.lower), others[0])
    message = "these thoughts have different scores, which cannot be compared"
    labels = tuple(
        Label(score.span, f"scored by {score.name} here, {'lower' if score.lower else 'higher'} is better")
        for score in (first, other)
    )
    help = "score them all by one score before it: `Score() ...`"
    report.error("GOT0320", message, span, "compared here", labels=labels, help=help)


_INSTEAD: Mapping[str, str] = {
    "`until`": "leave `until` out, and write `Score()` and `KeepBestN(1)` after the step",
    "`ValidateAndImprove`": "write a `repeat` with `Validate()` and `Improve()` in it",
    "a comprehension": "call it in a block, `foreach x in xs:` with `Pool() {}(x)` in it, then use `x`",
    "`after`": "call it in a step before the block, and use its name",
}


def refuse_asking(call: e.Call, scope: Scope, report: Report) -> None:
    """Report a score that calls a model where it cannot be called before the expression is evaluated."""
    name, place = call.function.text, scope.without_model_scores()
    if place:
        help = _INSTEAD.get(place, "").format(name) or None
        message = f"score `{name}` calls a model, which is not allowed in {place}"
        report.error("GOT0323", message, call.span, help=help)
    elif scope.find("truth") is not None and "truth" in free_names(call):
        message = f"score `{name}` calls a model, which must not see the truth"
        report.error("GOT0323", message, call.span, help="compare its number with `truth`")


def asking(scores: Sequence[n.Score], report: Report) -> set[str]:
    """The scores that call a model, by bindings or by other scores. One that calls itself is reported."""
    nodes = {score.name.text: score for score in scores}
    calls = {name: _called(node, nodes) for name, node in nodes.items()}
    found = {name for name, node in nodes.items() if len(node.body.statements) > 1}
    pending = list(found)
    while pending:
        asked = pending.pop()
        more = [name for name, called in calls.items() if asked in called and name not in found]
        found.update(more)
        pending += more
    reported: set[str] = set()
    for name in (name for name in nodes if name in found):
        if name in (reached := _reached(name, calls)) and not reached & reported:
            reported.add(name)
            message, help = f"score `{name}` calls a model and itself", "write a scheme instead"
            report.error("GOT0323", message, nodes[name].name.span, help=help)
    return found


def _reached(name: str, calls: Mapping[str, Mapping[str, None]]) -> set[str]:
    seen: set[str] = set()
    pending = list(calls[name])
    while pending:
        if (called := pending.pop()) not in seen:
            seen.add(called)
            pending += calls[called]
    return seen


_Body = TypeVar("_Body", bound="n.Scheme | n.Score | n.Metric")


def callees_first(schemes: Sequence[_Body]) -> Iterator[tuple[_Body, set[str]]]:
    """Schemes or scores with the names of those that they call, in topological order if they are not
    recursive."""
    nodes = {scheme.name.text: scheme for scheme in schemes}
    calls = {name: _called(node, nodes) for name, node in nodes.items()} if len(nodes) > 1 else {}
    for name in children_first(nodes, lambda name: calls.get(name, ())):
        yield nodes[name], set(calls.get(name, {name}))


def _called(node: n.Scheme | n.Score | n.Metric, among: Container[str]) -> dict[str, None]:
    """The schemes, or scores, that one calls, in order."""
    found = (part.function.text for part in walk(node.body) if isinstance(part, e.Call))
    return dict.fromkeys(name for name in found if name in among)

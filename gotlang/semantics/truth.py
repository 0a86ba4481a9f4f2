"""Checks where `GroundTruth` is allowed: it measures the result, so later steps must not change that."""

from __future__ import annotations

from gotlang.diagnostics import Label, Report
from gotlang.semantics.returns import inner_suites
from gotlang.syntax import nodes as n

_KEEPS_RESULT = {"Score", "Validate", "GroundTruth"}


def check_ground_truth(scheme: n.Scheme, report: Report) -> None:
    """Report a `GroundTruth` that does not measure the result of its scheme, and a second one."""
    _suite(scheme.body, None, [], report)


def _suite(suite: n.Suite, why: Label | None, seen: list[n.Step], report: Report) -> None:
    """Check a block; `why` it does not end with the result, `seen` is an earlier measurement."""
    laters = [why]  # why the output before a statement is not the result, from the last one on
    for statement in reversed(suite.statements[1:]):
        laters.append(laters[-1] if _keeps_result(statement) else Label(statement.span, "this changes it"))
    lost = any(map(n.is_unreadable, suite.statements))
    for statement, late in zip(suite.statements, reversed(laters), strict=True):
        value = statement.value if isinstance(statement, n.Bind) else statement
        if isinstance(statement, n.Bind) and statement is not suite.statements[-1]:
            late = Label(statement.name.span, "a name, not the result")
        late = None if lost else late
        match value:
            case n.Step(operation=operation) if operation.text == "GroundTruth":
                _measure(value, late, seen, report)
            case n.Suite():
                _suite(value, late, seen, report)
            case n.Foreach() | n.Reduce() | n.RepeatBlock():
                _suite(
                    value.body, Label(value.body.statements[0].span, "runs any number of times"), seen, report
                )
            case n.Search() | n.First():
                for part in inner_suites(value):
                    _suite(part, Label(part.span, "no result yet"), seen, report)
            case n.Labelled():
                _suite(value.body, late, seen, report)
            case n.If() | n.Match() | n.Try():
                before, most = list(seen), list(seen)
                for branch in inner_suites(value):
                    own = list(before)
                    _suite(branch, late, own, report)
                    most = max(most, own, key=len)
                seen[:] = most


def _keeps_result(statement: n.Statement) -> bool:
    return isinstance(statement, n.Step) and statement.operation.text in _KEEPS_RESULT


def _measure(step: n.Step, late: Label | None, seen: list[n.Step], report: Report) -> None:
    if seen:
        labels = (Label(seen[-1].span, "measured here already"),)
        help = "measure it once: join the conditions with `and`"
        report.error("GOT0325", "the result is measured twice", step.span, labels=labels, help=help)
    elif late is not None:
        message, help = (
            "`GroundTruth` measures the result, and this is not it",
            "make it the scheme's last step",
        )
        report.error("GOT0325", message, step.span, labels=(late,), help=help)
    seen.append(step)

"""Checks what stands around a step: its parentheses, its settings, how many operands it has, `Repeat(k)`."""

from __future__ import annotations

from typing import final

from gotlang.diagnostics import nearest
from gotlang.scope import Scope
from gotlang.semantics.calls import widen
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.operations import OPERATIONS, Operation
from gotlang.semantics.report import Report
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import STR, ListType, Type, accepts


def setting(step: n.Step, name: str) -> e.Expression | None:
    """The expression of a step's setting, by its name or by being the one that needs none."""
    first = OPERATIONS[step.operation.text].first
    for argument in step.settings or ():
        if (argument.name.text if argument.name is not None else first) == name:
            return argument.value
    return None


def is_one(node: e.Expression | None) -> bool:
    """Whether a setting is left out or plainly 1."""
    return node is None or (isinstance(node, e.Constant) and node.value == 1)


@final
class SettingChecker:
    """Checks settings against the table of operations."""

    def __init__(self, report: Report, expressions: ExpressionChecker) -> None:
        self.report = report
        self.expressions = expressions

    def operands(self, node: n.Step, operation: Operation) -> bool:
        """Whether a step has its parentheses and as many operands as its operation takes."""
        least, most = operation.operands
        count = len(node.operands)
        if node.settings is None and not operation.bare:
            self.report.error(
                "GOT0310",
                f"`{operation.name}` needs its parentheses",
                node.operation.span,
                help=f"for example `{operation.example}`",
            )
            return False
        if least <= count and (most is None or count <= most):
            return True
        wanted = (
            "nothing"
            if most == 0
            else str(least)
            if least == most
            else f"{least} or more"
            if most is None
            else f"{least} to {most}"
        )
        self.report.error(
            "GOT0310",
            f"`{operation.name}(...)` takes {wanted} after its settings, not {count}",
            node.span,
            help=f"for example `{operation.example}`",
        )
        return False

    def check(self, node: n.Step, operation: Operation, scope: Scope) -> None:
        """Check the settings of a step by name, number and type."""
        seen: set[str] = set()
        takes = f"it takes: {', '.join(operation.settings) or 'no settings'}"
        for argument in node.settings or ():
            name = argument.name.text if argument.name is not None else operation.first
            if name is None or (argument.name is None and name in seen):
                self.report.error(
                    "GOT0311",
                    f"`{operation.name}` takes no setting without a name here",
                    argument.span,
                    notes=(takes,),
                )
                continue
            if name not in operation.settings:
                guess = nearest(name, operation.settings)
                self.report.error(
                    "GOT0311",
                    f"`{operation.name}` has no setting `{name}`",
                    argument.span,
                    notes=(takes,),
                    help=f"did you mean `{guess}`?" if guess else None,
                )
                continue
            if name in seen:
                self.report.error("GOT0311", f"setting `{name}` stands twice", argument.span)
            seen.add(name)
            if name in {"until", "weight"}:
                continue  # evaluated once a thought, by the operation itself
            self.value(name, argument.value, operation.settings[name], scope)
        if operation.required and operation.first not in seen:
            self.report.error(
                "GOT0311",
                f"`{operation.name}` needs `{operation.first}`",
                node.span,
                help=f"for example `{operation.example}`",
            )

    def value(self, name: str, value: e.Expression, wanted: Type, scope: Scope) -> None:
        """Check the value of a setting, and that a plain number is one that can be."""
        found = self.expressions.expect(value, scope, wanted, f"`{name}`")
        if name == "stop" and not (accepts(STR, found) or accepts(ListType(STR), found)):
            self.report.error(
                "GOT0201", "`stop` must be a text or a list of texts", value.span, f"this is {widen(found)}"
            )
        least = {"k": 1, "n": 1, "max_tokens": 1, "tries": 0, "temperature": 0, "top_p": 0}.get(name)
        number = value.value if isinstance(value, e.Constant) else None
        if isinstance(value, e.Unary) and value.operator == "-" and isinstance(value.operand, e.Constant):
            number = -1 if isinstance(value.operand.value, int | float) and value.operand.value > 0 else None
        if least is not None and isinstance(number, int | float) and number < least:
            self.report.error("GOT0312", f"`{name}` must be at least {least}", value.span)

    def again(self, node: n.Step, scope: Scope) -> None:
        """Check the `Repeat(k)` after a step."""
        if node.again is None:
            return
        if node.again.operation.text != "Repeat":
            self.report.error(
                "GOT0309",
                f"`{node.again.operation.text}` starts a step of its own",
                node.again.span,
                help="put it on the next line; only `Repeat(k)` stands after a step",
            )
            return
        if node.operation.text not in {"Generate", "Improve", "Aggregate"}:
            self.report.error(
                "GOT0309",
                f"`{node.operation.text}` cannot be repeated",
                node.again.span,
                help="only a step that asks a model can",
            )
        if (until := setting(node, "until")) is not None:
            self.report.error(
                "GOT0309",
                "a step with `until` cannot be repeated: it would end all of it",
                until.span,
                help="put the step into a `foreach`",
            )
        self.check(node.again, OPERATIONS["Repeat"], scope)

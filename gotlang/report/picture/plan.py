"""The picture of a scheme's plan: its steps as they are written, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, final

from gotlang.ir import program as ir
from gotlang.ir.names import needed_names
from gotlang.ir.program import Program, Scheme
from gotlang.report.picture.nodes import NAMES, Group, Node, Picture
from gotlang.report.picture.run import without_lone_groups
from gotlang.report.picture.tidy import reduced
from gotlang.span import Source, Span
from gotlang.syntax.expressions import Constant, Expression
from gotlang.syntax.format_expressions import format_expression

Scope = dict[str, tuple[int, ...]]
"""The nodes that the thoughts of a name come from."""


def plan(program: Program, scheme: Scheme, sources: dict[str, Source]) -> Picture:
    """A scheme with the schemes it calls; one that calls itself is drawn once and named after that."""
    planner = _Planner(program, sources)
    inputs = ", ".join(f"{name}: {type_}" for name, type_ in scheme.parameters)
    start = planner.node("input", scheme.name, inputs, None, scheme.span)
    planner.region(scheme.body, {scheme.body.entry: (start,), "%start": (start,)}, None, (scheme.name,))
    nodes = tuple(planner.nodes)
    edges = reduced([node.id for node in nodes], planner.edges)
    title = f"{program.name}: scheme {scheme.name}"
    picture = Picture(
        title, nodes, tuple(planner.groups), tuple(edges), view="plan", details=dict(planner.details)
    )
    return without_lone_groups(picture)


@final
@dataclass(slots=True)
class _Planner:
    program: Program
    sources: dict[str, Source]
    nodes: list[Node] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    details: dict[int, Any] = field(default_factory=dict)

    def node(self, kind: str, label: str, detail: str, group: int | None, span: Span) -> int:
        """Add a node; its id."""
        number = len(self.nodes)
        source = self.sources.get(span.source)
        place = (
            f"{PurePath(source.name).name}:{source.position(span.start)[0]}" if source is not None else None
        )
        self.nodes.append(Node(number, kind, label, detail, "planned", group, place=place))
        return number

    def region(
        self, region: ir.Region, scope: Scope, group: int | None, calls: tuple[str, ...]
    ) -> tuple[int, ...]:
        """Add what is in a region; the nodes that its result comes from."""
        scope = dict(scope)
        for step in region.steps:
            scope[step.result] = self._step(step, scope, group, calls)
        return scope.get(region.result, ())

    def _step(
        self, step: ir.AnyStep, scope: Scope, group: int | None, calls: tuple[str, ...]
    ) -> tuple[int, ...]:
        pool = scope.get(step.pool, ())
        named = tuple(dict.fromkeys(n for name in needed_names(step) for n in scope.get(name, ())))
        sources = tuple(dict.fromkeys((*pool, *named)))
        match step:
            case ir.Foreach():
                inner = self._group(f"foreach {step.name}", group)
                elements = named if step.iterable is not None else pool
                entered = {step.body.entry: elements or sources, step.name: elements or sources}
                return self.region(step.body, {**scope, **entered}, inner, calls)
            case ir.Reduce():
                inner = self._group(f"reduce {step.left}, {step.right}", group)
                entered = dict.fromkeys((step.body.entry, step.left, step.right), sources)
                return self.region(step.body, {**scope, **entered}, inner, calls)
            case ir.Repeat():
                inner = self._group(f"repeat {_text(step.count)}", group)
                return self.region(step.body, {**scope, step.body.entry: sources}, inner, calls)
            case ir.If():
                return self._branch(step, scope, sources, group, calls)
            case ir.Block():
                inner = self._group(step.label, group)
                renamed = {name: scope.get(outer, ()) for name, outer in step.names}
                return self.region(step.body, {**scope, **renamed, step.body.entry: sources}, inner, calls)
            case ir.Invoke() if step.scheme not in calls:
                called = self.program.scheme(step.scheme)
                inner = self._group(f"scheme {step.scheme}", group)
                given = {name: named or sources for name, _ in called.parameters}
                entered = {called.body.entry: sources, "%start": sources}
                return self.region(called.body, {**given, **entered}, inner, (*calls, step.scheme))
        return (self._leaf(step, sources, group),)

    def _branch(
        self,
        step: ir.If,
        scope: Scope,
        sources: tuple[int, ...],
        group: int | None,
        calls: tuple[str, ...],
    ) -> tuple[int, ...]:
        outer = self._group("if", group)
        out: list[int] = []
        for condition, body in step.branches:
            inner = self._group(f"if {_text(condition)}", outer)
            out += self.region(body, {**scope, body.entry: sources}, inner, calls)
        if step.otherwise is not None:
            inner = self._group("else", outer)
            out += self.region(step.otherwise, {**scope, step.otherwise.entry: sources}, inner, calls)
        else:
            out += sources
        return tuple(dict.fromkeys(out))

    def _group(self, label: str, parent: int | None) -> int:
        self.groups.append(Group(len(self.groups), label, parent))
        return len(self.groups) - 1

    def _leaf(self, step: ir.AnyStep, sources: Iterable[int], group: int | None) -> int:
        kind, name, detail = _described(step)
        word = NAMES.get(kind, kind)
        number = self.node(kind, f"{word} {name}" if name else word, detail, group, step.span)
        self.edges += [(source, number) for source in sources]
        prompt = next((p for p in self.program.prompts if p.name == name), None)
        if prompt is not None:
            texts = {"system": prompt.system, "instruction": prompt.instruction, "user": prompt.user}
            self.details[number] = {"prompt": {k: v.text for k, v in texts.items() if v and v.text}}
        return number


def _described(step: ir.AnyStep) -> tuple[str, str, str]:
    """A step's kind, the name it goes by, and a few words."""
    match step:
        case ir.Sampling():
            settings = [f"{name} = {_text(value)}" for name, value in step.settings]
            return type(step).__name__, step.prompt, ", ".join([f"k = {_text(step.k)}", *settings])
        case ir.Score():
            value = _text(step.value) if step.value is not None and step.score is None else ""
            return "Score", step.score or "", value or _times(step.k)
        case ir.Validate():
            return "Validate", step.prompt or "", _text(step.condition)
        case ir.KeepValid():
            return "KeepValid", "", ""
        case ir.ValidateAndImprove():
            return "ValidateAndImprove", step.prompt, f"tries = {_text(step.tries)}"
        case ir.KeepBestN():
            return "KeepBestN", "", f"n = {_text(step.count)}"
        case ir.Select():
            return "Select", "", _text(step.condition if step.condition is not None else step.positions)
        case ir.Vote():
            return "Vote", "", f"weight = {_text(step.weight)}" if step.weight is not None else ""
        case ir.Map():
            return "Map", "", _text(step.value)
        case ir.Pool():
            return "Pool", "", ", ".join(map(_text, step.values))
        case ir.Retrieve():
            return "Retrieve", step.corpus, f"k = {_text(step.k)}"
        case ir.Call():
            return "Call", step.function, ""
        case ir.GroundTruth():
            return "GroundTruth", "", _text(step.condition)
        case ir.Invoke():
            return "scheme", step.scheme, "calls itself"
    return type(step).__name__.lower(), "", ""


def _times(k: Expression) -> str:
    return "" if isinstance(k, Constant) and k.value == 1 else f"k = {_text(k)}"


def _text(expression: Expression | None) -> str:
    return "" if expression is None else format_expression(expression)

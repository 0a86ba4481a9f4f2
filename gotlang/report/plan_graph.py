"""The picture of a scheme's plan: its steps as they are written, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, final

from gotlang.ir import program as ir
from gotlang.operations import block_title, record_of
from gotlang.operations.names import needed_names
from gotlang.report.picture import Group, Node, Picture, label, reduced, without_lone_groups
from gotlang.span import Source, Span
from gotlang.syntax.format import format_expression

Names = Mapping[str, tuple[int, ...]]
"""The nodes that the thoughts of each name come from."""


def plan(program: ir.Program, scheme: ir.Scheme, sources: Mapping[str, Source]) -> Picture:
    """A scheme with the schemes it calls; a recursive call is one node. `sources` are the program's files by
    name."""
    planner = _Planner(program, sources)
    inputs = ", ".join(f"{name}: {type_}" for name, type_ in scheme.parameters)
    start = planner.node("input", scheme.name, inputs, None, scheme.span)
    planner.region(scheme.body, {scheme.body.entry: (start,), "%start": (start,)}, None, (scheme.name,))
    return without_lone_groups(
        Picture(
            f"{program.name}: scheme {scheme.name}",
            tuple(planner.nodes),
            tuple(planner.groups),
            tuple(reduced([node.id for node in planner.nodes], planner.edges)),
            view="plan",
            details=dict(planner.details),
        )
    )


@final
@dataclass(slots=True)
class _Planner:
    program: ir.Program
    sources: Mapping[str, Source]
    nodes: list[Node] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    details: dict[int, Any] = field(default_factory=dict)

    def node(self, kind: str, text: str, detail: str, group: int | None, span: Span) -> int:
        """Add a node; its id."""
        source = self.sources.get(span.source)
        place = (
            f"{PurePath(source.name).name}:{source.position(span.start)[0]}" if source is not None else None
        )
        self.nodes.append(Node(len(self.nodes), kind, text, detail, "planned", group, place=place))
        return len(self.nodes) - 1

    def group(self, text: str, parent: int | None) -> int:
        """Add a group; its id."""
        self.groups.append(Group(len(self.groups), text, parent))
        return len(self.groups) - 1

    def region(
        self, region: ir.Region, names: Names, group: int | None, calls: tuple[str, ...]
    ) -> tuple[int, ...]:
        """Add what is in a region; the nodes that its result comes from."""
        names = dict(names)
        for step in region.steps:
            names[step.result] = self._step(step, names, group, calls)
        return names.get(region.result, ())

    def _step(
        self, step: ir.Step, names: Names, group: int | None, calls: tuple[str, ...]
    ) -> tuple[int, ...]:
        pool = names.get(step.pool, ())
        used = tuple(dict.fromkeys(n for name in needed_names(step) for n in names.get(name, ())))
        sources = tuple(dict.fromkeys((*pool, *used)))
        if isinstance(step, ir.Invoke) and step.scheme not in calls:
            called = self.program.scheme(step.scheme)
            given = {parameter: used or sources for parameter, _ in called.parameters}
            entered = {**given, called.body.entry: sources, "%start": sources}
            inner = self.group(f"scheme {step.scheme}", group)
            return self.region(called.body, entered, inner, (*calls, step.scheme))
        if not step.regions:
            return (self._leaf(step, sources, group),)
        inner = self.group(block_title(step), group)
        out: list[int] = []
        for body in step.regions:
            entered = {**names, body.entry: sources}
            own = inner
            match step:
                case ir.Foreach():
                    elements = (used if step.iterable is not None else pool) or sources
                    entered |= {body.entry: elements, step.name: elements}
                case ir.Reduce():
                    entered |= dict.fromkeys((step.left, step.right), sources)
                case ir.Block():
                    entered |= {name: names.get(outer, ()) for name, outer in step.names}
                case ir.If():
                    conditions = [
                        format_expression(condition) for condition, one in step.branches if one is body
                    ]
                    own = self.group(f"if {conditions[0]}" if conditions else "else", inner)
            out += self.region(body, entered, own, calls)
        passed_on = isinstance(step, ir.If) and step.otherwise is None
        return tuple(dict.fromkeys([*out, *sources] if passed_on else out))

    def _leaf(self, step: ir.Step, sources: tuple[int, ...], group: int | None) -> int:
        record = record_of(step)
        name, detail, _ = record.label(step)
        detail = "calls itself" if isinstance(step, ir.Invoke) else detail
        number = self.node(record.name, label(record.name, name), detail, group, step.span)
        self.edges += [(source, number) for source in sources]
        for prompt in self.program.prompts:
            if prompt.name == name:
                texts = {"system": prompt.system, "instruction": prompt.instruction, "user": prompt.user}
                self.details[number] = {"prompt": {k: v.text for k, v in texts.items() if v and v.text}}
        return number

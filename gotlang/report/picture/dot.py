"""A picture for Graphviz: a digraph with a cluster for each group."""

from __future__ import annotations

from collections.abc import Iterator

from gotlang.report.picture.nodes import COLORS, Group, Node, Picture


def dot(picture: Picture) -> str:
    """The text of a `.dot` file."""
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    nodes: dict[int | None, list[Node]] = {}
    for node in picture.nodes:
        nodes.setdefault(node.group, []).append(node)
    groups: dict[int | None, list[Group]] = {}
    for group in picture.groups:
        groups.setdefault(group.parent, []).append(group)
    yield f"digraph {_quoted(picture.title)} {{"
    yield '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11, fillcolor="#fff"];'
    yield '  graph [fontname="Helvetica", fontsize=11, color="#b8bfcc", style="rounded"];'
    yield '  edge [color="#8a93a6", arrowsize=0.6];'
    yield from _members(None, nodes, groups, "  ")
    for source, target in picture.edges:
        yield f"  n{source} -> n{target};"
    yield "}"


def _members(
    group: int | None, nodes: dict[int | None, list[Node]], groups: dict[int | None, list[Group]], indent: str
) -> Iterator[str]:
    for node in nodes.get(group, []):
        label = node.label + (f"\n{node.detail}" if node.detail else "")
        color = "#c0392b" if node.state == "failed" else COLORS[node.family][0]
        yield f'{indent}n{node.id} [label={_quoted(label)}, color="{color}"];'
    for inner in groups.get(group, []):
        yield f"{indent}subgraph cluster_{inner.id} {{"
        yield f"{indent}  label={_quoted(inner.label)};"
        yield from _members(inner.id, nodes, groups, indent + "  ")
        yield f"{indent}}}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

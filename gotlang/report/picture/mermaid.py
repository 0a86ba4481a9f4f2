"""A picture for Mermaid, which GitHub and GitLab draw in Markdown: a flowchart, a subgraph a group."""

from __future__ import annotations

from collections.abc import Iterator

from gotlang.report.picture.nodes import COLORS, Group, Node, Picture


def mermaid(picture: Picture) -> str:
    """The text of a `.mmd` file."""
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    nodes: dict[int | None, list[Node]] = {}
    for node in picture.nodes:
        nodes.setdefault(node.group, []).append(node)
    groups: dict[int | None, list[Group]] = {}
    for group in picture.groups:
        groups.setdefault(group.parent, []).append(group)
    yield "flowchart TD"
    yield from _members(None, nodes, groups, "  ")
    for source, target in picture.edges:
        yield f"  n{source} --> n{target}"
    for family in dict.fromkeys(node.family for node in picture.nodes):
        yield f"  classDef {family}_ stroke:{COLORS[family][0]},stroke-width:2px"
    if any(node.state == "failed" for node in picture.nodes):
        yield "  classDef failed_ stroke:#c0392b,stroke-width:3px"


def _members(
    group: int | None, nodes: dict[int | None, list[Node]], groups: dict[int | None, list[Group]], indent: str
) -> Iterator[str]:
    for node in nodes.get(group, []):
        label = _quoted(node.label) + (f"<br/>{_quoted(node.detail)}" if node.detail else "")
        style = "failed_" if node.state == "failed" else f"{node.family}_"
        yield f'{indent}n{node.id}("{label}"):::{style}'
    for inner in groups.get(group, []):
        yield f'{indent}subgraph g{inner.id}["{_quoted(inner.label)}"]'
        yield from _members(inner.id, nodes, groups, indent + "  ")
        yield f"{indent}end"


def _quoted(text: str) -> str:
    """Mermaid reads entities by number, with `#` for `&#`, and nothing else that is special inside quotes."""
    special = '"#<>&;`\\'
    return "".join(f"#{ord(c)};" if c in special else " " if c == "\n" else c for c in text)

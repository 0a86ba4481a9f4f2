"""The picture of what a run did, from its graph as plain data (see `gotlang.runtime.plain`)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, final

from gotlang.report.picture.nodes import FAMILIES, NAMES, Group, Node, Picture
from gotlang.report.picture.tidy import contract, reduced

HIDDEN = frozenset({"constant", "join", "grow"})
"""Operations that only pass thoughts on."""
_PART = re.compile(r"(.*?)((?:\[[^\]]*\])*)", re.DOTALL)
_SHOWN = 60

Made = tuple[int | None, int]


@final
@dataclass(slots=True)
class Groups:
    """The groups that paths of operations tell of: `main/part[3]/sort` is in element 3 of block `part`."""

    names: Mapping[str, str]
    found: dict[str, Group] = field(default_factory=dict)

    def of(self, path: str) -> int | None:
        """The innermost group of an operation's path; made where it is not known."""
        parts = path.split("/")
        parent: int | None = None
        walked = parts[0]
        for part in parts[1:-1]:
            match = _PART.fullmatch(part)
            assert match is not None
            numbers = re.findall(r"\[([^\]]*)\]", match[2])
            block = f"{walked}/{match[1]}"
            parent = self._add(block, self.names.get(block, match[1]), parent)
            for depth, number in enumerate(numbers):
                block += f"[{number}]"
                parent = self._add(block, self._label(block, number, depth, numbers), parent)
            walked = f"{walked}/{part}"
        return parent

    def _add(self, key: str, label: str, parent: int | None) -> int:
        if key not in self.found:
            self.found[key] = Group(len(self.found), label, parent)
        return self.found[key].id

    def _label(self, block: str, number: str, depth: int, numbers: Sequence[str]) -> str:
        name = self.names.get(_family(block), "")
        if name.startswith("reduce"):
            return f"level {number}" if depth == 0 and len(numbers) > 1 else f"pair {number}"
        if name.startswith("repeat"):
            return f"round {int(number) + 1}" if number.isdigit() else number
        if name.startswith("score"):
            return f"thought {number}"
        if name.startswith("foreach"):
            return f"{name.removeprefix('foreach ')} {number}"
        return f"[{number}]"


def _family(block: str) -> str:
    head, _, tail = block.rpartition("/")
    return f"{head}/{tail.split('[', 1)[0]}"


def execution(lines: Sequence[Mapping[str, Any]], title: str, **about: Any) -> Picture:
    """The operations of a run and the connections that carried thoughts between them."""
    groups = Groups(block_names(lines))
    scores = known_scores(lines)
    lower = _lower(lines)
    hidden = {line["operation"] for line in lines if line["kind"] in HIDDEN}
    edges = [(source, line["operation"]) for line in lines for source in _inputs(line)]
    kept, connected = contract([line["operation"] for line in lines], edges, hidden)
    there = set(kept)
    nodes = tuple(
        _operation(line, groups, scores, lower)
        for line in lines
        if line["operation"] in there and _shown(line, connected)
    )
    there = {node.id for node in nodes}
    connected = [edge for edge in connected if edge[0] in there and edge[1] in there]
    picture = Picture(
        title,
        nodes,
        tuple(groups.found.values()),
        tuple(reduced([node.id for node in nodes], connected)),
        lower=bool(_lower(lines)),
        **about,
    )
    return without_lone_groups(picture)


def _inputs(line: Mapping[str, Any]) -> list[int]:
    """What an operation directly follows: its inputs, else the operation that put it into the graph."""
    if line["inputs"]:
        return list(line["inputs"])
    return [] if line["origin"] is None else [line["origin"]]


def _shown(line: Mapping[str, Any], connected: list[tuple[int, int]]) -> bool:
    """Whether a machine's operation that `contract` left is needed: it joins others."""
    return line["kind"] not in HIDDEN or any(line["operation"] in edge for edge in connected)


def _operation(
    line: Mapping[str, Any], groups: Groups, scores: Mapping[Made, float], lower: Collection[Made]
) -> Node:
    thoughts = line["thoughts"]
    known = [scores[made] for t in thoughts if (made := _made(t)) in scores]
    best = (min if any(_made(t) in lower for t in thoughts) else max)(known) if known else None
    new = [t for t in thoughts if "value" in t]
    name = NAMES.get(line["kind"], line["kind"])
    prompt = line.get("prompt")
    return Node(
        line["operation"],
        line["kind"],
        f"{name} {prompt}" if prompt else name,
        _detail(line, len(new), best),
        state(line),
        groups.of(line["path"]),
        best,
        _cost(new),
        place_of(line),
    )


def state(line: Mapping[str, Any]) -> str:
    """How an operation ended; `cached` where all it asked for was there already."""
    sources = {source for asked in line.get("asked", ()) for source in asked["sources"]}
    return "cached" if line["state"] == "done" and sources and "model" not in sources else str(line["state"])


def unreadable(line: Mapping[str, Any]) -> int:
    """How many of the answers that an operation asked for gave no thought."""
    if FAMILIES.get(line["kind"]) != "ask" or line["kind"] == "ValidateAndImprove":
        return 0
    asked: int = sum(source != "skipped" for one in line.get("asked", ()) for source in one["sources"])
    return max(0, asked - sum("value" in thought for thought in line["thoughts"]))


def skipped(line: Mapping[str, Any]) -> int:
    """How many answers an operation wanted and was not allowed to ask for."""
    found: int = sum(one["sources"].count("skipped") for one in line.get("asked", ()))
    return found


def result_of(lines: Sequence[Mapping[str, Any]]) -> tuple[Made, ...]:
    """The thoughts that a run gave back: those of its scheme's last step, which may be a block's end."""
    last = next((line for line in reversed(lines) if line["path"].count("/") == 1), None)
    return tuple(_made(thought) for thought in last["thoughts"]) if last is not None else ()


def place_of(line: Mapping[str, Any]) -> str | None:
    """Where in the source an operation comes from: the file's name and the line."""
    return f"{PurePath(line['file']).name}:{line['line']}" if "file" in line else None


def _detail(line: Mapping[str, Any], new: int, best: float | None) -> str:
    count = new or len(line["thoughts"])
    parts = []
    if line["kind"] not in HIDDEN:
        lost = unreadable(line)
        of = f" of {count + lost} answers" if lost else ""
        parts.append(f"{count} thought{'' if count == 1 else 's'}{of}")
    if best is not None:
        parts.append(f"{'best ' if count > 1 else 'score '}{best:g}")
    return " · ".join(parts)


def _cost(thoughts: Iterable[Mapping[str, Any]]) -> float | None:
    known = [t["usd"] for t in thoughts if t.get("usd") is not None]
    return sum(known) if known else None


def block_names(lines: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What blocks are called, by the path that the operations in them start with."""
    out = {}
    for line in lines:
        if "block" in line:
            head, _, tail = line["path"].rpartition("/")
            tail = tail.removesuffix("[rated]").removeprefix("%")
            out[f"{head}/{tail}"] = line["block"]
        if "within" in line:
            out[_family(line["path"].rpartition("/")[0])] = line["within"]
    return out


def _made(thought: Mapping[str, Any]) -> Made:
    return thought["made"][0], thought["made"][1]


def known_scores(lines: Iterable[Mapping[str, Any]]) -> dict[Made, float]:
    """The last score that each thought was given."""
    return {_made(t): t["score"] for line in lines for t in line["thoughts"] if t.get("score") is not None}


def _lower(lines: Iterable[Mapping[str, Any]]) -> set[Made]:
    """The thoughts that were given a score of which less is better."""
    return {_made(t) for line in lines for t in line["thoughts"] if t.get("lower")}


def reasoning(lines: Sequence[Mapping[str, Any]], title: str, **about: Any) -> Picture:
    """The thoughts of a run, and which were made from which."""
    groups = Groups(block_names(lines))
    scores = known_scores(lines)
    numbers: dict[Made, int] = {}
    nodes: list[Node] = []
    parents: list[tuple[Made, int]] = []
    for line in lines:
        for thought in line["thoughts"]:
            if "value" not in thought or thought["made"][0] is None or _empty(line, thought):
                continue
            made = _made(thought)
            numbers[made] = number = len(nodes)
            parents += [((maker, index), number) for maker, index in thought["parents"]]
            valid = thought.get("valid")
            score = scores.get(made)
            by = NAMES.get(line["kind"], line["kind"]) + (f" {line['prompt']}" if "prompt" in line else "")
            nodes.append(
                Node(
                    number,
                    line["kind"],
                    short(thought["value"]),
                    by + (f" · {score:g}" if score is not None else ""),
                    "failed" if valid is False else "done",
                    groups.of(line["path"]),
                    score,
                    thought.get("usd"),
                    place_of(line),
                )
            )
    # A step that waited for a block stands before what the block grew into.
    edges = [(numbers[made], number) for made, number in parents if made in numbers]
    details = {node.id: made for made, node in zip(numbers, nodes, strict=True)}
    picture = Picture(
        title,
        tuple(nodes),
        tuple(groups.found.values()),
        tuple(dict.fromkeys(edges)),
        lower=bool(_lower(lines)),
        view="reasoning",
        details=details,
        results=tuple(numbers[made] for made in result_of(lines) if made in numbers),
        **about,
    )
    return without_lone_groups(picture)


def _empty(line: Mapping[str, Any], thought: Mapping[str, Any]) -> bool:
    """The empty thought that every scheme starts from, which says nothing."""
    return line["kind"] == "constant" and thought["value"] is None


def short(value: Any) -> str:
    """A value in one short line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def without_lone_groups(picture: Picture) -> Picture:
    """The picture without groups that hold nothing, and without those that only wrap another group."""
    import dataclasses

    inside: dict[int | None, int] = {}
    for node in picture.nodes:
        inside[node.group] = inside.get(node.group, 0) + 1
    groups = {group.id: group for group in picture.groups}
    children: dict[int | None, int] = {}
    for group in reversed(picture.groups):  # what is inside comes later
        if inside.get(group.id, 0) + children.get(group.id, 0) == 0:
            del groups[group.id]
        else:
            children[group.parent] = children.get(group.parent, 0) + 1
    moved: dict[int, int] = {}
    for group in reversed(picture.groups):
        parent = groups.get(group.parent) if group.parent is not None else None
        if group.id not in groups or parent is None:
            continue
        if inside.get(parent.id, 0) == 0 and children[parent.id] == 1:
            # `foreach part` with one element: one frame is enough, and it has the block's name.
            moved[group.id] = parent.id
            inside[parent.id] = inside.get(group.id, 0)
            children[parent.id] = children.get(group.id, 0)
            del groups[group.id]

    def now(group: int | None) -> int | None:
        while group is not None and group in moved:
            group = moved[group]
        return group

    return dataclasses.replace(
        picture,
        nodes=tuple(dataclasses.replace(node, group=now(node.group)) for node in picture.nodes),
        groups=tuple(
            dataclasses.replace(group, parent=now(group.parent))
            for group in picture.groups
            if group.id in groups
        ),
    )

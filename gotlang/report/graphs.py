"""Pictures of graphs: the plan of a scheme, and the graph of a run with the details of its operations.

A run is drawn from its graph as plain data (see `gotlang.runtime.plain`), its operations (`execution`) or its
thoughts (`reasoning`); a plan from the steps of the IR, as written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, Final, final

from gotlang.cache.base import Cache
from gotlang.errors import GotError
from gotlang.ir import program as ir
from gotlang.models.media import media_of
from gotlang.models.parts import url_of_data
from gotlang.operations import block_title, record_of
from gotlang.operations.names import needed_names
from gotlang.report.picture import (
    Group,
    Picture,
    PictureNode,
    contract,
    label,
    reduced,
    sorted_by_dependency,
    without_lone_groups,
)
from gotlang.span import Source, Span

HIDDEN = frozenset({"constant", "join", "grow", "try", "result", "answered"})
"""Kinds of operations that only pass thoughts on."""
LONGEST_VALUE = 60
_REQUEST: Final = ("model", "messages", "settings")
"""The data of a request for the page."""
PICTURE_BYTES: Final = 1_000_000
"""Maximum size of a picture on a page."""
_JSON: Final = json.JSONEncoder(ensure_ascii=False, default=str)
_PART = re.compile(r"(.*?)((?:\[[^\]]*\])*)", re.DOTALL)

Line = Mapping[str, Any]
"""An operation as plain data (see `gotlang.runtime.plain`)."""
Made = tuple[int | None, int]
"""A thought: the number of the operation that made it, and its number there."""


def execution(lines: Sequence[Line], title: str) -> Picture:
    """The operations of a run, and the connections that carried thoughts between them."""
    groups = Groups(block_names(lines))
    scores = known_scores(lines)
    lower = {made_of(t) for line in lines for t in line["thoughts"] if t.get("lower")}
    hidden = {line["operation"] for line in lines if line["kind"] in HIDDEN}
    # An operation follows its inputs, else the operation that added it to the graph.
    edges = [
        (source, line["operation"])
        for line in lines
        for source in line["inputs"] or ([] if line["origin"] is None else [line["origin"]])
    ]
    kept, connected = contract([line["operation"] for line in lines], edges, hidden)
    shown = set(kept) - hidden | {end for edge in connected for end in edge}
    values = {made_of(t): t["value"] for line in lines for t in line["thoughts"] if "value" in t}
    nodes = []
    for line in lines:
        if line["operation"] not in shown:
            continue
        thoughts = line["thoughts"]
        known = [scores[made] for t in thoughts if (made := made_of(t)) in scores]
        best = (min if any(made_of(t) in lower for t in thoughts) else max)(known) if known else None
        usd = [t["usd"] for t in thoughts if "value" in t and t.get("usd") is not None]
        about = (line["operation"], line["kind"], title_of(line), _detail(line, best), state_of(line))
        cost = sum(usd) if usd else None
        seconds = line["ended"] - line["began"] if {"began", "ended"} <= line.keys() else None
        first = next((t for t in thoughts if scores.get(made_of(t)) == best), None)
        value = values.get(made_of(first)) if first is not None else None
        words = "" if value is None or line["kind"] in HIDDEN else short(value)
        words = "" if words in about[3] else words
        place = place_of(line)
        nodes.append(PictureNode(*about, groups.of(line["path"]), best, cost, place, seconds, words))
    found = reduced([node.id for node in nodes], connected)
    picture = Picture(title, tuple(nodes), tuple(groups.found), tuple(found), lower=bool(lower))
    return without_lone_groups(picture)


def pictures(lines: Sequence[Line], title: str) -> list[Picture]:
    """The views of a run: its operations, its thoughts, and its time line if its times are known."""
    operations = execution(lines, title)
    times = timeline(lines, operations.nodes, title)
    return [operations, reasoning(lines, title), *([times] if times is not None else [])]


def _detail(line: Line, best: float | None) -> str:
    """The score and value of a single new thought, else `3 thoughts of 5 responses · best 2`."""
    thoughts, lost = line["thoughts"], unreadable(line)
    if not thoughts and line["state"] in ("waiting", "ready", "running"):
        return ""
    new = [thought["value"] for thought in thoughts if "value" in thought]
    count = len(new) or len(thoughts)
    known = "" if best is None else f"{'best' if count > 1 else 'score'} {best:g}"
    if len(new) == 1 and not lost and new[0] is not None:
        parts = [known, short(new[0])]
    else:
        of = f" of {count + lost} responses" if lost else ""
        hub = line["kind"] in HIDDEN
        parts = ["" if hub else f"{count} thought{'' if count == 1 else 's'}{of}", known]
    return " · ".join(part for part in parts if part)


def reasoning(lines: Sequence[Line], title: str) -> Picture:
    """The thoughts of a run, and their parents."""
    groups = Groups(block_names(lines))
    scores = known_scores(lines)
    numbers: dict[Made, int] = {}
    nodes: list[PictureNode] = []
    parents: list[tuple[Made, int]] = []
    for line in lines:
        for thought in line["thoughts"]:
            made = made_of(thought)
            # Every scheme starts from an empty thought, which has no information.
            empty = line["kind"] == "constant" and thought.get("value") is None
            if "value" not in thought or made[0] is None or empty:
                continue
            numbers[made] = number = len(nodes)
            parents += [((maker, index), number) for maker, index in thought["parents"]]
            score = scores.get(made)
            detail = title_of(line) + (f" · {score:g}" if score is not None else "")
            state = "failed" if thought.get("valid") is False else "done"
            about = (number, line["kind"], short(thought["value"]), detail, state)
            nodes.append(
                PictureNode(*about, groups.of(line["path"]), score, thought.get("usd"), place_of(line))
            )
    # Only now are all numbers known: a step that waited for a block comes before the operations that the
    # block added.
    edges = [(numbers[made], number) for made, number in parents if made in numbers]
    return without_lone_groups(
        Picture(
            title,
            tuple(nodes),
            tuple(groups.found),
            tuple(dict.fromkeys(edges)),
            lower=any(t.get("lower") for line in lines for t in line["thoughts"]),
            view="reasoning",
            details={number: made for made, number in numbers.items()},
            results=tuple(numbers[made] for made in _returned(lines) if made in numbers),
        )
    )


def _returned(lines: Sequence[Line]) -> list[Made]:
    """The thoughts that a run returned: those of its scheme's last step, which may be the end of a block."""
    last = next((line for line in reversed(lines) if line["path"].count("/") == 1), None)
    return [made_of(thought) for thought in last["thoughts"]] if last is not None else []


def title_of(line: Line) -> str:
    """An operation as programs write it."""
    return label(line["kind"], line.get("prompt"))


def made_of(thought: Mapping[str, Any]) -> Made:
    """The identity of a thought."""
    return thought["made"][0], thought["made"][1]


def known_scores(lines: Iterable[Line]) -> dict[Made, float]:
    """The last score of each thought."""
    return {made_of(t): t["score"] for line in lines for t in line["thoughts"] if t.get("score") is not None}


def state_of(line: Line) -> str:
    """The final state of an operation; `cached` if all of its responses came from the cache."""
    sources = {source for asked in line.get("asked", ()) for source in asked["sources"]}
    return "cached" if line["state"] == "done" and sources and "model" not in sources else str(line["state"])


def unreadable(line: Line) -> int:
    """The number of an operation's responses without a thought."""
    if line["kind"] not in ("Generate", "Improve", "Aggregate"):
        return 0
    asked: int = sum(source != "skipped" for one in line.get("asked", ()) for source in one["sources"])
    return max(0, asked - sum("value" in thought for thought in line["thoughts"]))


def skipped(line: Line) -> int:
    """The number of calls that an operation was not allowed to make."""
    found: int = sum(one["sources"].count("skipped") for one in line.get("asked", ()))
    return found


def place_of(line: Line) -> str | None:
    """The place of an operation in the source: the file's name and the line."""
    return f"{_name(line['file'])}:{line['line']}" if "file" in line else None


@lru_cache(256)
def _name(file: str) -> str:
    return PurePath(file).name


def short(value: Any) -> str:
    """A value on one short line."""
    match value:
        case {"text": str() as said, "calls": list() as calls, **rest} if not rest:  # a turn with tools
            value = said_with(said, [(str(one["tool"]), str(one["arguments"])) for one in calls])
    text = value if isinstance(value, str) else _JSON.encode(value)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def said_with(text: str, calls: Iterable[tuple[str, str]]) -> str:
    """A response with its tool calls: the name of each and its arguments as JSON text."""
    return "\n".join(filter(None, [text, *(f"{name}({arguments})" for name, arguments in calls)]))


@final
@dataclass(slots=True)
class Groups:
    """The groups in the paths of operations: `main/part[3]/sort` is in element 3 of block `part`."""

    names: Mapping[str, str]
    found: list[Group] = field(default_factory=list)
    _ids: dict[str, int] = field(default_factory=dict)
    _within: dict[str, int | None] = field(default_factory=dict)

    def of(self, path: str) -> int | None:
        """The innermost group of an operation's path; made if it is new."""
        head, new = path.rpartition("/")[0], list[str]()
        while "/" in head and head not in self._within:
            new.append(head)
            head = head.rpartition("/")[0]
        group = self._within.get(head)
        for inner in reversed(new):
            self._within[inner] = group = self._inside(inner, group)
        return group

    def _inside(self, path: str, parent: int | None) -> int | None:
        outer, _, part = path.rpartition("/")
        match = _PART.fullmatch(part)
        assert match is not None
        numbers = re.findall(r"\[([^\]]*)\]", match[2])
        block = f"{outer}/{match[1]}"
        name = self.names.get(block, "")
        parent = self._add(block, name or match[1], parent)
        for depth, number in enumerate(numbers):
            block += f"[{number}]"
            parent = self._add(block, _turn(name or match[1], number, depth, len(numbers)), parent)
        return parent

    def _add(self, key: str, text: str, parent: int | None) -> int:
        if key not in self._ids:
            self._ids[key] = len(self.found)
            self.found.append(Group(len(self.found), text, parent))
        return self._ids[key]


def _turn(block: str, number: str, depth: int, depths: int) -> str:
    """The name of one run of a block, by one of the numbers in its path; `turn[0][1]` is the second call of
    the first turn of a conversation with tools."""
    word, _, rest = block.partition(" ")
    match word:
        case "reduce":
            return f"level {number}" if depth < depths - 1 else f"pair {number}"
        case "turn" if number.isdigit():
            return f"{'call' if depth else 'turn'} {int(number) + 1}"
        case "repeat":
            return f"round {int(number) + 1}" if number.isdigit() else number
        case "score":
            return f"thought {number}"
        case "foreach":
            return f"{rest} {number}"
    return f"[{number}]"


def block_names(lines: Iterable[Line]) -> dict[str, str]:
    """The names of blocks, by the common prefix of the paths of their operations."""
    out = {}
    for line in lines:
        head, _, tail = line["path"].rpartition("/")
        if "block" in line:
            out[f"{head}/{tail.removesuffix('[rated]').removeprefix('%')}"] = line["block"]
        if "within" in line:
            outer, _, block = head.rpartition("/")
            out[f"{outer}/{block.split('[', 1)[0]}"] = line["within"]
    return out


def details(
    lines: Sequence[Line], cache: Cache | None, sources: Iterable[Source], inputs: object = None
) -> dict[str, Any]:
    """The details of a page: `operations` by number, `requests` once each, the source's lines as `places`,
    and as `pictures` the images in the requests, by digest, that the run's `inputs` name.

    `sources` are the program's files. Without a cache, prompts and responses are unknown.
    """
    numbers: dict[str, int] = {}
    operations: dict[int, dict[str, Any]] = {}
    for line in lines:
        asked = []
        for one in line.get("asked", []):
            key, samples = one["key"], one["samples"]
            stored = cache.get(key, samples) if cache is not None else {}
            found_of = [stored[sample].completion if sample in stored else None for sample in samples]
            texts = [
                said_with(one.text, [(c.name, c.arguments) for c in one.calls]) if one is not None else None
                for one in found_of
            ]
            asked.append([numbers.setdefault(key, len(numbers)), samples, one["sources"], texts])
        found = {name: line[name] for name in ("path", "hops", "failed", "thoughts") if name in line}
        operations[line["operation"]] = found | ({"asked": asked} if asked else {})
    requests = [cache.request(key) or {} for key in numbers] if cache is not None else [{} for _ in numbers]
    return {
        "operations": operations,
        "requests": [
            {"key": key} | {name: request.get(name) for name in _REQUEST}
            for key, request in zip(numbers, requests, strict=True)
        ],
        "places": source_lines((place_of(line) for line in lines), sources),
        "pictures": _pictures(requests, inputs),
    }


def _pictures(requests: Iterable[Mapping[str, Any]], inputs: object) -> dict[str, str]:
    """The images in requests as `data:` URLs, by digest: if inputs name files with the same content, up to
    `PICTURE_BYTES` each and ten times that together."""
    more = [part for request in requests for _, _, *parts in request.get("messages") or () for part in parts]
    wanted = {digest for part in more for kind, _, digest in part.get("media", ()) if kind == "image"}
    found: dict[str, str] = {}
    waiting, left = [inputs] if wanted else [], 10 * PICTURE_BYTES
    while waiting:
        match waiting.pop():
            case str() as path:
                with suppress(GotError, OSError):
                    media, size = media_of("image", path), Path(path).stat().st_size
                    if media.digest in wanted - found.keys() and size <= min(left, PICTURE_BYTES):
                        found[media.digest], left = url_of_data(media), left - size
            case list() as values:
                waiting += values
            case dict() as values:
                waiting += values.values()
    return found


def source_lines(places: Iterable[str | None], sources: Iterable[Source]) -> dict[str, str]:
    """The text of each place (`sort.got:60`) in the files of a program."""
    files = {PurePath(source.name).name: source for source in sources}
    split = {place: place.rpartition(":") for place in places if place is not None}
    found = {
        place: files[name].line(int(n)).strip() for place, (name, _, n) in split.items() if name in files
    }
    return {place: text for place, text in found.items() if text}


# ---------------------------------------------------------------- plans

_DEEPEST = 100
"""Maximum number of nested calls that are drawn; a deeper one is one node, as a recursive one is."""
Names = Mapping[str, tuple[int, ...]]
"""The nodes of each name's thoughts."""


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
    nodes: list[PictureNode] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    details: dict[int, Any] = field(default_factory=dict)

    def node(self, kind: str, text: str, detail: str, group: int | None, span: Span) -> int:
        """Add a node; its id."""
        source = self.sources.get(span.source)
        place = (
            f"{PurePath(source.name).name}:{source.position(span.start)[0]}" if source is not None else None
        )
        self.nodes.append(PictureNode(len(self.nodes), kind, text, detail, "planned", group, place=place))
        return len(self.nodes) - 1

    def group(self, text: str, parent: int | None) -> int:
        """Add a group; its id."""
        self.groups.append(Group(len(self.groups), text, parent))
        return len(self.groups) - 1

    def region(
        self, region: ir.Region, names: Names, group: int | None, calls: tuple[str, ...]
    ) -> tuple[int, ...]:
        """Add the content of a region; returns the nodes of its result."""
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
        if isinstance(step, ir.Invoke) and step.scheme not in calls and len(calls) < _DEEPEST:
            called = self.program.scheme(step.scheme)
            given = {parameter: used or sources for parameter, _ in called.parameters}
            entered = {**given, called.body.entry: sources, "%start": sources}
            inner = self.group(f"scheme {step.scheme}", group)
            return self.region(called.body, entered, inner, (*calls, step.scheme))
        if not step.regions:
            return (self._leaf(step, sources, group),)
        inner = self.group(block_title(step), group)
        heads = step.heads if isinstance(step, ir.Branching) else ()
        out: list[int] = []
        for place, body in enumerate(step.regions):
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
                case ir.Search():
                    entered |= {step.name: sources}
                    word = "value" if body is step.value else "expand" if body is step.expand else "simulate"
                    own = self.group(word, inner)
                case ir.Branching():
                    word = "if " if isinstance(step, ir.If) else ""
                    own = self.group(word + heads[place] if place < len(heads) else "else", inner)
                case ir.Try() if body is step.otherwise:
                    own = self.group("else", inner)
            out += self.region(body, entered, own, calls)
        passed_on = isinstance(step, ir.Branching) and step.passes_on
        return tuple(dict.fromkeys([*out, *sources] if passed_on else out))

    def _leaf(self, step: ir.Step, sources: tuple[int, ...], group: int | None) -> int:
        record = record_of(step)
        labelled = record.label(step)
        name, detail = labelled.name, labelled.detail
        detail = "calls itself" if isinstance(step, ir.Invoke) else detail
        number = self.node(record.name, label(record.name, name), detail, group, step.span)
        self.edges += [(source, number) for source in sources]
        for prompt in self.program.prompts:
            if prompt.name == name:
                texts = {"instruction": prompt.instruction.text} if prompt.instruction is not None else {}
                for turn in prompt.all_turns:
                    said, role = (turn.text.text, turn.role) if turn.text else (turn.history, "messages")
                    texts[role] = "\n\n".join(filter(None, (texts.get(role), said)))
                self.details[number] = {"prompt": {role: text for role, text in texts.items() if text}}
        return number


def timeline(lines: Sequence[Line], nodes: Sequence[PictureNode], title: str) -> Picture | None:
    """The operations among `nodes` that waited, each with its start and end as its details (None: it has not
    ended), a connection to each from the one that it waited for last, and as results the critical path: from
    the one that ended last, backwards. None if no times are known."""
    began = {line["operation"]: line["began"] for line in lines if "began" in line}
    ended = {line["operation"]: line["ended"] for line in lines if "ended" in line}
    shown = tuple(node for node in nodes if node.id in began)
    if not shown:
        return None
    waited = _waited_for(lines, began, ended)
    edges = tuple((source, node.id) for node in shown if (source := waited[node.id]) is not None)
    path: list[int] = []
    at: int | None = max((node.id for node in shown), key=lambda number: ended.get(number, float("inf")))
    while at is not None:
        path.append(at)
        at = waited[at]
    return Picture(
        title,
        tuple(replace(node, group=None) for node in shown),
        edges=edges,
        view="time line",
        details={node.id: (began[node.id], ended.get(node.id)) for node in shown},
        results=tuple(reversed(path)),
    )


def _waited_for(
    lines: Sequence[Line], began: Mapping[int, float], ended: Mapping[int, float]
) -> dict[int, int | None]:
    """For each operation, the one that ended last among those before it in `began`: the earliest time at
    which it could begin."""
    before = {
        line["operation"]: [*line["inputs"], *(one for one in [line["origin"]] if one is not None)]
        for line in lines
    }
    edges = [(source, number) for number, sources in before.items() for source in sources if source in before]
    found: dict[int, int | None] = {}
    for number in sorted_by_dependency(before, edges):
        sources = [one if one in began else found.get(one) for one in before[number]]
        known = [one for one in sources if one is not None and one in ended and one != number]
        found[number] = max(known, key=lambda one: (ended[one], one), default=None)
    return found

"""Pictures: what is taken out of a graph and what stays; layouts without overlaps; each format."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any
from xml.dom import minidom

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.gotc import SORT128, SORTING, digits, document, gotc, row

from gotlang.api import Options, compile, load
from gotlang.errors import UsageError
from gotlang.models.simulated import SimulatedModel
from gotlang.report.formats import cut, dot, mermaid, svg
from gotlang.report.graphs import execution, plan, reasoning
from gotlang.report.layout import arrange, fold_deep, place
from gotlang.report.picture import (
    WHOLE,
    Group,
    Picture,
    PictureNode,
    contract,
    reduced,
    sorted_by_dependency,
    without_lone_groups,
)
from gotlang.report.plot import plot
from gotlang.runtime.plain import RequestLog, operations

EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30)


def forward(edges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]


def reach(nodes: range, edges: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """All pairs with a way from one to the other."""
    found = set(edges)
    for middle in nodes:
        found |= {(a, c) for a, b in found if b == middle for b2, c in found if b2 == middle}
    return found


@given(EDGES)
def test_what_a_longer_way_implies_is_left_out_and_nothing_else(edges: list[tuple[int, int]]) -> None:
    edges = forward(edges)
    kept = reduced(range(12), edges)
    assert reach(range(12), kept) == reach(range(12), edges)
    for edge in kept:
        assert edge not in reach(range(12), [other for other in kept if other != edge])


@given(EDGES, st.sets(st.integers(0, 11)))
def test_what_led_through_a_hidden_node_leads_past_it(edges: list[tuple[int, int]], hidden: set[int]) -> None:
    edges = forward(edges)
    left, kept = contract(range(12), edges, hidden)
    assert [node for node in range(12) if node not in hidden] == [node for node in left if node not in hidden]
    wanted = {(a, b) for a, b in reach(range(12), edges) if a in left and b in left}
    assert reach(range(12), kept) == wanted


def test_a_hub_stays_where_it_spares_connections() -> None:
    edges = [(a, 10) for a in range(5)] + [(10, b) for b in range(5, 10)]
    assert len(contract(range(11), edges, {10})[1]) == 10


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=20))
def test_circles_do_not_stop_the_layout(edges: list[tuple[int, int]]) -> None:
    assert sorted(sorted_by_dependency(range(9), edges)) == list(range(9))


@st.composite
def pictures(draw: st.DrawFn) -> Picture:
    count = draw(st.integers(0, 6))
    parents = [draw(st.none() | st.integers(0, i - 1)) if i else None for i in range(count)]
    groups = tuple(Group(i, f"group {i}", parent) for i, parent in enumerate(parents))
    homes = draw(
        st.lists(st.none() | st.integers(0, count - 1) if count else st.none(), min_size=1, max_size=14)
    )
    nodes = tuple(PictureNode(i, "Generate", f"node {i}", group=home) for i, home in enumerate(homes))
    pairs = draw(
        st.lists(st.tuples(st.integers(0, len(nodes) - 1), st.integers(0, len(nodes) - 1)), max_size=25)
    )
    return Picture("a picture", nodes, groups, tuple(pair for pair in pairs if pair[0] != pair[1]))


@given(pictures(), st.sets(st.integers(0, 5).map("g{}".format)))
def test_boxes_never_overlap_and_lie_in_their_groups(picture: Picture, folded: set[str]) -> None:
    arrangements = arrange(picture)
    boxes, whole = place(picture, arrangements, folded)
    for group, arrangement in arrangements.items():
        inside = [boxes[item] for line in arrangement.rows for item in line if item in boxes]
        for number, one in enumerate(inside):
            for other in inside[number + 1 :]:
                apart = (
                    one.x + one.width <= other.x + 1e-6
                    or other.x + other.width <= one.x + 1e-6
                    or one.y + one.height <= other.y + 1e-6
                    or other.y + other.height <= one.y + 1e-6
                )
                assert apart
        if group in boxes and group not in folded:
            around = boxes[group]
            for box in inside:
                assert around.x <= box.x
                assert box.x + box.width <= around.x + around.width + 1e-6
                assert around.y <= box.y
                assert box.y + box.height <= around.y + around.height + 1e-6
    for box in boxes.values():
        assert box.x >= -1e-6
        assert box.x + box.width <= whole.width + 1e-6
    minidom.parseString(svg(picture, folded))


@given(pictures())
def test_groups_that_frame_nothing_of_their_own_are_left_out(picture: Picture) -> None:
    found = without_lone_groups(picture)
    inside = list(found.around().values())
    assert all(inside.count(group.key) > 0 for group in found.groups)
    only = [keys[0] for group in found.groups if len(keys := members(found, group.key)) == 1]
    assert not [key for key in only if key.startswith("g")]
    assert [(node.id, node.label) for node in found.nodes] == [(n.id, n.label) for n in picture.nodes]


def members(picture: Picture, group: str) -> list[str]:
    return [key for key, around in picture.around().items() if around == group]


PROGRAM = """
prompt guess(n: int) -> int:
    "guess {{ n }}"
prompt add(a: int, b: int) -> int:
    "{{ a }} + {{ b }}"
score distance(got: int, n: int) -> lower, best 0:
    abs(got - n)
scheme one(n: int) -> int:
    Generate(k=2) guess(n)
    Score() distance(it, n)
    KeepBestN(1)
scheme main(ns: list[int]) -> int:
    foreach n in ns:
        one(n)
    reduce a, b:
        Aggregate(1) add(a, b)
"""


def lines_of(count: int) -> list[dict[str, Any]]:
    program = compile(PROGRAM, "main.got")
    asks = RequestLog()
    simulators = {"guess": lambda rng, n: str(n + rng.randrange(5)), "add": lambda rng, a, b: str(a + b)}
    model = SimulatedModel(simulators)
    result = program.run(ns=list(range(count)), options=Options(model=model, observe=asks))
    found = operations(result.outcome.graph, program.compilation.sources, asks)
    lines: list[dict[str, Any]] = json.loads(json.dumps(list(found)))
    return lines


def test_many_side_by_side_stand_in_lines_of_about_the_same_length() -> None:
    for count, lines in ((12, [12]), (13, [7, 6]), (25, [9, 9, 7]), (60, [12] * 5)):
        rows = arrange(Picture("many", tuple(PictureNode(i, "Generate", "ask") for i in range(count))))[
            WHOLE
        ].rows
        assert [len(row) for row in rows] == lines
        assert [item for row in rows for item in row] == [f"n{i}" for i in range(count)]


def test_a_run_is_drawn_in_the_blocks_of_its_program() -> None:
    picture = execution(lines_of(4), "a run")
    labels = [group.label for group in picture.groups]
    assert labels[0] == "foreach n"
    assert {"n 0", "n 3", "reduce a, b", "level 1", "pair 2"} <= set(labels)
    kinds = [node.kind for node in picture.nodes]
    assert (kinds.count("Generate"), kinds.count("KeepBestN"), kinds.count("Aggregate")) == (4, 4, 3)
    assert "join" not in kinds
    best = next(node for node in picture.nodes if node.kind == "KeepBestN")
    made = next(node for node in picture.nodes if node.kind == "Generate")
    assert best.detail == f"1 thought · score {best.score:g}"
    assert made.label == "Generate guess"
    assert made.score == best.score  # what a thought was scored later is known where it was made
    assert made.place is not None
    assert made.place.startswith("main.got:")


def test_thoughts_are_drawn_with_what_they_came_from() -> None:
    picture = reasoning(lines_of(2), "a run")
    last = next(node for node in picture.nodes if node.kind == "Aggregate")
    assert sum(target == last.id for _, target in picture.edges) == 2
    assert [node.kind for node in picture.nodes].count("Generate") == 4


GROWN = """
prompt guess(n: int) -> int:
    "guess {{ n }}"
scheme main(n: int) -> int:
    repeat n:
        Generate() guess(n)
    Map() it + 1
"""


def test_a_thought_comes_from_those_that_a_block_grew_after_it_was_planned() -> None:
    program = compile(GROWN, "main.got")
    asks = RequestLog()
    model = SimulatedModel({"guess": lambda rng, n: str(n)})
    result = program.run(n=2, options=Options(model=model, observe=asks))
    lines = list(operations(result.outcome.graph, program.compilation.sources, asks))
    picture = reasoning(json.loads(json.dumps(lines)), "a run")
    (last,) = [node.id for node in picture.nodes if node.kind == "Map"]
    assert picture.results == (last,)
    assert last in {target for _, target in picture.edges}


def test_one_element_needs_no_frame_of_its_own() -> None:
    labels = [group.label for group in execution(lines_of(1), "a run").groups]
    assert labels == ["foreach n"]


def test_a_plan_shows_steps_as_they_are_written() -> None:
    program = compile(PROGRAM, "main.got")
    picture = plan(program.ir(0), program.scheme("main"), dict(program.compilation.sources))
    assert [group.label for group in picture.groups] == ["foreach n", "reduce a, b"]
    ask = next(node for node in picture.nodes if node.kind == "Generate")
    assert (ask.label, ask.detail, ask.state) == ("Generate guess", "k = 2", "planned")
    assert picture.details[ask.id] == {"prompt": {"user": "guess {{ n }}"}}


def test_every_program_has_a_plan() -> None:
    for path in sorted(SORT128.parent.rglob("*.got")):
        program = load(path)
        for scheme in program.ir(0).schemes:
            picture = plan(program.ir(0), scheme, dict(program.compilation.sources))
            minidom.parseString(svg(picture))
            reached = {target for _, target in picture.edges}
            alone = [node.label for node in picture.nodes if node.id not in reached and node.kind != "input"]
            assert alone == [], (path, scheme.name)


def test_many_operations_are_folded_level_by_level() -> None:
    groups = (Group(0, "all"), *(Group(i, f"part {i}", 0) for i in range(1, 5)))
    nodes = tuple(PictureNode(i, "Generate", "ask", group=1 + i % 4) for i in range(40))
    picture = Picture("wide", nodes, groups)
    assert fold_deep(picture, 100) == set()
    assert fold_deep(picture, 10) == {"g1", "g2", "g3", "g4"}
    assert fold_deep(picture, 3) == {"g0", "g1", "g2", "g3", "g4"}


NASTY = Picture(
    'a "title" <b>&',
    (PictureNode(0, "Generate", 'say "hi" <b> & \\ ; `x`', "two\nlines"),),
    (Group(0, "a]b"),),
)


def test_labels_are_quoted_in_every_format() -> None:
    assert 'label="say \\"hi\\" <b> & \\\\ ; `x`\\ntwo\\nlines"' in dot(NASTY)
    drawn = minidom.parseString(svg(NASTY)).getElementsByTagName("text")
    assert any("say " in node.firstChild.data for node in drawn if node.firstChild)
    (line,) = [line for line in mermaid(NASTY).splitlines() if line.lstrip().startswith("n0(")]
    label = re.fullmatch(r'\s*n0\("(.*)"\):::ask_', line)
    assert label is not None
    assert not set('"<>&`\\') & set(label[1].replace("<br/>", ""))


def test_texts_are_cut_to_their_room() -> None:
    text = "".join(random.Random(0).choices("abcdefghijklmnopqrstuvwxyz ", k=300))
    short = cut(text, 120, 12)
    assert short.endswith("…")
    assert len(short) < 30
    assert cut("short", 120, 12) == "short"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    digits(tmp_path)
    done = gotc("run", SORT128, *row(tmp_path / "digits.csv", 0), "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_the_command_writes_every_format_of_a_run_and_of_a_plan(folder: Path) -> None:
    for subject in (("last",), (SORTING, "--scheme", "got")):
        found = document(gotc("graph", *subject, "--format", "json", cwd=folder))
        assert found["nodes"]
        assert gotc("graph", *subject, "--format", "dot", cwd=folder).stdout.startswith("digraph")
        assert gotc("graph", *subject, "--format", "mermaid", cwd=folder).stdout.startswith("flowchart")
        assert gotc("graph", *subject, "--out", "a.svg", cwd=folder).returncode == 0
        minidom.parse(str(folder / "a.svg"))
    done = gotc("graph", "last", cwd=folder)
    page = (folder / done.stdout.strip()).read_text()
    assert "Cut these 128 digits" in page
    assert "://" not in page  # it asks for nothing
    thoughts = document(gotc("graph", "last", "--format", "json", "--view", "reasoning", cwd=folder))
    assert thoughts["view"] == "reasoning"


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    missing = gotc("graph", "nothing.got", cwd=tmp_path)
    assert missing.returncode == 2
    assert "nothing.got" in missing.stderr
    assert gotc("graph", "last", cwd=tmp_path).returncode == 2
    ending = gotc("graph", SORT128, "--out", "plan.pdf", cwd=tmp_path)
    assert ending.returncode == 2
    assert "`.pdf`" in ending.stderr
    assert "--format" in ending.stderr
    assert not (tmp_path / "plan.pdf").exists()


def test_programs_and_results_are_plotted(tmp_path: Path) -> None:
    program = load(SORT128)
    found = plot(program, scheme="sort128")
    assert found.title == "sort128: scheme sort128"
    for suffix, start in (
        (".html", "<!doctype"),
        (".svg", "<svg"),
        (".dot", "digraph"),
        (".mmd", "flowchart"),
    ):
        assert found.save(tmp_path / f"plan{suffix}").read_text().startswith(start)
    assert "Generate split" in minidom.parseString(found.svg).toxml()
    with pytest.raises(UsageError, match=r"unsupported format `\.bmp`"):
        found.save(tmp_path / "plan.bmp")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is not a folder"):
        found.save(tmp_path / "file" / "plan.svg")
    with pytest.raises(UsageError, match="no scheme"):
        plot(program, scheme="missing")
    with pytest.raises(TypeError, match="cannot plot int"):
        plot(3)
    program = compile(PROGRAM, "main.got")
    simulators = {"guess": lambda rng, n: str(n), "add": lambda rng, a, b: str(a + b)}
    result = program.run(ns=[1, 2], options=Options(model=SimulatedModel(simulators)))
    run = plot(result)
    assert "Aggregate add" in run.svg
    assert "Aggregate add" in run.html
    assert "Aggregate add" in plot(result, view="reasoning").formats[".mmd"]()
    assert "srcdoc" in run._repr_html_()
    assert run._repr_svg_() == run.svg

"""Responses with alternatives and recursive types: as models write them, and deep ones; schemas."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from support.answers import some_value

from gotlang.answers.forms import After, Form, Json, Lines, Tag, response_format
from gotlang.answers.reader import read, write
from gotlang.api import compile
from gotlang.errors import GotError, ReadError
from gotlang.models.simulated import SimulatedModel
from gotlang.options import Options
from gotlang.types import Type, accepts, fits, join

TYPES = compile(
    """
type Step = Act {tool: str, arg: str} | Finish {answer: str} | Wait | Stop
type Node = {text: str, children: list[Node]}
type Expr = Num {value: int} | Add {left: Expr, right: Expr}
type Forest = dict[str, Forest]
type Tree = {children: list[Tree], text: str}
type Twice = {nodes: list[Node], steps: list[Step]}
scheme s(step: Step) -> Step:
    Pool() step
""",
    "types.got",
).ir(0)
STEP, NODE, EXPR, FOREST, TREE, TWICE = (type_ for _, type_ in TYPES.types)
ACT = {"type": "Act", "tool": "search", "arg": "Paris"}
STOP = {"type": "Stop"}

READ: list[tuple[str, str, Any]] = [
    ("JSON", '{"type": "Act", "tool": "search", "arg": "Paris"}', ACT),
    ("a fence", '```json\n{"type": "Act", "tool": "search", "arg": "Paris"}\n```', ACT),
    ("words around", 'I search.\n{"tool": "search", "arg": "Paris", "type": "Act"}\nThat is it.', ACT),
    ("another case of letters", '{"Type": "act", "Tool": "search", "Arg": "Paris"}', ACT),
    ("the case as the key", '{"Act": {"tool": "search", "arg": "Paris"}}', ACT),
    ("the name of the type as the key", '{"Step": {"type": "Act", "tool": "search", "arg": "Paris"}}', ACT),
    ("what the schema asks for", '{"answer": {"type": "Act", "tool": "search", "arg": "Paris"}}', ACT),
    ("fields of one case alone", '{"tool": "search", "arg": "Paris"}', ACT),
    ("reasons beside", '{"thought": "hm", "type": "Act", "tool": "search", "arg": "Paris"}', ACT),
    ("as programs write it", 'Act {tool: "search", arg: "Paris"}', ACT),
    ("lines", "type: Act\ntool: search\narg: Paris", ACT),
    ("a list of one", '[{"type": "Act", "tool": "search", "arg": "Paris"}]', ACT),
    ("no fields", '{"type": "Stop"}', STOP),
    ("no fields, as the key", '{"Stop": {}}', STOP),
    ("no fields, its name", "Stop", STOP),
    ("no fields, its name in JSON", '"stop"', STOP),
    ("an answer that is an object", '{"type": "Finish", "answer": 5}', {"type": "Finish", "answer": "5"}),
]


@pytest.mark.parametrize(("text", "value"), [pytest.param(*case[1:], id=case[0]) for case in READ])
def test_a_case_is_read(text: str, value: Any) -> None:
    assert read(text, STEP, None, False) == [value]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"type": "Akt", "tool": "search", "arg": "Paris"}', 'field `type`: expected "Act" | '),
        ('{"type": "Act", "tool": "search"}', "field `arg` is missing"),
        ('{"tool": "search"}', 'field `type` is missing: expected "Act"'),
        ('{"reason": "none"}', "field `type` is missing"),
        ("{}", "field `type` is missing"),
        ("Act", "expected Step, found 'Act'"),
        ("I cannot decide between Wait and Stop.", "expected Step"),
        ('{"type": {"a": 1}}', "field `type`: expected"),
    ],
)  # fmt: skip
def test_what_is_no_case_is_not_guessed(text: str, reason: str) -> None:
    with pytest.raises(ReadError) as found:
        read(text, STEP, None, False)
    assert reason in found.value.message


def test_several_cases_in_one_response() -> None:
    text = json.dumps([ACT, STOP, {"Wait": {}}])
    assert read(text, STEP, None, True) == [ACT, STOP, {"type": "Wait"}]
    assert read(f"{json.dumps(ACT)}\nthen\n{json.dumps(STOP)}", STEP, None, True) == [ACT, STOP]


@pytest.mark.parametrize("form", [None, Json(), Tag("Step"), After("I say:"), Lines()], ids=str)
@pytest.mark.parametrize("type_", [STEP, NODE, EXPR, FOREST, TWICE], ids=str)
def test_what_is_written_is_read_back(type_: Type, form: Form | None) -> None:
    for seed in range(20):
        value = some_value(type_, random.Random(seed))
        assert fits(type_, value) is None
        assert read(write(value, type_, form), type_, form, False) == [value]


def test_schemas_name_what_is_recursive() -> None:
    schema = json.loads(response_format(NODE))["json_schema"]
    assert schema["strict"] is True
    children = {"type": "array", "items": {"$ref": "#/$defs/Node"}}
    properties = {"text": {"type": "string"}, "children": children}
    assert schema["schema"]["properties"] == properties
    assert schema["schema"]["$defs"]["Node"]["properties"] == properties
    # A strict schema is an object, so one of alternatives is its only field.
    expr = json.loads(response_format(EXPR))["json_schema"]["schema"]
    assert (expr["type"], expr["required"]) == ("object", ["answer"])
    number, add = expr["properties"]["answer"]["anyOf"]
    assert number["properties"]["type"] == {"type": "string", "enum": ["Num"]}
    assert add["required"] == ["type", "left", "right"]
    assert add["properties"]["left"] == {"$ref": "#/$defs/Expr"}
    assert json.loads(response_format(FOREST))["json_schema"]["strict"] is False


def test_recursive_types_of_equal_structure_are_one() -> None:
    assert accepts(NODE, TREE) and accepts(TREE, NODE) and join(NODE, TREE) is NODE
    assert not accepts(NODE, EXPR) and join(NODE, EXPR) is None
    assert str(NODE) == "Node"
    assert len({NODE, TREE, NODE}) == 2  # hashed without end, too


def nested(levels: int) -> dict[str, Any]:
    """A tree of so many levels."""
    node: dict[str, Any] = {"text": "leaf", "children": []}
    for _ in range(levels):
        node = {"text": "node", "children": [node]}
    return node


@pytest.mark.parametrize("levels", [60, 2_000, 200_000])
@pytest.mark.parametrize("form", [None, Json(), Tag("Node"), Lines()], ids=str)
def test_a_response_that_is_too_deep_fails_with_a_reason(levels: int, form: Form | None) -> None:
    text = '{"text": "node", "children": [' * levels + '{"text": "leaf", "children": []}' + "]}" * levels
    with pytest.raises(ReadError):
        read(text if form != Tag("Node") else f"<Node>{text}</Node>", NODE, form, False)


def test_deep_values_are_refused_in_words() -> None:
    assert fits(NODE, nested(40)) is None
    assert "deep" in (fits(NODE, nested(5_000)) or "")
    program = compile(
        "type Node = {text: str, children: list[Node]}\n"
        "scheme grow(node: Node, times: int) -> int:\n"
        "    Pool() node\n"
        "    repeat times:\n"
        '        Map() {text: "more", children: [it]}\n'
        "    Map() len(it.children)\n",
        "grow.got",
    )
    options = Options(model=SimulatedModel({}))
    assert program.run(node=nested(1), times=40, options=options).value == 1
    with pytest.raises(GotError, match="deep"):
        program.run(node=nested(1), times=3_000, options=options)
    with pytest.raises(GotError, match="deep"):
        program.run(node=nested(5_000), times=1, options=options)

"""`structured true`: the endpoint is held to JSON of the prompt's type; where it refuses, it is not."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.openai_server import OpenAIServer

from gotlang.answers.forms import is_wrapped, response_format
from gotlang.answers.reader import certain, read
from gotlang.api import Options, Program, compile
from gotlang.cache.codec import RequestRecord, decode_request, encode_request
from gotlang.errors import GotError, ReadError
from gotlang.models.base import DecodingSettings, Message, Request
from gotlang.records import from_json
from gotlang.types import (
    BOOL,
    DYNAMIC,
    FLOAT,
    INT,
    STR,
    DictType,
    DynamicType,
    ListType,
    LiteralType,
    OptionalType,
    PairType,
    RecordType,
    Simple,
    Type,
    UnionType,
    case_type,
    fits,
    optional,
)

PROGRAM = """\
param held = true in [true, false]

prompt sort(numbers: list[int]) -> {sorted: list[int], sure: "yes" | "no"}:
    structured held
    "Sort {{ numbers }}. Answer with JSON."

scheme sorted_by_model(numbers: list[int]) -> list[int]:
    Generate() sort(numbers)
    Map() it.sorted
"""
SCHEMA = {
    "type": "object",
    "properties": {
        "sorted": {"type": "array", "items": {"type": "integer"}},
        "sure": {"type": "string", "enum": ["yes", "no"]},
    },
    "required": ["sorted", "sure"],
    "additionalProperties": False,
}
ANSWER = '{"sorted": [1, 2], "sure": "yes"}'


def run(program: Program, server: OpenAIServer, folder: Path, **more: Any) -> dict[str, Any]:
    options = Options(model="openai:small", base_url=server.url, cache=folder / "cache.sqlite", **more)
    return program.run(numbers=[2, 1], options=options).to_dict()


def test_the_endpoint_is_told_the_type_and_remembered_where_it_refuses(tmp_path: Path) -> None:
    program = compile(PROGRAM)
    with OpenAIServer(lambda body, index: ANSWER) as server:
        assert run(program, server, tmp_path)["result"] == [1, 2]
        run(program, server, tmp_path, params={"held": False})
    held, free = (seen.body.get("response_format") for seen in server.requests)
    described = {"name": "answer", "strict": True, "schema": SCHEMA}
    assert held == {"type": "json_schema", "json_schema": described}
    assert free is None
    with OpenAIServer(lambda body, index: ANSWER, refuses={"response_format"}) as server:
        notes = [run(program, server, tmp_path, seed=seed)["notes"] for seed in (1, 2)]
    assert ["response_format" in seen.body for seen in server.requests] == [True, False, False]
    assert notes[0] == notes[1] == ["the endpoint refuses `response_format`: it was left out"]


def test_a_recording_tells_that_the_form_was_changed(tmp_path: Path) -> None:
    with OpenAIServer(lambda body, index: ANSWER) as server:
        run(compile(PROGRAM), server, tmp_path, record=tmp_path / "run.jsonl")
    replay = Options(model=f"replay:{tmp_path / 'run.jsonl'}", cache=None)
    assert compile(PROGRAM).run(numbers=[2, 1], options=replay).value == [1, 2]
    with pytest.raises(GotError, match=r"response_format .*json_schema.*, not None"):
        compile(PROGRAM.replace("    structured held\n", "")).run(numbers=[2, 1], options=replay)


def test_a_key_without_a_form_is_what_it_was_and_one_with_it_is_kept() -> None:
    plain = Request("m", (Message("user", "x"),))
    held = Request(
        "m", plain.messages, DecodingSettings(response_format=response_format(RecordType((("a", INT),))))
    )
    assert "response_format" not in plain.identity()["settings"]
    assert plain.key() != held.key()
    assert from_json(encode_request(held), RequestRecord).request() == held
    assert decode_request(encode_request(held))["settings"]["response_format"]


RECURSIVE = compile(
    """\
type Node = {text: str, children: list[Node]}
type Term = Sum {left: Term, right: Term} | Number {value: float}
prompt tree(q: str) -> Node:
    "{{ q }}"
prompt term(q: str) -> Term?:
    "{{ q }}"
scheme s(q: str) -> Node:
    Generate() tree(q)
"""
)
NODE, TERM = (prompt.result for prompt in RECURSIVE.ir(0).prompts)
CASES = UnionType((case_type("Act", [("tool", STR), ("left", INT)]), case_type("Stop")))


def inside(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    names = st.tuples(st.sampled_from("abc"), inner)
    return st.one_of(
        inner.map(ListType),
        inner.map(DictType),
        inner.map(optional),
        st.tuples(inner, inner).map(PairType),
        st.lists(names, max_size=3, unique_by=lambda field: field[0]).map(lambda f: RecordType(tuple(f))),
        inner.map(lambda field: UnionType((case_type("Case", [("x", field)]), case_type("Other")))),
    )


TYPES: st.SearchStrategy[Type] = st.recursive(
    st.sampled_from([INT, FLOAT, STR, BOOL, DYNAMIC, LiteralType(("a", "b")), CASES, NODE, TERM]),
    inside,
    max_leaves=8,
)


def values(type_: Type, depth: int = 0) -> st.SearchStrategy[Any]:
    """JSON values of a type; a number that is not whole is none of an int, whoever judges it."""
    inner, few = depth + 1, 2 if depth < 4 else 0
    match type_:
        case Simple("int"):
            return st.integers(-9, 9)
        case Simple("float"):
            return st.integers(-9, 9).map(lambda x: x + 0.5) | st.integers(-9, 9)
        case Simple("bool"):
            return st.booleans()
        case LiteralType(values=texts):
            return st.sampled_from(texts)
        case OptionalType(inner=of):
            return st.none() | values(of, inner) if few else st.none()
        case ListType(element=of):
            return st.lists(values(of, inner), max_size=few) if few else st.just([])
        case PairType(types=parts):
            return st.tuples(*(values(part, inner) for part in parts)).map(list)
        case DictType(value=of):
            return st.dictionaries(st.sampled_from("ax"), values(of, inner), max_size=few)
        case RecordType(fields=fields):
            return st.fixed_dictionaries({name: values(field, inner) for name, field in fields})
        case UnionType(cases):
            fewest = min(cases, key=lambda case: len(case.fields))
            return st.one_of(*(values(c, inner) for c in cases)) if few else values(fewest, inner)
        case DynamicType():
            return st.none() | st.text(max_size=3) | st.lists(st.integers(0, 3), max_size=2)
    return st.sampled_from(["a", "none", "null", "3", '{"answer": 1}', " x. "])


def spoiled(value: Any, chance: random.Random) -> Any:
    """A value with one part of it more, less or another."""
    if isinstance(value, dict | list) and value and chance.random() < 0.6:
        at = chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
        parts = value.copy()
        parts[at] = spoiled(value[at], chance)
        return parts
    match value:
        case dict():
            return {k: v for k, v in value.items() if chance.random() < 0.5} | {"z": 1} if value else []
        case list():
            return [*value, *value[:1]] if chance.random() < 0.5 else value[:-1]
    return chance.choice([None, "a", 1.5, 2, True, [], {}])


def document(value: Any, type_: Type, many: bool) -> Any:
    return {"answer": value} if is_wrapped(type_, many) else value


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), TYPES, TYPES, st.booleans())
def test_the_schema_takes_the_values_of_a_type_and_no_others_and_they_are_read_back(
    data: st.DataObject, type_: Type, other: Type, many: bool
) -> None:
    described = json.loads(response_format(type_, many))["json_schema"]
    schema = jsonschema.Draft202012Validator(described["schema"])
    whole = ListType(type_) if many else type_
    value, stranger = data.draw(values(whole)), data.draw(values(other))
    text = json.dumps(document(value, type_, many))
    assert schema.is_valid(json.loads(text))
    found = read(text, type_, None, many, held=True)
    assert (found if many else found[0]) == value
    assert certain(text, type_, None, many, held=True)
    for one in (stranger, spoiled(value, data.draw(st.randoms(use_true_random=False)))):
        assert schema.is_valid(document(one, type_, many)) is (fits(whole, one) is None)
    assert described["schema"]["type"] == "object"
    if described["strict"]:
        assert_strict(described["schema"])


def assert_strict(schema: Any) -> None:
    """The rules of strict schemas: all fields of an object are required, and there are no others."""
    if isinstance(schema, dict):
        assert schema.keys() <= STRICT
        if schema.get("type") == "object":
            assert schema["required"] == list(schema["properties"])
            assert schema["additionalProperties"] is False
        inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
        for part in (*inner, *schema.get("anyOf", ()), schema.get("items")):
            assert_strict(part)


STRICT = {
    "type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref", "$defs",
    "minItems", "maxItems",
}  # fmt: skip


def test_a_count_is_in_the_schema_and_what_is_no_json_is_read_as_usual() -> None:
    schema = json.loads(response_format(INT, True, 2))["json_schema"]["schema"]["properties"]["answer"]
    assert schema == {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
    assert read("[1, 2]", INT, None, True, held=True) == [1, 2]
    assert read('{"answer": "so"}', STR, None, False) == ['{"answer": "so"}']
    assert not certain('{"answer": 12', INT, None, False, held=True)
    with pytest.raises(ReadError, match="no number found"):
        read('{"answer": 1e999}', FLOAT, None, False, held=True)


MANY = """\
prompt steps(question: str) -> many str:
    structured true
    count 2
    examples:
        question = "a" -> ["one", "two"]
    "{{ question }}"

scheme every(question: str) -> many str:
    Generate() steps(question)
"""


def test_several_values_are_one_object_in_the_request_the_examples_and_the_answer(tmp_path: Path) -> None:
    with OpenAIServer(lambda body, index: '{"answer": ["first", "second"]}') as server:
        options = Options(model="openai:small", base_url=server.url, cache=None)
        assert compile(MANY).run(question="b", options=options).value == ["first", "second"]
    body = server.requests[0].body
    assert '{"answer": ["one", "two"]}' in body["messages"][-1]["content"]
    assert body["response_format"]["json_schema"]["schema"]["properties"]["answer"]["minItems"] == 2

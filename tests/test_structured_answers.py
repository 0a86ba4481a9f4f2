"""`structured true`: the endpoint is held to JSON of the prompt's type; where it refuses, it is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.openai_server import OpenAIServer

from gotlang.answers.forms import response_format
from gotlang.api import Options, Program, compile
from gotlang.cache.codec import RequestRecord, decode_request, encode_request
from gotlang.errors import GotError
from gotlang.models.base import DecodingSettings, Message, Request
from gotlang.records import from_json
from gotlang.types import BOOL, DYNAMIC, FLOAT, INT, STR, DictType, ListType, LiteralType, RecordType, Type

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


TYPES: st.SearchStrategy[Type] = st.recursive(
    st.sampled_from([INT, FLOAT, STR, BOOL, DYNAMIC, LiteralType(("a", "b"))]),
    lambda inner: st.one_of(
        inner.map(ListType),
        inner.map(DictType),
        st.lists(st.tuples(st.sampled_from("abc"), inner), max_size=3, unique_by=lambda field: field[0]).map(
            lambda fields: RecordType(tuple(fields))
        ),
    ),
)


@given(TYPES)
def test_only_what_is_closed_is_strict(type_: Type) -> None:
    described = json.loads(response_format(type_))["json_schema"]
    text = json.dumps(described["schema"])
    is_open = '"additionalProperties": {' in text or "{}" in text.replace('"properties": {}', "")
    assert described["strict"] is not is_open

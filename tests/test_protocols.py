"""The test server speaks the vendors' protocols: their SDKs are its clients, and we send what they send."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
from support.asking import KEY, Told, a_request
from support.clocks import FakeTime
from support.openai_server import (
    Body,
    OpenAIServer,
    dropped,
    edited,
    half_body,
    limited,
    raw,
    status,
)

from gotlang.errors import ModelError
from gotlang.models.anthropic import AnthropicModel
from gotlang.models.base import (
    PERMITTED,
    PLACE,
    DecodingSettings,
    Media,
    Message,
    ModelOptions,
    Permit,
    Reply,
    Request,
    ToolCall,
    ToolSpec,
    Usage,
)
from gotlang.models.endpoint import Endpoint
from gotlang.models.gemini import GeminiModel
from gotlang.models.http import HttpModel
from gotlang.models.openai import OpenAIModel
from gotlang.models.responses import ResponsesModel

MODEL = "a-model"
BASES = {OpenAIModel: "/v1", ResponsesModel: "/v1", AnthropicModel: "", GeminiModel: "/v1beta"}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FORMAT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}


def ask(
    kind: type[HttpModel],
    server: OpenAIServer,
    request: Request,
    retries: int = 0,
    permit: Permit = PERMITTED,
) -> Reply:
    waiting = FakeTime()

    async def main() -> Reply:
        at = Endpoint(server.root + BASES[kind], KEY, names=kind.names)
        model = kind(
            MODEL, ModelOptions(retries=retries), endpoint=at, sleep=waiting.sleep, clock=waiting.clock
        )
        try:
            return await model.ask(request, 1, permit=permit)
        finally:
            await model.close()

    return asyncio.run(main())


def conversation(folder: Path) -> Request:
    """An image, a call of a tool with its result, and what a prompt can set of a response."""
    path = folder / "pixel.png"
    path.write_bytes(PIXEL)
    image = Media("image", "image/png", hashlib.sha256(PIXEL).hexdigest(), str(path))
    return Request(
        MODEL,
        (
            Message("system", "Be brief."),
            Message("user", f"Where is {PLACE} taken?", (image,)),
            Message("assistant", "", calls=(ToolCall("call_1", "weather", '{"city": "Rome"}'),)),
            Message("tool", "sunny", call="call_1"),
        ),
        DecodingSettings(
            temperature=0.5,
            max_tokens=64,
            response_format=json.dumps(
                {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": FORMAT}}
            ),
        ),
        tools=(ToolSpec("weather", "The weather of a city.", json.dumps(SCHEMA)),),
    )


def by_chat(root: str, image: str) -> None:
    client = openai.OpenAI(api_key=KEY, base_url=f"{root}/v1", max_retries=0)
    client.chat.completions.create(
        model=MODEL,
        messages=[
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Where is "},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
                    {"type": "text", "text": " taken?"},
                ],
            },
            {"role": "assistant", "content": "", "tool_calls": [CALL]},  # type: ignore[list-item,misc]
            {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
        ],
        tools=[
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "The weather of a city.",
                    "parameters": SCHEMA,
                },
            }
        ],
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": FORMAT},  # type: ignore[typeddict-item]
        },
        temperature=0.5,
        max_tokens=64,
    )


def by_responses(root: str, image: str) -> None:
    client = openai.OpenAI(api_key=KEY, base_url=f"{root}/v1", max_retries=0)
    given: Any = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Where is "},
                {"type": "input_image", "image_url": f"data:image/png;base64,{image}", "detail": "auto"},
                {"type": "input_text", "text": " taken?"},
            ],
        },
        {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Rome"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "sunny"},
    ]
    client.responses.create(
        model=MODEL,
        input=given,
        tools=[
            {
                "type": "function",
                "name": "weather",
                "description": "The weather of a city.",
                "parameters": SCHEMA,
                "strict": False,
            }
        ],
        text={"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": FORMAT}},
        temperature=0.5,
        max_output_tokens=64,
        store=False,
    )


def by_messages(root: str, image: str) -> None:
    import anthropic

    client = anthropic.Anthropic(api_key=KEY, base_url=root, max_retries=0)
    # The SDK's own version of the API has no temperature.
    client.messages.create(
        extra_headers={"anthropic-version": "2023-06-01"},
        extra_body={"temperature": 0.5},
        model=MODEL,
        system="Be brief.",
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Where is "},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": image},
                    },
                    {"type": "text", "text": " taken?"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Rome"}}
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "sunny"}],
            },
        ],
        tools=[{"name": "weather", "description": "The weather of a city.", "input_schema": SCHEMA}],
        output_config={"format": {"type": "json_schema", "schema": FORMAT}},
        max_tokens=64,
    )


def by_gemini(root: str, image: str) -> None:
    from google import genai

    types = genai.types
    client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=root, api_version="v1beta"))
    tool = types.FunctionDeclaration(
        name="weather", description="The weather of a city.", parameters_json_schema=SCHEMA
    )
    signature = base64.urlsafe_b64decode("skip_thought_signature_validator")
    called = types.FunctionCall(id="call_1", name="weather", args={"city": "Rome"})
    result = types.FunctionResponse(id="call_1", name="weather", response={"output": "sunny"})
    client.models.generate_content(
        model=MODEL,
        contents=[
            types.Content(
                role="user",
                parts=[
                    types.Part(text="Where is "),
                    types.Part(inline_data=types.Blob(mime_type="image/png", data=base64.b64decode(image))),
                    types.Part(text=" taken?"),
                ],
            ),
            types.Content(
                role="model", parts=[types.Part(function_call=called, thought_signature=signature)]
            ),
            types.Content(role="user", parts=[types.Part(function_response=result)]),
        ],
        config=types.GenerateContentConfig(
            system_instruction="Be brief.",
            temperature=0.5,
            max_output_tokens=64,
            response_mime_type="application/json",
            response_json_schema=FORMAT,
            tools=[types.Tool(function_declarations=[tool])],
        ),
    )


SDKS: dict[type[HttpModel], Callable[[str, str], None]] = {
    OpenAIModel: by_chat,
    ResponsesModel: by_responses,
    AnthropicModel: by_messages,
    GeminiModel: by_gemini,
}


@pytest.mark.parametrize("kind", SDKS, ids=lambda kind: kind.__name__)
def test_we_send_what_the_vendor_s_sdk_sends(tmp_path: Path, kind: type[HttpModel]) -> None:
    with OpenAIServer(lambda body, index: '{"a": 1}', key=KEY) as server:
        reply = ask(kind, server, conversation(tmp_path))
        SDKS[kind](server.root, base64.b64encode(PIXEL).decode())
    ours, theirs = server.requests
    assert reply.completions[0].text == '{"a": 1}'
    assert ours.path == theirs.path
    assert ours.body == (_as_documented(theirs.body) if kind is GeminiModel else theirs.body)
    assert ours.headers.get("anthropic-version") == theirs.headers.get("anthropic-version")


def _as_documented(found: Any) -> Any:
    """What Gemini's SDK sends, with the names of the documentation (the API takes both), and without the role
    that a system's text does not need."""
    if isinstance(found, list):
        return [_as_documented(one) for one in found]
    if not isinstance(found, dict):
        return found
    camel = {re.sub(r"_(\w)", lambda m: m[1].upper(), name): _as_documented(v) for name, v in found.items()}
    camel.get("systemInstruction", {}).pop("role", None)
    return camel


def thinking(body: Body, index: int) -> Body:
    """A message with all that one can have."""
    return {"role": "assistant", "content": "It rains.", "reasoning_content": "Rome?", "tool_calls": [CALL]}


def _bill(completion: Body) -> None:
    completion["usage"] = {
        "prompt_tokens": 40,
        "completion_tokens": 12,
        "total_tokens": 52,
        "prompt_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }


@pytest.mark.parametrize("kind", SDKS, ids=lambda kind: kind.__name__)
def test_thoughts_calls_and_every_kind_of_token_are_read(tmp_path: Path, kind: type[HttpModel]) -> None:
    with OpenAIServer(thinking, key=KEY, faults=[edited(_bill)]) as server:
        reply = ask(kind, server, conversation(tmp_path))
    (found,) = reply.completions
    assert (found.text, found.reasoning, found.finish_reason) == ("It rains.", "Rome?", "tool_calls")
    (call,) = found.calls
    assert (call.name, json.loads(call.arguments)) == ("weather", {"city": "Rome"})
    written = 5 if kind is AnthropicModel else 0
    assert reply.usage == Usage(40, 12, 10, 4, written)


@pytest.mark.parametrize("kind", SDKS, ids=lambda kind: kind.__name__)
def test_a_secret_that_comes_back_in_a_call_is_masked(kind: type[HttpModel]) -> None:
    call = {**CALL, "function": {"name": "weather", "arguments": json.dumps({"city": KEY})}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    with OpenAIServer(lambda body, index: message, key=KEY) as server:
        reply = ask(kind, server, a_request())
    assert KEY not in repr(reply)
    assert "***" in reply.completions[0].calls[0].arguments


FAULTS = {
    "busy": (limited({"retry-after": "0.01"}), 0),
    "down": (status(500), 1),
    "dropped": (dropped(), 1),
    "half": (half_body(), 1),
    "no JSON": (raw("{"), 1),
    "another JSON": (raw("[]"), 1),
    "nothing in it": (raw('{"usage": {}}'), 1),
    "wrong types": (raw('{"choices": 1, "content": {}, "candidates": {"a": 1}, "output": "x"}'), 1),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", SDKS, ids=lambda kind: kind.__name__)
def test_a_fault_is_tried_again_and_counted(kind: type[HttpModel], fault: str) -> None:
    what, lost = FAULTS[fault]
    failed: list[Usage | None] = []
    with OpenAIServer(lambda body, index: "7", key=KEY, faults=[what]) as server:
        reply = ask(kind, server, a_request(), retries=2, permit=Told(failed))
    assert [one.text for one in reply.completions] == ["7"]
    assert reply.requests == len(server.requests) == 2
    assert failed == [None if lost else Usage()]


@pytest.mark.parametrize("kind", SDKS, ids=lambda kind: kind.__name__)
def test_thinking_is_asked_for_where_the_api_has_it(kind: type[HttpModel]) -> None:
    with OpenAIServer(lambda body, index: "7", key=KEY) as server:
        reply = ask(kind, server, a_request(effort="low", thinking_budget=2048, max_tokens=4096))
    (seen,) = server.requests
    sent = {
        OpenAIModel: {"reasoning_effort": "low"},
        ResponsesModel: {"reasoning": {"effort": "low", "summary": "auto"}},
        AnthropicModel: {
            "output_config": {"effort": "low"},
            "thinking": {"type": "enabled", "budget_tokens": 2048},
        },
        GeminiModel: {"thinkingLevel": "low", "thinkingBudget": 2048, "includeThoughts": True},
    }[kind]
    where = seen.body["generationConfig"]["thinkingConfig"] if kind is GeminiModel else seen.body
    assert {name: where.get(name) for name in sent} == sent
    left_out = kind in (OpenAIModel, ResponsesModel)
    assert reply.notes == ("the endpoint refuses `thinking_budget`: it was left out",) * left_out


@pytest.mark.parametrize("name", ["temperature", "top_p", "stop", "response_format"])
@pytest.mark.parametrize("kind", [AnthropicModel, GeminiModel], ids=lambda kind: kind.__name__)
def test_a_setting_that_is_refused_in_the_protocol_s_words_is_left_out(
    kind: type[HttpModel], name: str
) -> None:
    words = {
        AnthropicModel: {
            "temperature": "`temperature` is deprecated for this model.",
            "top_p": "top_p: Extra inputs are not permitted",
            "stop": "stop_sequences: Extra inputs are not permitted",
            "response_format": "output_config.format is not supported by this model",
        },
        GeminiModel: {
            "temperature": 'Invalid JSON payload received. Unknown name "temperature" at generation_config',
            "top_p": "Unknown name \"topP\" at 'generation_config': Cannot find field.",
            "stop": "Unknown name \"stopSequences\" at 'generation_config': Cannot find field.",
            "response_format": "responseJsonSchema is not supported for this model",
        },
    }[kind][name]
    schema = json.dumps({"type": "json_schema", "json_schema": {"name": "answer", "schema": FORMAT}})
    request = a_request(temperature=0.5, top_p=0.5, stop=("END",), response_format=schema)
    with OpenAIServer(lambda body, index: "7", key=KEY, faults=[status(400, words)]) as server:
        reply = ask(kind, server, request)
    assert len(server.requests) == 2
    assert [note.partition(":")[0] for note in reply.notes] == [f"the endpoint refuses `{name}`"]


def test_a_refusal_of_tools_is_remembered_and_nothing_is_asked_without_them(tmp_path: Path) -> None:
    words = '"auto" tool choice requires --enable-auto-tool-choice to be set'
    with OpenAIServer(lambda body, index: "7", faults=[status(400, words)]) as server:
        known = tmp_path / "known.json"
        options = ModelOptions(base_url=server.url, known=known)

        async def main() -> None:
            await OpenAIModel(MODEL, options).ask(conversation(tmp_path), 1)

        with pytest.raises(ModelError) as caught:
            asyncio.run(main())
        assert "text protocol" in (caught.value.help or "")
        assert len(server.requests) == 1
        assert "tools" in OpenAIModel(MODEL, options).refuses

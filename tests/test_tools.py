"""Prompts with tools: how calls are read, and how a model and its tools take turns in a run."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.gotc import gotc, start
from support.laws import tried
from support.openai_server import OpenAIServer

from gotlang.analysis.foreign import annotated
from gotlang.answers.calls import ToolSchema, described, written_calls
from gotlang.api import Options, RequestLog, compile, load, operations
from gotlang.errors import ModelError, NotTrusted, ReadError, RunError
from gotlang.models.base import PERMITTED, Completion, Message, Model, Permit, Reply, Request, Usage
from gotlang.models.simulated import SimulatedModel
from gotlang.report.picture import FAMILIES
from gotlang.result import Result
from gotlang.types import FLOAT, INT, STR, ListType, optional

SEARCH = ToolSchema("search", "Finds pages.", (("query", STR), ("k", INT)), frozenset({"query"}))
READ = ToolSchema("read", "", (("path", STR),), frozenset({"path"}))
ADD = ToolSchema("add", "", (("numbers", ListType(INT)), ("scale", optional(FLOAT))), frozenset({"numbers"}))
TOOLS = {tool.name: tool for tool in (SEARCH, READ, ADD)}

BERN = [("search", {"query": "Bern"})]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('Call: search {"query": "Bern"}', BERN),
        ('I look.\nCall: search {"query": "Bern"}\n', BERN),
        ("**Call:** `search` {'query': 'Bern'}", BERN),
        ('call: search({"query": "Bern"})', BERN),
        ('Call: search("Bern")', BERN),
        ("Call: search(query='Bern')", BERN),
        ('Call: search(query="Bern", k=2)', [("search", {"query": "Bern", "k": 2})]),
        ('Call: search {"query": "Bern", "k": "2"}', [("search", {"query": "Bern", "k": 2})]),
        ("Call: read notes/a.txt", [("read", {"path": "notes/a.txt"})]),
        ("Action: read[notes/a.txt]", [("read", {"path": "notes/a.txt"})]),
        ("Action: read\nAction Input: notes/a.txt", [("read", {"path": "notes/a.txt"})]),
        ('Action 1: search {"query": "Bern"}\nObservation 1: a town', BERN),
        ('Call: search {\n  "query": "Bern"\n}', BERN),
        ('```\nCall: search {"query": "Bern"}\n```', BERN),
        ('<tool_call>\n{"name": "search", "arguments": {"query": "Bern"}}\n</tool_call>', BERN),
        ('```json\n{"tool": "search", "args": {"query": "Bern"}}\n```', BERN),
        ("Call: add [1, 2]", [("add", {"numbers": [1, 2]})]),
        ('Call: add {"numbers": "1, 2", "scale": null}', [("add", {"numbers": [1, 2], "scale": None})]),
        ('Call: search {"query": "Bern"}\nCall: read a', [*BERN, ("read", {"path": "a"})]),
        ('Call: search {"query": "Bern"}\nResult of search: x\nCall: read a', BERN),
        ("The answer is 4.", []),
        ("Call: me tomorrow", []),
        ("Action: none is needed", []),
        ("I could call: search", []),
        ('{"name": "Bern", "arguments": 3}', []),
    ],
)
def test_calls_are_read_however_a_model_writes_them(text: str, calls: list[tuple[str, Any]]) -> None:
    found = written_calls(text, [*TOOLS])
    assert [(one.name, TOOLS[one.name].arguments(one.arguments)) for one in found] == calls


@tried(60)
@given(st.text(), st.integers(-(10**6), 10**6), st.text())
def test_a_call_in_the_documented_form_is_read_as_it_was_meant(query: str, k: int, before: str) -> None:
    arguments = {"query": query, "k": k}
    for ascii in (True, False):
        text = f"Call: search {json.dumps(arguments, ensure_ascii=ascii)}"
        (one,) = written_calls(text, [*TOOLS])
        assert SEARCH.arguments(one.arguments) == arguments


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("{}", "the argument `query` is missing"),
        ('{"query": "a", "n": 1}', "no argument `n`"),
        ('{"query": "a", "k": "many"}', "the argument `k`: "),
        ("two words", "cannot be read"),
    ],
)
def test_what_does_not_fit_is_told_with_how_to_write_it(written: str, why: str) -> None:
    with pytest.raises(ReadError, match=why):
        SEARCH.arguments(written)


def test_what_a_model_is_told_is_the_page() -> None:
    page = (Path(__file__).parents[1] / "docs" / "tools.md").read_text()
    about = "Finds the k lines that fit a query best."
    assert described({"search": SEARCH._replace(description=about)}) in page


def test_what_may_be_left_out_is_told_once_and_is_none_for_a_scheme() -> None:
    program = compile(
        """
prompt solve(n: int) -> str:
    tools order, look, go
    protocol "text"
    "{{ n }}"
type Size = "s" | "m"
type Box = {wide: Size, what: list[str]}
type Step = Left {far: int} | Stop
scheme go(step: Step) -> str:
    Pool() str(step)
scheme order(size: Size?, n: int?, box: Box?) -> str:
    Pool() str(size == none) + str(n) + str(box == none)
scheme main(n: int) -> str:
    Generate() solve(n)
""",
        functions=["look"],
    )
    told: list[str] = []

    def said(rng: random.Random, n: int, messages: Sequence[Message]) -> str:
        told.append(messages[0 if turn(messages) == 0 else -1].content)
        return 'Call: order {"n": 2}\nCall: order\nCall: look {"size": null}' if turn(messages) == 0 else "so"

    def look(size: Literal["s", "m"] | None = None, days: list[int] | None = None) -> str:
        return str(size)

    options = Options(model=SimulatedModel({"solve": said}), functions={"look": look}, cache=None)
    assert program.run(n=1, scheme="main", options=options).value == "so"
    assert (
        '- order {"size": ("s" | "m")?, "n": int?, "box": {wide: "s" | "m", what: list[str]}?}\n' in told[0]
    )
    assert '- go {"type": "object", "properties": {"step": {"anyOf": [{"type": "object"' in told[0]
    assert '- look {"size": ("s" | "m")?, "days": list[int]?}\n' in told[0]
    results = ["order: true2true", "order: truenulltrue", "look: None"]
    assert told[1].splitlines() == [f"Result of {one}" for one in results]


@pytest.mark.parametrize(
    ("annotation", "type_"),
    [
        ("str", "str"),
        ("typing.List[int]", "list[int]"),
        ("dict[str, list[float]]", "dict[str, list[float]]"),
        ("Literal['a', 'b']", '"a" | "b"'),
        ("int | None", "int?"),
        ("Optional[bool]", "bool?"),
        ("'tuple[int, str]'", "pair[int, str]"),
        ("set[int]", "None"),
        ("dict[int, str]", "None"),
        ("Path", "None"),
    ],
)
def test_annotations_are_types(annotation: str, type_: str) -> None:
    assert str(annotated(annotation)) == type_


# -------------------------------------------------------------------- runs

AGENT = """
prompt solve(n: int) -> int:
    tools slow, broken, twice
    turns 3
    protocol "PROTOCOL"
    "{{ n }}"
scheme twice(n: int) -> int:
    Generate() doubled(n)
prompt doubled(n: int) -> int:
    "twice {{ n }}"
scheme main(n: int) -> many int:
    Generate(k=2) solve(n)
"""
SAID = Callable[[Sequence[Message]], str]


def turn(messages: Sequence[Message]) -> int:
    return sum(message.role == "assistant" for message in messages)


def run(
    said: SAID,
    cache: Path | None = None,
    slow: Callable[[int], Any] = lambda n: n,
    protocol: str = "text",
    **more: Any,
) -> Result:
    """A run whose model says this at each turn."""

    def broken(n: int) -> int:
        raise ValueError(f"no {n}")

    simulators = {
        "solve": lambda rng, n, messages: said(messages),
        "doubled": lambda rng, n: str(2 * n),
    }
    program = compile(AGENT.replace("PROTOCOL", protocol), functions=["slow", "broken"])
    options = Options(
        model=SimulatedModel(simulators), functions={"slow": slow, "broken": broken}, cache=cache, **more
    )
    return program.run(n=3, scheme="main", options=options)


@pytest.mark.parametrize("protocol", ["text", "native"])
def test_calls_of_one_turn_run_at_once_and_are_told_in_their_order(protocol: str) -> None:
    seen: list[list[str]] = []
    both = threading.Barrier(2, timeout=20)

    def slow(n: int) -> int:
        both.wait()
        time.sleep(0.02 * random.random())
        return 10 * n

    def said(messages: Sequence[Message]) -> str:
        if turn(messages) == 0:
            return "Call: slow 1\nCall: broken 2\nCall: twice 3\nCall: slow 4"
        asked, answered = next(
            (m, messages[at + 1 :]) for at, m in enumerate(messages) if m.role == "assistant"
        )
        calls = [call.name for call in asked.calls]
        assert calls == (["slow", "broken", "twice", "slow"] if protocol == "native" else [])
        assert [m.call for m in answered] == [call.id for call in asked.calls] or [""]
        seen.append([m.content for m in answered])
        return "5"

    result = run(said, slow=slow, protocol=protocol)
    assert result.value == [5, 5]
    told = ["10", "Error: `broken` raised ValueError: no 2", "6", "40"]
    if protocol == "text":
        names = ("slow", "broken", "twice", "slow")
        told = ["\n".join(f"Result of {name}: {text}" for name, text in zip(names, told, strict=True))]
    assert seen == [told, told]
    assert all(failure.handled for failure in result.outcome.failures)


def test_the_last_turn_says_so_and_a_call_in_it_fails_the_sample() -> None:
    seen: list[str] = []

    def said(messages: Sequence[Message]) -> str:
        seen.append(messages[-1].content)
        return f"Call: twice {turn(messages)}"

    with pytest.raises(RunError, match="calls a tool in the last of its 3 turns"):
        run(said)
    assert [("No more tools" in text) for text in sorted(set(seen), key=seen.index)] == [
        False,
        False,
        True,
    ]


def test_a_run_again_pays_nothing_and_says_the_same(tmp_path: Path) -> None:
    def said(messages: Sequence[Message]) -> str:
        return "Call: twice 3" if turn(messages) < 2 else messages[-1].content.split("(")[0].split()[-1]

    cache = tmp_path / "cache.db"
    first, again = run(said, cache), run(said, cache)
    assert first.value == again.value == [6, 6]
    assert (first.outcome.ledger.spent.calls, again.outcome.ledger.spent.calls) == (10, 0)


def test_turns_and_calls_are_operations_that_pages_show() -> None:
    outcome = run(lambda messages: "Call: twice 3" if turn(messages) == 0 else "6").outcome
    shown = [
        (line["kind"], line.get("prompt"))
        for line in operations(outcome.graph, {}, RequestLog())
        if line["kind"] in ("turn", "Generate")
    ]
    assert sorted(shown) == [("Generate", "doubled")] * 2 + [("turn", "solve")] * 4
    assert FAMILIES["turn"] == "ask"


def test_a_budget_that_ends_a_tool_ends_the_run(tmp_path: Path) -> None:
    result = run(lambda messages: "Call: twice 3", max_calls=3)
    assert result.status == "partial"
    assert result.outcome.ledger.spent.calls == 3


def test_no_run_needs_more_than_was_foreseen() -> None:
    everything = "\n".join(f"Call: twice {n}" for n in range(12))
    result = run(lambda messages: everything if turn(messages) < 2 else "1")
    costs = (
        compile(AGENT.replace("PROTOCOL", "text"), functions=["slow", "broken"])
        .explain(None, scheme="main", simulate=False)
        .costs
    )
    assert result.outcome.ledger.accounts[0].calls == 2 * (3 + 2 * 8) == costs.calls.high
    assert result.outcome.hops == 3 + 2 == costs.critical_path.high


class Refusing(Model):
    """A model that turns out to take no tools."""

    name, simulated, tools, price, batch = "refusing", False, True, None, 1

    def __init__(self) -> None:
        self.known: frozenset[str] = frozenset()
        self.asked: list[Request] = []

    @property
    def refuses(self) -> frozenset[str]:
        return self.known

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        await permit.send()
        self.asked.append(request)
        if request.tools:
            self.known = frozenset({"tools"})
            permit.failed(Usage())
            raise ModelError("no tools here")
        text = "7" if turn(request.messages) else "Call: slow 7"
        return Reply((Completion(text),), Usage(10, 10), 0.1)


def test_a_model_that_refuses_tools_is_asked_in_text() -> None:
    model = Refusing()
    text = AGENT.replace('    protocol "PROTOCOL"\n', "").replace("k=2", "k=1")
    program = compile(text, functions=["slow", "broken"])
    functions = {"slow": lambda n: n, "broken": lambda n: n}
    result = program.run(n=3, scheme="main", options=Options(model=model, functions=functions))
    assert result.value == [7]
    assert [bool(request.tools) for request in model.asked] == [True, False, False]
    assert [tool.name for tool in model.asked[0].tools] == ["slow", "broken", "twice"]
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert json.loads(model.asked[0].tools[2].schema) == {**schema, "additionalProperties": False}
    with pytest.raises(RunError, match="does not support tools"):
        program = compile(AGENT.replace("PROTOCOL", "native"), functions=["slow", "broken"])
        program.run(n=3, scheme="main", options=Options(model=model, functions=functions))


# -------------------------------------------------------------------- an agent over a folder

AGENT_FOLDER = Path(__file__).parents[1] / "programs"


def agent(said: SAID, **more: Any) -> Result:
    options = Options(
        model=SimulatedModel({"look_up": lambda rng, question, messages: said(messages)}), **more
    )
    return load(AGENT_FOLDER / "folder_agent.got").run(question="?", options=options)


@pytest.mark.parametrize("path", ["../towns.csv", "/etc/hosts", "travel/../../towns.csv", ""])
def test_an_agent_sees_its_folder_alone(path: str) -> None:
    seen: list[str] = []

    def said(messages: Sequence[Message]) -> str:
        if turn(messages) == 0:
            return f"Call: read_file {json.dumps({'path': path})}\nCall: list_files {{}}"
        seen.extend(message.content for message in messages if message.role == "tool")
        return "Answer: x"

    agent(said, python=True)
    error, files = seen
    assert error.startswith("Error: `read_file` raised")
    assert str(AGENT_FOLDER) not in error  # where the program lies is not for the model
    assert json.loads(files) == ["hours.md", "leave.md", "tools.md", "travel/hotels.md", "travel/trains.md"]


def test_its_python_needs_trust() -> None:
    with pytest.raises(NotTrusted, match="folder_tools"):
        agent(lambda messages: "Answer: x", python=False)


# -------------------------------------------------------------------- endpoints

HOSTS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": "", "gemini": "/v1beta"}


RESULTS = ('"role": "tool"', "tool_result", "function_call_output", "functionResponse", "Result of twice")


def one_call(body: dict[str, Any], sent: str) -> Any:
    """Calls a tool, natively or in text, and answers with its result, as the request has it."""
    if body["messages"][-1]["content"] == "twice 4":
        return "8"
    if any(mark in sent for mark in RESULTS):
        return "8" if re.search(r'"8"|Result of twice: 8', sent) else "0"
    if '"tools"' not in sent:
        return "Call: twice 4"
    function = {"name": "twice", "arguments": '{"n": 4}'}
    calls = [{"id": "c1", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


@pytest.mark.parametrize(("provider", "refuses"), [*((name, ()) for name in HOSTS), ("openai", ("tools",))])
def test_a_loop_of_tools_over_http(
    provider: str, refuses: Sequence[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-planted-0123456789abcdef")
    text = AGENT.replace('    protocol "PROTOCOL"\n', "").replace("k=2", "k=1")
    program = compile(text, functions=["slow", "broken"])
    functions = {"slow": lambda n: n, "broken": lambda n: n}

    def answer(body: dict[str, Any], index: int) -> Any:
        return one_call(body, json.dumps(server.requests[-1].body))

    with OpenAIServer(answer, refuses=refuses) as server:
        options = Options(
            model=f"{provider}:m",
            base_url=server.root + HOSTS[provider],
            functions=functions,
            cache=tmp_path / "cache.sqlite",
        )
        result = program.run(n=3, scheme="main", options=options)
        assert result.value == [8]
        sent = len(server.requests)
        assert sent == 3 + len(refuses)
        assert program.run(n=3, scheme="main", options=options).value == [8]
        assert len(server.requests) == sent  # in text or not, all of it is in the cache


KILLED = """
prompt solve(n: int) -> int:
    tools twice
    "{{ n }}"
prompt doubled(n: int) -> int:
    "twice {{ n }}"
scheme twice(n: int) -> int:
    Generate() doubled(n)
scheme main(n: int) -> int:
    Generate() solve(n)
"""


@pytest.mark.parametrize("at", [1, 2])
def test_a_run_that_is_killed_inside_its_loop_goes_on_there(at: int, tmp_path: Path) -> None:
    """The first request calls a tool, the second is the tool's own, the third has its result. Killed while
    request `at` is in flight, the next run sends that one again and none before it."""
    (tmp_path / "main.got").write_text(KILLED)
    never = threading.Event()

    def latency(body: dict[str, Any]) -> float | threading.Event:
        return never if len(server.requests) == at + 1 else 0.0

    def answer(body: dict[str, Any], index: int) -> Any:
        return one_call(body, json.dumps(body))

    with OpenAIServer(answer, latency_s=latency) as server:
        words = (
            "run",
            "main.got",
            "--input",
            "n=3",
            "--model",
            "openai:m",
            "--base-url",
            server.url,
            "--quiet",
        )
        with start(*words, cwd=tmp_path) as running:
            until = time.monotonic() + 60
            while len(server.requests) <= at and time.monotonic() < until:
                time.sleep(0.02)
            running.kill()
            running.wait(20)
        never.set()
        done = gotc(*words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "8\n"), done.stderr
        bodies = [seen.body for seen in server.requests]
    assert len(bodies) == 4 and bodies[at] == bodies[at + 1]
    assert len({json.dumps(body) for body in bodies}) == 3

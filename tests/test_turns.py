"""Prompts with turns: what a model is sent, how its response is read, histories as values."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from support.asking import a_request, ask, failure
from support.openai_server import OpenAIServer, status
from support.orders import run_in_order

from gotlang.errors import ModelError, RunError
from gotlang.models.base import DecodingSettings, Message, Request
from gotlang.models.openai import OpenAIModel
from gotlang.models.simulated import Simulated, SimulatedModel
from gotlang.models.tokens import estimate_tokens

CHAT = """
prompt reply(topic: str, history: list[Message], question: str) -> int:
    system "You teach {{ topic }}."
    instruction "Answer with a number."
    messages history
    user "{{ question }}"
    assistant "It is 4"
    examples as turns:
        topic = "sums", history = [], question = "1 + 1?" -> 2

scheme chat(questions: list[str]) -> list[Message]:
    Map() [{role: "user", content: "Hello."}]
    repeat len(questions) as i:
        said = Generate() reply("sums", it, questions[i])
        Map() it + [{role: "user", content: questions[i]}, {role: "assistant", content: str(said)}]
"""

LAST = """
prompt go_on(history: list[Message]) -> str:
    messages history

scheme chat(history: list[Message]) -> str:
    Generate() go_on(history)
"""

SHOTS = """
prompt double(n: int) -> int:
    system "Be brief."
    instruction "Double it."
    examples as turns:
        n = 1 -> 2
        n = 2 -> 4
    "{{ n }}"

scheme chat(n: int) -> int:
    Generate() double(n)
"""


class Heard:
    """A simulator that notes what it is told."""

    def __init__(self, said: str = "2") -> None:
        self.told: list[list[tuple[str, str]]] = []
        self.said = said

    def __call__(self, rng: Random, messages: tuple[Message, ...], **_: Any) -> str:
        self.told.append([(m.role, m.content) for m in messages])
        return self.said

    def run(self, text: str, inputs: dict[str, Any]) -> Any:
        names = ("reply", "go_on", "double")
        model = SimulatedModel(dict.fromkeys(names, self))
        return run_in_order(text, inputs, model).value


def test_a_chat_is_a_value_that_grows_by_its_turns() -> None:
    heard = Heard()
    value = heard.run(CHAT, {"questions": ["2 * 21?", "And 6 * 7?"]})
    start = [
        ("system", "You teach sums."),
        ("user", "Answer with a number.\n\n1 + 1?"),
        ("assistant", "2"),
        ("user", "Hello."),
    ]
    prefill = ("assistant", "It is 4")
    assert heard.told == [
        [*start, ("user", "2 * 21?"), prefill],
        [*start, ("user", "2 * 21?"), ("assistant", "42"), ("user", "And 6 * 7?"), prefill],
    ]
    assert [one["content"] for one in value] == ["Hello.", "2 * 21?", "42", "And 6 * 7?", "42"]


def test_a_history_that_ends_with_the_assistant_is_continued() -> None:
    history = [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Well, "}]
    assert Heard("hello.").run(LAST, {"history": history}) == "Well, hello."
    assert Heard("hello.").run(LAST, {"history": history[:1]}) == "hello."
    with pytest.raises(RunError, match="its history is empty"):
        Heard().run(LAST, {"history": []})


def test_examples_of_one_text_may_be_turns() -> None:
    heard = Heard()
    assert heard.run(SHOTS, {"n": 1}) == 2
    assert heard.told == [
        [
            ("system", "Be brief."),
            ("user", "Double it.\n\n1"),
            ("assistant", "2"),
            ("user", "2"),
            ("assistant", "4"),
            ("user", "1"),
        ]
    ]


def ending(role: str) -> Request:
    return Request("a-model", (Message("user", "2 * 21?"), Message(role, "It is 4")), a_request().settings)


def test_a_local_server_is_told_to_continue() -> None:
    with OpenAIServer() as server:
        ask(server, ending("assistant"))
        ask(server, ending("user"))
    continued, asked = (seen.body for seen in server.requests)
    assert (continued["continue_final_message"], continued["add_generation_prompt"]) == (True, False)
    assert continued["messages"][-1] == {"role": "assistant", "content": "It is 4"}
    assert "continue_final_message" not in asked and "add_generation_prompt" not in asked


def test_an_endpoint_that_cannot_continue_is_named_and_remembered() -> None:
    refusal = status(400, "Unrecognized request argument: continue_final_message")
    with OpenAIServer(faults=[refusal]) as server:
        error = failure(server, ending("assistant"))
    assert "cannot continue an assistant's turn" in error.message and error.help is not None
    assert len(server.requests) == 1


def test_openai_itself_is_not_asked_to_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    model = OpenAIModel("gpt-4o")
    assert "prefill" in model.refuses
    with pytest.raises(ModelError, match="cannot continue an assistant's turn"):
        asyncio.run(model.ask(ending("assistant"), 1))


THINKS = """
prompt solve(n: int) -> int:
    effort "low"
    thinking_budget 7
    max_tokens 9
    "{{ n }}"

scheme ask(n: int) -> int:
    Generate(k=2) solve(n)
    Vote()
"""


def test_reasoning_is_paid_counted_and_not_read() -> None:
    def solve(rng: Random, n: int, settings: DecodingSettings) -> Simulated:
        assert (settings.effort, settings.thinking_budget) == ("low", 7)
        return Simulated(f"{n * 2}", reasoning="7 is odd, so 9.")

    result = run_in_order(THINKS, {"n": 21}, SimulatedModel({"solve": solve}))
    account = result.outcome.ledger.accounts_json()["none"]
    thought = estimate_tokens("7 is odd, so 9.")
    assert result.value == 42
    assert (account["reasoning_tokens"], account["output_tokens"]) == (2 * thought, 2 * thought + 2)
    assert account["usd"] == pytest.approx(
        (account["input_tokens"] * 0.5 + account["output_tokens"] * 1.5) / 1e6
    )


def test_reasoning_counts_towards_max_tokens() -> None:
    def solve(rng: Random, n: int) -> Simulated:
        return Simulated("42", reasoning="one two three four five six seven eight nine ten")

    with pytest.raises(RunError, match="cut off at max_tokens"):
        run_in_order(THINKS, {"n": 21}, SimulatedModel({"solve": solve}))

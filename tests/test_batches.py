"""Provider batches: the real SDK against a real server, killed runs, failures by line, half the price."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.asking import openai_model
from support.batch_server import BatchServer, Body
from support.gotc import document, gotc, start, vote

from gotlang.api import Options, Session, load
from gotlang.errors import GotError, ModelError, UsageError
from gotlang.models.base import DecodingSettings, Message, Price, Reply, Request
from gotlang.models.batches import REMEMBERED_S, PendingBatches
from gotlang.models.openai import OpenAIModel

PRICE = Price(1.0, 2.0, source="a test")


def a_request(text: str = "why?") -> Request:
    return Request("small", (Message("user", text),), DecodingSettings(0.7, max_tokens=20), prompt="answer")


async def briefly(seconds: float) -> None:
    await asyncio.sleep(seconds / 50)


def use(server: BatchServer, folder: Path, work: Callable[[OpenAIModel], Awaitable[Any]], **more: Any) -> Any:
    async def main() -> Any:
        given = {"sleep": briefly, "price": PRICE, **more}
        model = openai_model("small", base_url=server.url, batches=folder, **given)
        try:
            return await work(model)
        finally:
            await model.close()

    return asyncio.run(main())


async def ask_all(model: OpenAIModel, requests: list[Request], n: int = 1) -> list[Reply | GotError]:
    found = await asyncio.gather(*(model.ask(one, n) for one in requests), return_exceptions=True)
    assert all(isinstance(one, Reply | GotError) for one in found), found
    return found  # type: ignore[return-value]


def said(body: Body, index: int) -> str:
    return f"{body['messages'][-1]['content']} {index}"


def test_what_waits_together_goes_together_at_half_the_price(tmp_path: Path) -> None:
    requests = [a_request(f"question {number}") for number in range(200)]

    async def work(model: OpenAIModel) -> tuple[list[Any], Price | None]:
        return await ask_all(model, requests, 3), model.price

    with BatchServer(said, looks=3) as server:
        replies, price = use(server, tmp_path, work)
    assert [[a.text for a in r.completions] for r in replies] == [
        [f"question {number} {i}" for i in range(3)] for number in range(200)
    ]
    assert len(server.batches) == 1
    assert price == Price(0.5, 1.0, None, "a test; half in batches")
    assert list(tmp_path.iterdir()) == [], "what was handed out is forgotten"


def test_what_some_call_the_end_of_a_line_stands_in_answers(tmp_path: Path) -> None:
    with BatchServer(lambda body, index: "one\u2028two\u0085three") as server:
        (reply,) = use(server, tmp_path, lambda model: ask_all(model, [a_request()]))
        assert len(server.batches) == 1
    assert [a.text for a in reply.completions] == ["one\u2028two\u0085three"]


def test_a_file_of_results_may_be_larger_than_a_response(tmp_path: Path) -> None:
    with BatchServer(lambda body, index: "a" * 90_000) as server:
        replies = use(server, tmp_path, lambda model: ask_all(model, [a_request(str(i)) for i in range(150)]))
    assert [len(reply.completions[0].text) for reply in replies] == [90_000] * 150


@pytest.mark.parametrize(
    "row",
    [
        "[" * 200_000,
        '{"custom_id": "x", "response": {"status_code": Infinity}}',
        '{"custom_id": ["x"], "response": {"status_code": 200}}',
        '{"custom_id": "x", "response": {"status_code": 1' + "0" * 5000 + "}}",
        "7",
        "",
    ],
)
def test_what_is_no_result_is_passed_over(tmp_path: Path, row: str) -> None:
    def spoil(line: str) -> None:
        for made in server.batches.values():
            if made.output and not server.files[made.output].startswith(row + "\n"):
                server.files[made.output] = f"{row}\n{server.files[made.output]}"

    with BatchServer(said, watch=spoil) as server:
        (reply,) = use(server, tmp_path, lambda model: ask_all(model, [a_request()]))
    assert reply.completions[0].text == "why? 0"


@pytest.mark.parametrize("said", ["", "<html>", "[]", '"late"', "7", "{}", '{"id": 5, "status": ["x"]}'])
@pytest.mark.parametrize("path", ["POST /v1/files", "POST /v1/batches", "GET /v1/batches", "GET /v1/files"])
def test_a_provider_that_talks_nonsense_keeps_nobody_waiting(tmp_path: Path, path: str, said: str) -> None:
    class Nonsense(BatchServer):
        def posted(self, path_: str, content: bytes, kind: str) -> tuple[int, str]:
            found = super().posted(path_, content, kind)
            return (200, said) if f"POST {path_}" == path else found

        def got(self, path_: str) -> tuple[int, str]:
            found = super().got(path_)
            return (200, said) if f"GET {path_}".startswith(path) else found

    async def work(model: OpenAIModel) -> Any:
        async with asyncio.timeout(20):
            return await ask_all(model, [a_request()])

    with Nonsense(lambda body, index: "right") as server:
        (found,) = use(server, tmp_path, work, retries=0, sleep=lambda seconds: asyncio.sleep(0))
    assert isinstance(found, ModelError) and "batch" in str(found)


def test_a_line_that_fails_fails_alone_and_one_that_may_pass_goes_again(tmp_path: Path) -> None:
    tried: list[str] = []

    def line(body: Body) -> Body | None:
        text = body["messages"][-1]["content"]
        tried.append(text)
        if text == "bad":
            error = {"error": {"message": "this prompt is not allowed"}}
            return {"response": {"status_code": 400, "body": error}}
        if text == "late" and tried.count("late") == 1:
            return {"response": None, "error": {"code": "batch_expired", "message": "not in time"}}
        if text == "busy" and tried.count("busy") == 1:
            return {"response": {"status_code": 500, "body": {"error": {"message": "out of order"}}}}
        return None

    texts = ["good", "bad", "late", "busy"]
    with BatchServer(said, line) as server:
        found = use(server, tmp_path, lambda model: ask_all(model, [a_request(text) for text in texts]))
    assert isinstance(found[1], ModelError)
    assert "this prompt is not allowed" in str(found[1])
    assert [one.completions[0].text for one in (found[0], *found[2:])] == ["good 0", "late 0", "busy 0"]
    assert [len(made.requests) for made in server.batches.values()] == [4, 2]
    assert server.charged == 3


def test_what_a_provider_refuses_is_left_out_in_the_next_batch(tmp_path: Path) -> None:
    def line(body: Body) -> Body | None:
        if "temperature" not in body:
            return None
        words = "Unsupported parameter: 'temperature'"
        return {
            "response": {"status_code": 400, "body": {"error": {"message": words, "param": "temperature"}}}
        }

    with BatchServer(said, line) as server:
        (reply,) = use(server, tmp_path, lambda model: ask_all(model, [a_request()]))
    assert reply.notes == ("the endpoint refuses `temperature`: it was left out",)
    assert len(server.batches) == 2


def test_requests_that_an_expired_batch_did_not_get_to_go_again(tmp_path: Path) -> None:
    requests = [a_request(str(number)) for number in range(4)]
    with BatchServer(said, ends="expired", left_out=1) as server:

        async def work(model: OpenAIModel) -> Any:
            asking = asyncio.ensure_future(ask_all(model, requests))
            async with asyncio.timeout(20):
                while len(server.batches) < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            server.left_out = 0
            return await asking

        found = use(server, tmp_path, work)
    assert [one.completions[0].text for one in found] == ["0 0", "1 0", "2 0", "3 0"]
    assert server.charged == 4


def test_a_batch_that_fails_as_a_whole_says_why(tmp_path: Path) -> None:
    with BatchServer(said, ends="failed") as server:
        found = use(server, tmp_path, lambda model: ask_all(model, [a_request("a"), a_request("b")]))
    assert all("token limit of the queue" in str(error) for error in found)
    assert len(server.batches) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_endpoint_without_batches_says_so(tmp_path: Path) -> None:
    with BatchServer(said) as server:
        model_url = server.url + "/other"

        async def main() -> Any:
            model = openai_model("small", base_url=model_url, batches=tmp_path, sleep=briefly)
            try:
                return await ask_all(model, [a_request()])
            finally:
                await model.close()

        (error,) = asyncio.run(main())
    assert "only batches here" in str(error)
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_run_s_batch_is_collected_by_the_next(tmp_path: Path) -> None:
    requests = [a_request(str(number)) for number in range(5)]
    with BatchServer(said, looks=10**9) as server:

        async def stop_early(model: OpenAIModel) -> None:
            asking = asyncio.ensure_future(ask_all(model, requests))
            async with asyncio.timeout(20):
                while not server.batches:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

        use(server, tmp_path, stop_early)
        server.looks = 1
        found = use(server, tmp_path, lambda model: ask_all(model, requests))
        assert [one.completions[0].text for one in found] == [f"{number} 0" for number in range(5)]
        assert len(server.batches) == 1
        # What was handed out is asked for anew: a cache would have it.
        use(server, tmp_path, lambda model: ask_all(model, requests[:1]))
        assert len(server.batches) == 2


SPOILED: dict[str, Callable[[str], str]] = {
    "cut in a line": lambda text: text[:-40],
    "cut between lines": lambda text: text.partition("\n")[0] + "\n",
    "not text of ours": lambda text: "<html>busy</html>",
    "empty": lambda text: "",
}


@dataclass
class Spoiled(BatchServer):
    """Results that were made and charged, and cannot be polled or read while it is `spoiled`."""

    spoiled: str = "cut in a line"

    def got(self, path: str) -> tuple[int, str]:
        code, text = super().got(path)
        if self.spoiled in SPOILED and path.startswith("/v1/files/"):
            return code, SPOILED[self.spoiled](text)
        if self.spoiled == "not polled" and path.startswith("/v1/batches/"):
            return 403, json.dumps({"error": {"message": "this key may not read"}})
        return code, text


@pytest.mark.parametrize("spoiled", [*SPOILED, "not polled"])
def test_results_that_cannot_be_read_are_not_paid_twice(tmp_path: Path, spoiled: str) -> None:
    requests = [a_request(str(number)) for number in range(5)]
    with Spoiled(said, spoiled=spoiled) as server:
        found = use(server, tmp_path, lambda model: ask_all(model, requests))
        errors = [str(one) for one in found if isinstance(one, ModelError)]
        (path,) = tmp_path.iterdir()
        assert errors, found
        for words in errors:
            assert "batch_0 cannot be " in words and "the next run continues with it" in words
            assert f"without {path} it sends all again" in words
        assert len(server.batches) == 1
        server.spoiled = ""
        found = use(server, tmp_path, lambda model: ask_all(model, requests))
        assert [one.completions[0].text for one in found] == [f"{number} 0" for number in range(5)]
        assert len(server.batches) == 1
    assert not list(tmp_path.iterdir())


def test_a_batch_made_in_the_moment_of_the_kill_is_found_by_its_mark(tmp_path: Path) -> None:
    with BatchServer(said, deaf=1) as server:
        (error,) = use(server, tmp_path, lambda model: ask_all(model, [a_request()]))
        assert "the next run continues with it" in str(error)
        (reply,) = use(server, tmp_path, lambda model: ask_all(model, [a_request()]))
    assert reply.completions[0].text == "why? 0"
    assert len(server.batches) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_batch_that_its_provider_forgot_is_made_again(tmp_path: Path) -> None:
    with BatchServer(said) as server:
        pending = PendingBatches(tmp_path, server.url)
        use(server, tmp_path, lambda model: ask_all(model, [a_request()]))
        (line,) = server.batches["batch_0"].requests
        pending.name(pending.add([line]), "batch_gone")
        (reply,) = use(server, tmp_path, lambda model: ask_all(model, [a_request()]))
    assert reply.completions[0].text == "why? 0"
    assert list(tmp_path.iterdir()) == []


def test_without_a_place_to_remember_it_nothing_is_sent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with BatchServer(said) as server:
        (error,) = use(server, tmp_path / "file", lambda model: ask_all(model, [a_request()]))
    assert "cannot write" in str(error)
    assert server.seen == []


def test_what_is_pending_is_kept_by_endpoint_for_a_month(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pending = PendingBatches(tmp_path, "http://a/v1")
    batch = pending.name(pending.add(["one", "two"]), "batch_7")
    assert PendingBatches(tmp_path, "http://a/v1").find("two") == batch
    assert PendingBatches(tmp_path, "http://b/v1").find("two") is None
    (path,) = tmp_path.iterdir()
    (tmp_path / "other.json").write_text('{"token": 1}')
    (tmp_path / "torn.json").write_text("")
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "created": time.time() - REMEMBERED_S - 1}))
    assert PendingBatches(tmp_path, "http://a/v1").find("two") is None
    assert not path.exists()
    assert [
        words.partition(" is damaged, and its batch is not continued: ")[0] for words in caplog.messages
    ] == [
        str(tmp_path / "other.json"),
        str(tmp_path / "torn.json"),
    ]


# ---- whole runs

SET = ("--data", "q.csv", "--model", "openai:small", "--batch", "--json")


def questions(folder: Path, rows: int = 6) -> None:
    vote(folder)
    lines = [f"what is {number}?,7" for number in range(rows)]
    (folder / "q.csv").write_text("\n".join(["question,truth", *lines]) + "\n")
    (folder / "prices.json").write_text('{"small": {"input_per_million": 1000, "output_per_million": 0}}')


def test_eval_in_batches_costs_half_and_is_in_the_cache(tmp_path: Path) -> None:
    questions(tmp_path)
    more = ("--prices", "prices.json", "-O", "1")
    with BatchServer(lambda body, index: "7") as server:
        done = gotc("eval", "vote.got", *SET, *more, "--base-url", server.url, cwd=tmp_path)
        found = document(done)
        assert "batch batch_0: 6 requests sent" in done.stderr
        assert "batch batch_0: completed, 6 of 6 results" in done.stderr
        again = gotc("eval", "vote.got", *SET, *more, "--base-url", server.url, cwd=tmp_path)
    assert found["metrics"]["correct"]["mean"] == 1.0
    assert found["metrics"]["cost"]["mean"] == pytest.approx(0.005)  # 10 tokens at half of $1000 a million
    assert len(server.batches) == 1
    assert document(again)["metrics"]["correct"]["mean"] == 1.0


def test_an_eval_killed_in_every_phase_pays_nothing_twice(tmp_path: Path) -> None:
    """At the upload, as the batch is made, as it is looked at, and as its results come: each time by SIGKILL
    before the answer is there, and the next run goes on."""
    questions(tmp_path)
    with BatchServer(lambda body, index: "7") as server:
        command = ("eval", "vote.got", *SET, "--base-url", server.url)
        phases = ["POST /v1/files", "POST /v1/batches", "GET /v1/batches/", "GET /v1/files/"]
        for phase in phases:
            process = start(*command, cwd=tmp_path)

            def kill(line: str, phase: str = phase, process: subprocess.Popen[str] = process) -> None:
                if line.startswith(phase):
                    process.kill()
                    process.wait(timeout=60)

            server.watch = kill
            process.communicate(timeout=60)
            assert process.returncode == -signal.SIGKILL, phase
        server.watch = lambda line: None
        assert document(gotc(*command, cwd=tmp_path))["metrics"]["correct"]["mean"] == 1.0
    assert len(server.batches) == 1
    assert server.charged == 18
    assert not list((tmp_path / ".gotc" / "batches").iterdir())


def test_an_interrupted_eval_goes_on_with_its_batch(tmp_path: Path) -> None:
    questions(tmp_path)
    with BatchServer(lambda body, index: "7", looks=10**9) as server:
        command = ("eval", "vote.got", *SET, "--base-url", server.url)
        process = start(*command, cwd=tmp_path)
        until = time.monotonic() + 60
        while not any("GET" in line for line in server.seen) and time.monotonic() < until:
            time.sleep(0.02)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        process.communicate(timeout=60)
        assert process.returncode != 0
        server.looks = 1
        assert document(gotc(*command, cwd=tmp_path))["metrics"]["correct"]["mean"] == 1.0
    assert len(server.batches) == 1
    assert server.charged == 18
    assert not list((tmp_path / ".gotc" / "batches").iterdir())


@pytest.mark.parametrize("spoiled", ["cut in a line", "not polled"])
def test_a_batch_that_cannot_be_read_keeps_its_reservation(tmp_path: Path, spoiled: str) -> None:
    """What it may have cost stays uncertain, in the run and in its shared budget, and is told; the same
    command takes the results once they can be read, and pays nothing again."""
    questions(tmp_path)
    limited = ("--max-usd", "2", "--budget", "team", "--prices", "prices.json", "-O", "1")
    with Spoiled(lambda body, index: "7", spoiled=spoiled) as server:
        command = ("eval", "vote.got", *SET, *limited, "--base-url", server.url)
        failed = gotc(*command, cwd=tmp_path)
        found = document(failed, 1)
        spent = found["spent"]
        assert server.charged == 18
        assert spent["calls"] + spent["uncertain_calls"] == 18 and spent["uncertain_calls"] > 0
        assert 0.005 * spent["uncertain_calls"] / 3 <= spent["uncertain_usd"] <= 2
        assert "batch_0 cannot be " in str(found["failed"])
        assert "uncertain: at most $" in failed.stderr
        (team,) = document(gotc("budget", "list", "--json", cwd=tmp_path))["budgets"]
        assert (team["uncertain"]["calls"], team["reserved"]["calls"]) == (spent["uncertain_calls"], 0)
        server.spoiled = ""
        again = document(gotc(*command, cwd=tmp_path))
        assert again["metrics"]["correct"]["mean"] == 1.0
        assert again["spent"]["calls"] == spent["uncertain_calls"]
        assert (again["spent"]["uncertain_calls"], server.charged, len(server.batches)) == (0, 18, 1)


def test_batches_want_a_cache_and_an_endpoint(tmp_path: Path) -> None:
    questions(tmp_path)
    program = load(tmp_path / "vote.got")
    for options, words in (
        (Options(model="openai:small", base_url="http://127.0.0.1:9/v1", batch=True), "stored in the cache"),
        (Options(model="simulated", batch=True, cache=tmp_path / "c.sqlite"), "has no batch API"),
    ):
        with pytest.raises(UsageError, match=words):
            program.run(question="why", options=options)


def test_rows_of_different_lengths_need_as_many_batches_as_the_longest(tmp_path: Path) -> None:
    (tmp_path / "two.got").write_text(
        'prompt first(question: str) -> str:\n    "first {{ question }}"\n\n'
        'prompt second(text: str) -> str:\n    "second {{ text }}"\n\n'
        "scheme two(question: str) -> str:\n    Generate() first(question)\n    Generate() second(it)\n"
    )
    with BatchServer(said) as server:
        options = Options(
            model=openai_model("small", base_url=server.url, batches=tmp_path / "b", sleep=briefly),
            batch=True,
            cache=tmp_path / "c.sqlite",
        )

        async def main() -> list[Any]:
            async with Session(load(tmp_path / "two.got"), options) as session:
                results = await asyncio.gather(*(session.run({"question": f"q{i}"}) for i in range(100)))
                await session.model.close()
                return [result.value for result in results]

        values = asyncio.run(main())
    assert values == [f"second first q{i} 0 0" for i in range(100)]
    assert [len(made.requests) for made in server.batches.values()] == [100, 100]


def test_a_file_that_cannot_be_deleted_ends_no_run(tmp_path: Path) -> None:
    pending = PendingBatches(tmp_path, "here")
    batch = pending.add(["line"])
    (tmp_path / f"{batch.token}.json").unlink()
    (tmp_path / f"{batch.token}.json").mkdir()
    pending.forget(["line"])
    assert pending.find("line") is None
    assert PendingBatches(tmp_path, "here").find("line") is None

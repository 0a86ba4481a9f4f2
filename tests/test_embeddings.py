"""Embeddings: vectors are responses, cached, billed by what was read, and simulated by the program's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from gotlang.api import Options, Program, compile
from gotlang.errors import GotError
from gotlang.models.base import ModelOptions
from gotlang.models.registry import price_of_model
from gotlang.models.simulated import SimulatedModel

PROGRAM = """\
prompt vector(text: str) -> list[float]:
    temperature 0
    model "embeddings:small-embedding"
    "{{ text }}"
    parse json

score alike(a: str, b: str) -> higher, best 1:
    v = Generate() vector(a)
    w = Generate() vector(b)
    similarity(v, w)

scheme near(question: str, texts: list[str]) -> str:
    foreach text in texts:
        Pool() text
    Select() alike(it, question) > 0.1
    Score() alike(it, question)
    KeepBestN(1)
"""
TEXTS = ["the tax law", "a cat on the mat", "cats"]
PRICES = {"small-embedding": {"input_per_million": 10.0, "output_per_million": 1000.0}}


def vector_of(text: str) -> list[float]:
    return [float(text.count(word)) for word in ("cat", "tax", "law", "mat")] + [0.1]


class Served:
    """A server of embeddings that keeps the bodies it got."""

    def __init__(self, server: HTTPServer) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.answer: dict[str, Any] | None = None
        self.url = server.url_for("/v1")
        server.expect_request("/v1/embeddings", method="POST").respond_with_handler(self._respond)

    def _respond(self, request: Request) -> Response:
        body = request.get_json()
        self.bodies.append(body)
        data = [{"object": "embedding", "index": 0, "embedding": vector_of(body["input"])}]
        usage = {"prompt_tokens": 4, "total_tokens": 4}
        answer = {"object": "list", "model": body["model"], "data": data, "usage": usage}
        return Response(json.dumps(answer | (self.answer or {})), content_type="application/json")


@pytest.fixture
def served(httpserver: HTTPServer) -> Iterator[Served]:
    yield Served(httpserver)


def run(program: Program, served: Served, folder: Path, **more: Any) -> Any:
    (folder / "prices.json").write_text(json.dumps(PRICES))
    given = {"cache": folder / "c.sqlite", "prices": folder / "prices.json", **more}
    options = Options(model="openai:chat", base_url=served.url, **given)
    return program.run(question="my cat", texts=TEXTS, options=options)


def test_vectors_are_asked_once_billed_by_what_was_read_and_cached(served: Served, tmp_path: Path) -> None:
    program = compile(PROGRAM)
    done = run(program, served, tmp_path)
    assert done.value == "cats"
    assert sorted(body["input"] for body in served.bodies) == sorted(["my cat", *TEXTS])
    assert served.bodies[0] == {
        "model": "small-embedding",
        "input": served.bodies[0]["input"],
        "encoding_format": "float",
    }
    spent = done.to_dict()["spent"]
    assert (spent["calls"], spent["output_tokens"], done.to_dict()["notes"]) == (4, 0, [])
    assert spent["usd"] == pytest.approx(16 * 10 / 1e6)
    again = run(program, served, tmp_path, record=tmp_path / "run.jsonl")
    assert (again.value, len(served.bodies)) == ("cats", 4)
    replay = Options(model=f"replay:{tmp_path / 'run.jsonl'}", cache=None)
    assert program.run(question="my cat", texts=TEXTS, options=replay).value == "cats"


def test_a_budget_holds_for_vectors(served: Served, tmp_path: Path) -> None:
    with pytest.raises(GotError):
        run(compile(PROGRAM), served, tmp_path, max_calls=2)
    assert len(served.bodies) <= 2


@pytest.mark.parametrize(
    "data", [[], [{"embedding": ["a"]}], [{"embedding": []}], [{"embedding": [1e999]}], {}]
)
def test_what_is_no_vector_is_no_response(served: Served, tmp_path: Path, data: Any) -> None:
    served.answer = {"data": data}
    with pytest.raises(GotError, match="contains no completion"):
        _ = run(compile(PROGRAM), served, tmp_path, retry=False).value


def test_a_simulator_makes_vectors_of_its_own() -> None:
    model = SimulatedModel({"vector": lambda rng, text: json.dumps(vector_of(text))})
    found = compile(PROGRAM).run(question="my cat", texts=TEXTS, options=Options(model=model, cache=None))
    assert found.value == "cats"


def test_the_price_of_a_known_embedding_model_has_none_for_output() -> None:
    price = price_of_model("embeddings:text-embedding-3-small", ModelOptions())
    assert price is not None
    assert 0 < price.input_per_million < 1
    assert price.output_per_million == 0


def test_std_has_a_score_of_meaning_and_one_by_a_rubric() -> None:
    text = """\
from std.embed import alike
from std.judge import graded

scheme best(question: str, texts: list[str]) -> str:
    foreach text in texts:
        Pool() text
    Select() alike(it, question) > 0.1
    Score() graded(it, "It is short.")
    KeepBestN(1)
"""
    model = SimulatedModel(
        {
            "embed__embed": lambda rng, text: json.dumps(vector_of(text)),
            "judge__judge": lambda rng, text, rubric: json.dumps({"reasons": "so", "grade": 40 - len(text)}),
        }
    )
    found = compile(text).run(question="my cat", texts=TEXTS, options=Options(model=model, cache=None))
    assert (found.value, found.score) == ("a cat on the mat", 1.0)

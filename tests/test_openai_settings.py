"""The settings of the real model: endpoint, key, limits, price."""

from __future__ import annotations

import asyncio

import pytest
from support.asking import KEY, MODEL, a_request, openai_model
from support.openai_server import (
    OpenAIServer,
)

from gotlang.errors import UsageError
from gotlang.models.base import Price


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "ftp://x/v1", "http://", "http://[::1", "http://h:99999/v1"]
)
def test_a_base_url_that_is_none_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="base URL"):
        openai_model(MODEL, base_url=url)


def test_a_password_in_the_base_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        openai_model(MODEL, base_url="https://me:hunter22@example.com/v1")
    assert "hunter22" not in f"{caught.value} {caught.value.help}"


def test_openai_itself_wants_a_key() -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY is not set"):
        openai_model(MODEL)


@pytest.mark.parametrize("key", ["two words", "schlüssel", "a\x00b"])
def test_a_key_that_is_none_is_not_repeated(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {"OPENAI_API_KEY": key})
    with pytest.raises(UsageError) as caught:
        openai_model(MODEL)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [{"retries": -1}, {"timeout_s": 0}, {"rpm": 0}, {"tpm": -5}, {"batch": 0}],
)
def test_settings_that_make_no_sense_are_usage_errors(arguments: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        openai_model(MODEL, base_url="http://127.0.0.1:1/v1", **arguments)  # type: ignore[arg-type]


def test_the_endpoint_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

        async def main() -> None:
            model = openai_model(MODEL)
            await model.ask(a_request(), 1)
            await model.close()
            await model.close()

        asyncio.run(main())
    assert len(server.requests) == 1


def test_the_price_is_given_or_known_or_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    price = Price(1.0, 2.0)
    assert openai_model("gpt-4o-mini", base_url="http://127.0.0.1:1/v1", price=price).price == price
    assert openai_model("gpt-4o-mini", base_url="http://127.0.0.1:1/v1").price is None
    known = openai_model("gpt-4o-mini").price
    assert known is not None
    assert 0 < known.input_per_million < known.output_per_million

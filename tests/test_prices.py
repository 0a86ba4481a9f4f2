"""Prices: known ones, a user's own, unknown ones, broken files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gotlang.errors import UsageError
from gotlang.models.base import Message, Request, Usage, token_bound
from gotlang.models.prices import price_of
from gotlang.runtime.sampler.budget import cost, worst_case

OPENAI = "https://api.openai.com/v1"


def test_a_known_model_has_its_bundled_price() -> None:
    price = price_of("gpt-3.5-turbo", base_url=OPENAI)
    assert price is not None
    assert (price.input_per_million, price.output_per_million) == (0.5, 1.5)
    assert price.source.startswith("genai-prices ")
    assert price.usd(Usage(57_572, 13_989)) == pytest.approx(0.0498, abs=0.0001)


def test_cached_tokens_have_their_own_price_where_the_seller_has_one() -> None:
    price = price_of("gpt-4o-mini", base_url=OPENAI)
    assert price is not None and price.cached_input_per_million is not None
    assert (
        price.usd(Usage(1_000_000, 0, 1_000_000)) == price.cached_input_per_million < price.input_per_million
    )


def test_a_price_that_depends_on_the_length_says_so() -> None:
    price = price_of("gemini-2.5-pro")
    assert price is not None
    assert "above 200,000 tokens" in price.source


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("no-such-model", None),
        ("", None),
        ("no-such-model", OPENAI),
        ("gpt-4o-mini", "http://127.0.0.1:8080/v1"),
        ("gpt-4o-mini", "https://models.example.com/v1"),
    ],
)
def test_what_nobody_sells_has_no_known_price(name: str, url: str | None) -> None:
    assert price_of(name, base_url=url) is None


def test_a_users_file_goes_before_everything(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(
        json.dumps(
            {
                "gpt-4o-mini": {
                    "input_per_million": 1,
                    "output_per_million": 2,
                    "cached_input_per_million": 0.5,
                },
                "mine": {"input_per_million": 0, "output_per_million": 0},
            }
        )
    )
    dear = price_of("gpt-4o-mini", path, base_url=OPENAI)
    mine = price_of("mine", str(path), base_url="http://127.0.0.1:1/v1")
    assert dear is not None and mine is not None
    assert dear.usd(Usage(1_000_000, 1_000_000, 500_000)) == 0.5 + 0.25 + 2
    assert mine.usd(Usage(1_000_000, 1_000_000)) == 0
    assert mine.source == str(path)
    other = price_of("gpt-3.5-turbo", path, base_url=OPENAI)
    assert other is not None and other.source.startswith("genai-prices")


def test_the_file_may_be_toml(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('["a/b:c"]\ninput_per_million = 0.15\noutput_per_million = 0.6\n')
    price = price_of("a/b:c", path)
    assert price is not None
    assert (price.input_per_million, price.output_per_million, price.cached_input_per_million) == (
        0.15,
        0.6,
        None,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "does not parse"),
        ("[" * 100_000, "does not parse"),
        ("[]", "not a mapping"),
        ('{"other": 3}', "invalid prices of `other`"),
        ('{"m": {"input_per_million": 1}}', "missing required field `output_per_million`"),
        (
            '{"m": {"input_per_million": 1, "output_per_million": 1, "per_call": 2}}',
            "unknown field `per_call`",
        ),
        (
            '{"m": {"input_per_million": -1, "output_per_million": 1}}',
            "Expected `float` >= 0.0",
        ),
        (
            '{"m": {"input_per_million": "1", "output_per_million": 1}}',
            "got `str`",
        ),
        (
            '{"m": {"input_per_million": true, "output_per_million": 1}}',
            "got `bool`",
        ),
        (
            '{"m": {"input_per_million": NaN, "output_per_million": 1}}',
            "Expected `float` >= 0.0",
        ),
        (
            '{"m": {"input_per_million": 1, "output_per_million": 1, "cached_input_per_million": null}}',
            "got `null`",
        ),
    ],
)
def test_a_broken_file_is_told(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        price_of("m", path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert caught.value.help


def test_a_missing_file_and_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the price file"):
        price_of("m", tmp_path / "none.json")
    path = tmp_path / "prices.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="does not parse"):
        price_of("m", path)


def test_what_is_written_to_a_prompt_cache_has_its_own_price(tmp_path: Path) -> None:
    known = price_of("claude-sonnet-4-5", base_url="https://api.anthropic.com/v1")
    assert known is not None and known.cache_write_per_million is not None
    assert known.usd(Usage(1_000_000, cache_write_tokens=1_000_000)) == known.cache_write_per_million
    assert known.cache_write_per_million > known.input_per_million
    path = tmp_path / "prices.json"
    entry = {"input_per_million": 1, "output_per_million": 2, "cache_write_per_million": 1.25}
    path.write_text(json.dumps({"mine": entry}))
    mine = price_of("mine", path)
    assert mine is not None
    usage = Usage(1_000_000, 1_000_000, 0, 500_000, 400_000)
    assert mine.usd(usage) == pytest.approx(0.6 + 0.5 + 2)
    assert mine.times(0.5, "half").usd(usage) == pytest.approx(1.55)
    assert float(cost(mine, usage)) == pytest.approx(3.1)
    asked = Request("mine", (Message("user", "x" * 100),))
    assert float(worst_case(asked, 1, mine)) == pytest.approx(
        (1.25 * token_bound(asked) + 2 * asked.settings.max_tokens) / 1e6
    )

"""What a model's tokens cost: a user's own file first, else the figures that genai-prices brings along.

An overrides file is JSON, or TOML where its name ends in `.toml`. It maps model names to US dollars per
million tokens; the cached price may be left out, and cached tokens then cost what others do:

    {"my-model": {"input_per_million": 0.15, "output_per_million": 0.6, "cached_input_per_million": 0.075}}

    ["my-model"]
    input_per_million = 0.15
    output_per_million = 0.6
"""

from __future__ import annotations

import json
import math
import tomllib
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gotlang.errors import UsageError
from gotlang.models.base import Price

_REQUIRED = ("input_per_million", "output_per_million")
_FIELDS = (*_REQUIRED, "cached_input_per_million")


def price_of(
    model_name: str, overrides_file: Path | str | None = None, *, base_url: str | None = None
) -> Price | None:
    """The price of a model, or None where it is not known: never 0 for "don't know".

    `base_url` tells whose price it is, since one model has several sellers; an endpoint that is not a known
    seller's (one on loopback, say) has no known price. Without it the name alone decides.

    Raises UsageError for an overrides file that cannot be read, that has another form, or that holds a price
    which is no number of 0 or above.
    """
    if overrides_file is not None:
        own = _overrides(Path(overrides_file)).get(model_name)
        if own is not None:
            return own
    return _bundled(model_name, base_url)


def _bundled(model_name: str, base_url: str | None) -> Price | None:
    from genai_prices import Usage, calc_price

    try:
        found = calc_price(
            Usage(input_tokens=1, output_tokens=1), model_ref=model_name, provider_api_url=base_url
        )
    except (LookupError, ValueError):
        return None
    prices = found.model_price
    per_input, tier = _base(prices.input_mtok)
    per_output, _ = _base(prices.output_mtok)
    if per_input is None or per_output is None:
        return None
    source = f"genai-prices {version('genai-prices')}, {found.provider.name}"
    if tier is not None:
        source += f"; prompts above {tier:,} tokens cost more"
    return Price(per_input, per_output, _base(prices.cache_read_mtok)[0], source)


def _base(price: Any) -> tuple[float | None, int | None]:
    """A price in dollars with the number of prompt tokens above which a higher one holds."""
    if price is None or isinstance(price, Decimal):
        return (None if price is None else float(price)), None
    return float(price.base), min((tier.start for tier in price.tiers), default=None)


def _overrides(path: Path) -> dict[str, Price]:
    try:
        text = path.read_text("utf-8")
        table = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise UsageError(f"cannot read the price file {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the price file {path} does not parse: {error}", help=_HELP) from None
    if not isinstance(table, dict):
        raise UsageError(f"the price file {path} is not a mapping from model names to prices", help=_HELP)
    return {name: _override(path, name, entry) for name, entry in table.items()}


def _override(path: Path, name: str, entry: object) -> Price:
    if not isinstance(entry, dict):
        raise UsageError(f"the price file {path} gives no prices for `{name}`", help=_HELP)
    unknown = [field for field in entry if field not in _FIELDS]
    if unknown:
        raise UsageError(
            f"the price file {path} has an unknown field `{unknown[0]}` for `{name}`", help=_HELP
        )
    for field in _REQUIRED:
        if field not in entry:
            raise UsageError(f"the price file {path} lacks `{field}` for `{name}`", help=_HELP)
    for field, value in entry.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value < 0:
            raise UsageError(
                f"the price file {path} has {value!r} as `{field}` of `{name}`",
                help="give US dollars, 0 or above",
            )
    cached = entry.get("cached_input_per_million")
    per_input, per_output = (float(entry[field]) for field in _REQUIRED)
    return Price(per_input, per_output, None if cached is None else float(cached), str(path))


_HELP = (
    'write it like {"my-model": {"input_per_million": 0.15, "output_per_million": 0.6, '
    '"cached_input_per_million": 0.075}}, in US dollars'
)

"""Prices of models: from the user's own file, else the figures bundled with genai-prices.

A price file is JSON, or TOML if its name ends in `.toml`. It maps model names to US dollars per million
tokens; without a price of their own, tokens read from a provider's prompt cache
(`cached_input_per_million`) or written to it (`cache_write_per_million`) cost what others do:

    {"my-model": {"input_per_million": 0.15, "output_per_million": 0.6, "cached_input_per_million": 0.075}}

    ["my-model"]
    input_per_million = 0.15
    output_per_million = 0.6
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any, final

from msgspec import UNSET, Struct, UnsetType, to_builtins
from msgspec.structs import asdict

from gotlang.disk import read_bounded
from gotlang.errors import UsageError
from gotlang.models.base import Price
from gotlang.records import InvalidRecord, from_plain
from gotlang.records import Seconds as Dollars

_HELP = (
    'write it like {"my-model": {"input_per_million": 0.15, "output_per_million": 0.6, '
    '"cached_input_per_million": 0.075}}, in US dollars'
)


def price_of(
    model_name: str,
    overrides_file: Path | str | None = None,
    *,
    base_url: str | None = None,
    seller: str | None = None,
    reads_only: bool = False,
) -> Price | None:
    """The price of a model, or None if it is unknown (never 0 for "don't know").

    A model may have several sellers. `seller` is the id of one in genai-prices; without it, `base_url`
    decides whose price it is: an endpoint that is not a known seller's (one on loopback, say) has no known
    price. Without both, the name alone decides. A model that `reads_only` has no price for output.

    Raises UsageError for a price file that cannot be read or is malformed.
    """
    if (own := own_price(model_name, overrides_file)) is not None:
        return own
    from genai_prices import Usage, calc_price

    where = {"provider_id": seller} if seller else {"provider_api_url": base_url}
    try:
        found = calc_price(Usage(input_tokens=1, output_tokens=1), model_ref=model_name, **where)
    except (LookupError, ValueError):
        return None
    prices = found.model_price
    per_input, tier = _base(prices.input_mtok)
    per_output = 0.0 if reads_only else _base(prices.output_mtok)[0]
    if per_input is None or per_output is None:
        return None
    from importlib.metadata import version

    source = f"genai-prices {version('genai-prices')}, {found.provider.name}"
    if tier is not None:
        source += f"; prompts above {tier:,} tokens cost more"
    return Price(
        per_input, per_output, _base(prices.cache_read_mtok)[0], source, _base(prices.cache_write_mtok)[0]
    )


def own_price(model_name: str, file: Path | str | None) -> Price | None:
    """The price of a model in the user's file, if there is one. Raises UsageError for a file that cannot be
    read or is malformed."""
    return None if file is None else _read(Path(file)).get(model_name)


def _base(price: Any) -> tuple[float | None, int | None]:
    """A price in dollars, and the number of prompt tokens above which a higher one applies."""
    if price is None or isinstance(price, Decimal):
        return (None if price is None else float(price)), None
    return float(price.base), min((tier.start for tier in price.tiers), default=None)


def _read(path: Path) -> dict[str, Price]:
    try:
        text = read_bounded(path).decode()
        if path.suffix == ".toml":
            import tomllib
        table = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise UsageError(f"cannot read the price file {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the price file {path} does not parse: {error}", help=_HELP) from None
    if not isinstance(table, dict):
        raise UsageError(f"the price file {path} is not a mapping from model names to prices", help=_HELP)
    return {name: _price(entry, name, path) for name, entry in table.items()}


def _price(entry: object, name: str, path: Path) -> Price:
    try:
        return Price(**to_builtins(from_plain(entry, _PriceEntry)), source=str(path))
    except InvalidRecord as error:
        raise UsageError(f"invalid prices of `{name}` in {path}: {error}", help=_HELP) from None


class _PriceEntry(Struct, forbid_unknown_fields=True):
    input_per_million: Dollars
    output_per_million: Dollars
    cached_input_per_million: Dollars | UnsetType = UNSET
    cache_write_per_million: Dollars | UnsetType = UNSET


def dollars(amount: float | None) -> str:
    """An amount in US dollars, or `unknown`. Below a hundredth of a cent it has two significant digits."""
    if amount is None:
        return "unknown"
    if 0 < amount < 1e-4:
        return f"${amount:.{1 - math.floor(math.log10(amount))}f}"
    return f"${amount:.4f}" if amount < 1 else f"${amount:,.2f}"


@final
class Spent(Struct, frozen=True):
    """Calls and US dollars that are known to be charged; calls that may have been, and the maximum of further
    US dollars for these; and calls that were free (cached, or refused by the endpoint).

    Dollars are None if a price is unknown. Those of a simulated model are simulated.
    """

    calls: int = 0
    usd: float | None = 0.0
    uncertain_calls: int = 0
    uncertain_usd: float | None = 0.0
    free_calls: int = 0

    def __add__(self, other: Spent) -> Spent:
        known = self.usd is not None and other.usd is not None
        return Spent(
            self.calls + other.calls,
            (self.usd or 0.0) + (other.usd or 0.0) if known else None,
            self.uncertain_calls + other.uncertain_calls,
            (self.uncertain_usd or 0.0) + (other.uncertain_usd or 0.0) if known else None,
            self.free_calls + other.free_calls,
        )

    def __str__(self) -> str:
        """`$0.0451 on 37 calls; uncertain: at most $0.0020 more on 1 call; free: 4 calls`."""
        usd = "an unknown amount" if self.usd is None else dollars(self.usd)
        parts = [f"{usd} on {calls_text(self.calls)}"]
        parts += [f"uncertain: {self.uncertain}"] * bool(self.uncertain_calls)
        parts += [f"free: {calls_text(self.free_calls)}"] * bool(self.free_calls)
        return "; ".join(parts)

    @property
    def uncertain(self) -> str:
        """`at most $0.0020 more on 1 call`."""
        most = "an unknown amount" if self.uncertain_usd is None else f"at most {dollars(self.uncertain_usd)}"
        return f"{most} more on {calls_text(self.uncertain_calls)}"

    @property
    def most_usd(self) -> float:
        """US dollars that count towards a limit: charged and uncertain ones. 0 for an unknown price."""
        return (self.usd or 0.0) + (self.uncertain_usd or 0.0)

    @property
    def all_calls(self) -> int:
        """All calls of all kinds."""
        return self.calls + self.uncertain_calls + self.free_calls

    def to_dict(self) -> dict[str, int | float | None]:
        """The amounts by name, as all JSON documents have them."""
        # Sums are rounded so that they do not depend on summation order: equal runs print equal sums.
        return {n: round(v, 12) if isinstance(v, float) else v for n, v in asdict(self).items()}


NOTHING_SPENT = Spent()


def calls_text(number: int) -> str:
    """`1 call`, `1,896 calls`."""
    return f"{number:,} call{'' if number == 1 else 's'}"

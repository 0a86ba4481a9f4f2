"""`gotc budget`: the budgets that processes share beside a cache (`--budget NAME`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from gotlang.cli import options as opt
from gotlang.cli.output import complain, document, harmless, say
from gotlang.errors import CacheError, UsageError

if TYPE_CHECKING:
    from gotlang.cache.coordination import Coordination, StoredBudget


@click.group("budget")
def budget_command() -> None:
    """Show the budgets that runs share (`--budget NAME`), change their limits, remove them."""


@contextmanager
def _coordination(where: str) -> Iterator[Coordination]:
    from gotlang.cache import open_cache

    if where == str(opt.CACHE) and not opt.CACHE.exists():
        raise CacheError("no cache in this folder yet", help="`gotc run FILE` creates it")
    cache = open_cache(where)
    shared = cache.coordination()
    assert shared is not None
    try:
        yield shared
    finally:
        shared.close()
        cache.close()


@budget_command.command("list")
@opt.cache_option
@opt.json_option
def list_(cache: str, json: bool) -> int:
    """List the budgets with their limits and spending."""
    with _coordination(cache) as shared:
        found = shared.budgets()
    if json:
        document({"budgets": [_as_json(budget) for budget in found]})
        return 0
    for budget in found:
        say(f"{harmless(budget.name)}: {budget}")
    if not found:
        complain("this cache has no budgets; `--budget NAME --max-usd USD` creates one")
    return 0


def _as_json(budget: StoredBudget) -> dict[str, object]:
    amounts = {"charged": budget.charged, "uncertain": budget.uncertain, "reserved": budget.reserved}
    return {
        "name": budget.name,
        "max_usd": None if budget.max_usd is None else float(budget.max_usd),
        "max_calls": budget.max_calls,
        **{name: {"usd": float(one.usd), "calls": one.calls} for name, one in amounts.items()},
    }


@budget_command.command("set")
@click.argument("name")
@opt.max_usd_option
@opt.max_calls_option
@opt.cache_option
def set_(name: str, max_usd: float | None, max_calls: int | None, cache: str) -> int:
    """Change the limits of the budget NAME, also for running runs."""
    if max_usd is None and max_calls is None:
        raise UsageError("specify the new limit", help="`--max-usd USD` or `--max-calls N`")
    with _coordination(cache) as shared:
        budget = _the(shared, name)
        limit = budget.max_usd if max_usd is None else Fraction(repr(max_usd))
        shared.limit(name, limit, budget.max_calls if max_calls is None else max_calls)
        complain(f"{name}: {_the(shared, name)}")
    return 0


@budget_command.command("remove")
@click.argument("name")
@opt.cache_option
def remove(name: str, cache: str) -> int:
    """Remove the budget NAME and its record of spending."""
    with _coordination(cache) as shared:
        with suppress(CacheError):  # a damaged one is removed, too
            _the(shared, name)
        if not shared.remove(name):
            raise UsageError(f"requests are in flight in the budget `{name}`", help="end its runs first")
    complain(f"removed the budget {name}")
    return 0


def _the(shared: Coordination, name: str) -> StoredBudget:
    found = {budget.name: budget for budget in shared.budgets()}
    if name not in found:
        simulated = f"{name} (simulated)"
        help = f"the budget of simulated runs is called `{simulated}`" if simulated in found else None
        help = help or "`gotc budget list` shows the existing ones"
        raise UsageError(f"there is no budget `{name}`", help=help)
    return found[name]

"""Options that several commands share, each with its meaning and default in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli.kinds import Dollars, Limit, Pair, Positive
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.api import Options

Decorator = Callable[[Any], Any]

FOLDER = Path(".gotc")
"""Where a folder's cache and history are."""
CACHE = FOLDER / "cache.sqlite"

DEFAULT_CONCURRENCY = 64
SCHEDULES = ("breadth-first", "depth-first", "best-first", "longest-path-first")
"""The names that the runtime knows; spelt here too, so that `--help` need not import it (a test compares)."""


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator, in the order that help shows them."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


input_options: Decorator = together(
    click.option("--input", type=Pair("NAME=VALUE"), multiple=True, help="One of the scheme's inputs."),
    click.option(
        "--inputs",
        metavar="FILE.json",
        help="Inputs from a JSON object; `-` is standard input.",
    ),
    click.option(
        "--data", metavar="FILE", help="Inputs from a row of a .csv, .jsonl, .json or .parquet file."
    ),
    click.option(
        "--row",
        type=click.IntRange(min=0),
        metavar="N",
        default=0,
        help="Which row of --data, counted from 0.",
    ),
    click.option(
        "--map",
        type=Pair("INPUT=COLUMN"),
        multiple=True,
        help="The column of --data for an input; the input `truth` is the known answer.",
    ),
)

param_options: Decorator = together(
    click.option(
        "--set", type=Pair("PARAM=VALUE"), multiple=True, help="Another value for one of the params."
    ),
    click.option("--tuned", metavar="FILE", help="Params, instructions and examples that `gotc tune` found."),
)

model_options: Decorator = together(
    click.option(
        "--model",
        metavar="SPEC",
        help="`simulated`, `openai:NAME` for any OpenAI-compatible endpoint, `local:NAME`, or `replay:FILE`. "
        "[default: openai:$OPENAI_MODEL where a key is set, else simulated]",
    ),
    click.option(
        "--base-url", metavar="URL", help="The endpoint. [default: $OPENAI_BASE_URL, else OpenAI's own]"
    ),
    click.option(
        "--seed",
        type=int,
        metavar="N",
        default=0,
        help="Numbers the draws: another seed asks for other answers.",
    ),
    click.option(
        "--rpm",
        type=Positive("N"),
        help="Send no more requests a minute. [default: what the endpoint says it allows]",
    ),
    click.option(
        "--tpm",
        type=Positive("N"),
        help="Take no more tokens a minute. [default: what the endpoint says it allows]",
    ),
    click.option(
        "--timeout", type=Positive("SECONDS"), help="How long a request or a `Call` may take. [default: 180]"
    ),
    click.option("--no-retry", is_flag=True, help="Do not send a request again that failed."),
    click.option("--prices", metavar="FILE", help="Prices of models, as JSON or TOML, over the known ones."),
    click.option(
        "--no-python", is_flag=True, help="Refuse programs that import Python or are simulated by it."
    ),
)

limit_options: Decorator = together(
    click.option(
        "--max-usd",
        "--budget",
        "max_usd",
        type=Dollars(),
        help="Spend no more than this. [default: no limit]",
    ),
    click.option(
        "--max-calls",
        type=click.IntRange(min=0),
        metavar="N",
        help="Ask for no more answers. [default: no limit]",
    ),
)

order_options: Decorator = together(
    click.option(
        "--concurrency", type=Limit(), default=DEFAULT_CONCURRENCY, help="Requests under way at a time."
    ),
    click.option(
        "--model-concurrency",
        type=Pair("MODEL=N"),
        multiple=True,
        help="Requests under way at a time to one of several models.",
    ),
    click.option(
        "--schedule",
        type=click.Choice(SCHEDULES),
        default=SCHEDULES[0],
        help="Which of the operations that are ready goes first; the result does not depend on it.",
    ),
)

optimizer_options: Decorator = together(
    click.option("--no-early-stop", is_flag=True, help="Keep sampling where a perfect thought is there."),
    click.option("--no-fusion", is_flag=True, help="One request for each answer, also where `n` is allowed."),
    click.option(
        "--wave",
        type=click.IntRange(min=1),
        metavar="N",
        help="Answers in the first wave of a sampling that may stop early. [default: a third of them]",
    ),
    click.option(
        "-O",
        "--optimize",
        type=click.IntRange(0, 2),
        metavar="LEVEL",
        default=2,
        help="Optimization: 0 none, 1 fusion, 2 and early stop.",
    ),
)

cache_options: Decorator = together(
    click.option("--cache", metavar="PATH", default=str(CACHE), help="Where paid answers are kept."),
    click.option("--no-cache", is_flag=True, help="Keep no answers beyond this run, and use none."),
)


batch_option: Decorator = click.option(
    "--batch",
    is_flag=True,
    help="Send requests with the provider's batches: at half the price, within a day. Ended early, the same "
    "command goes on.",
)


def run_options(chosen: Mapping[str, Any]) -> Options:
    """Options of a run from the parameters of a command that takes all of the above.

    Where no model is named it is the one that the environment configures.
    """
    from gotlang.api import Options
    from gotlang.models.registry import default_model

    concurrency = chosen["concurrency"]
    return Options(
        model=chosen["model"] or default_model(),
        seed=chosen["seed"],
        max_usd=chosen["max_usd"],
        max_calls=chosen["max_calls"],
        concurrency=None if concurrency == "none" else concurrency,
        model_concurrency=_limits(chosen["model_concurrency"]),
        schedule=chosen["schedule"],
        wave=chosen["wave"],
        cache=None if chosen["no_cache"] else chosen["cache"],
        base_url=chosen["base_url"],
        retry=not chosen["no_retry"],
        rpm=chosen["rpm"],
        tpm=chosen["tpm"],
        timeout=chosen["timeout"],
        batch=batched(chosen),
        prices=None if chosen["prices"] is None else Path(chosen["prices"]),
        python=not chosen["no_python"],
        level=chosen["optimize"],
        early_stop=not chosen["no_early_stop"],
        fusion=not chosen["no_fusion"],
    )


def _limits(given: tuple[tuple[str, str], ...]) -> dict[str, int]:
    limits = {}
    for name, number in pairs(given, "--model-concurrency").items():
        if not number.strip().isdecimal() or not int(number):
            raise UsageError(f"--model-concurrency {name}={number}: a whole number of at least 1 is needed")
        limits[name] = int(number)
    return limits


def batched(chosen: Mapping[str, Any]) -> bool:
    """Whether requests go with batches; what becomes of these is then told on stderr."""
    if not chosen.get("batch", False):
        return False
    import logging
    import sys

    log = logging.getLogger("gotlang.batches")
    log.setLevel(logging.INFO)
    if not log.handlers:
        log.addHandler(logging.StreamHandler(sys.stderr))
    return True


def pairs(given: tuple[tuple[str, str], ...], option: str) -> dict[str, str]:
    """Pairs by name. Raises UsageError where a name is given twice."""
    out: dict[str, str] = {}
    for name, value in given:
        if name in out:
            raise UsageError(f"`{option} {name}=...` is given twice")
        out[name] = value
    return out

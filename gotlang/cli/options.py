"""Options that several commands share, each with its meaning and default in one place."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli.output import as_json, complain, harmless
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.api import Options, Question
    from gotlang.config import ConfiguredUrl

    ParamType = click.ParamType[Any]
else:  # generic for type checkers only, in the oldest click that is supported
    ParamType = click.ParamType

Decorator = Callable[[Any], Any]

FOLDER = Path(".gotc")
"""Where the cache and the history of a folder are."""
CACHE = FOLDER / "cache.sqlite"

DEFAULT_CONCURRENCY = 64
SCHEDULES = ("breadth-first", "depth-first", "best-first", "critical-path-first")
"""The names that the runtime knows; repeated here so that `--help` need not import it (a test compares)."""


class Parsed(ParamType):
    """A value that a function reads from its text; a ValueError of it is reported as `wrong`."""

    name = "value"

    def __init__(self, metavar: str, read: Callable[[str], Any], wrong: str) -> None:
        self.metavar = metavar
        self._read = read
        self._wrong = wrong

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """As help shows it."""
        return self.metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; one that is not a text may come from a configuration file."""
        if isinstance(value, tuple | slice):
            return value
        try:
            return self._read(str(value))
        except ValueError:
            self.fail(f"`{value}` {self._wrong}", param, ctx)


class Pair(Parsed):
    """`NAME=VALUE`. Several of them in an environment variable are on lines of their own."""

    envvar_list_splitter = "\n"

    def __init__(self, metavar: str) -> None:
        super().__init__(metavar, _pair, f"is not of the form {metavar}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ValueError
    return name.strip(), value


def _number(text: str, low: float, high: float = math.inf) -> float:
    number = float(text)
    if not (low <= number <= high and math.isfinite(number)):
        raise ValueError
    return number


def _positive(text: str) -> float:
    if (number := _number(text, 0)) == 0:
        raise ValueError
    return number


def _limit(text: str) -> int | str:
    if text.strip().lower() == "none":
        return "none"
    if (number := int(text)) < 1:
        raise ValueError
    return number


def _share(text: str) -> float:
    text = text.strip()
    return _number(text.removesuffix("%"), 0, 100) / 100 if text.endswith("%") else _number(text, 0, 1)


def _rows(text: str) -> slice | tuple[slice | int, ...]:
    from gotlang.data.selection import rows_of

    return rows_of(text)


def _sample(text: str) -> tuple[int, int]:
    from gotlang.data.selection import sample_of

    return sample_of(text)


DOLLARS = Parsed(
    "USD", lambda text: _number(text.strip().removeprefix("$"), 0), "is not an amount of US dollars"
)
LIMIT = Parsed("N|none", _limit, "is neither a whole number of at least 1 nor `none`")
SHARE = Parsed("SHARE", _share, "is not a share from 0 to 1, such as 0.2 or 20%")
ROWS = Parsed(
    "ROWS", _rows, "is not a range of rows, such as 900:1000, :100 or -50:, and not a list such as 3,7"
)
SAMPLE = Parsed(
    "N[:SEED]", _sample, "is neither a number of rows of at least 1, nor that and a seed as in 100:7"
)


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator, in the order that help shows them."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _option(name: str, default: Any, **settings: Any) -> Decorator:
    # To click a default of None is not the same as none.
    return click.option(name, **settings, **({} if default is None else {"default": default}))


def text(name: str, metavar: str, help: str, default: str | None = None) -> Decorator:
    """An option with a text, such as a path or a name."""
    return _option(name, default, metavar=metavar, help=help)


def flag(name: str, help: str) -> Decorator:
    """An option without a value."""
    return click.option(name, is_flag=True, help=help)


def whole(name: str, help: str, default: int | None = None, least: int = 1, metavar: str = "N") -> Decorator:
    """An option with a whole number of at least `least`."""
    return _option(name, default, type=click.IntRange(min=least), metavar=metavar, help=help)


def positive(name: str, metavar: str, help: str) -> Decorator:
    """An option with a finite number above 0."""
    return click.option(name, type=Parsed(metavar, _positive, "is not a number above 0"), help=help)


def pair(name: str, metavar: str, help: str) -> Decorator:
    """An option with `NAME=VALUE`, which may be repeated."""
    return click.option(name, type=Pair(metavar), multiple=True, help=help)


def choice(name: str, values: Sequence[str], help: str, default: str | None = None) -> Decorator:
    """An option with one of several values."""
    return _option(name, default, type=click.Choice(values), help=help)


scheme_option = text(
    "--scheme", "NAME", "Which scheme. [default: the one named like the file, otherwise the last]"
)
json_option: Decorator = click.option(
    "--json", is_flag=True, callback=as_json, help="One JSON document on stdout."
)
quiet_option = flag("--quiet", "No progress and no summary.")
base_url_option = text("--base-url", "URL", "The endpoint. [default: $OPENAI_BASE_URL, otherwise OpenAI's]")
prices_option = text("--prices", "FILE", "Prices of models, as JSON or TOML, instead of the known ones.")
cache_option = text("--cache", "PATH", "The cache: a file or a postgresql:// address.", str(CACHE))
concurrency_option: Decorator = click.option(
    "--concurrency", type=LIMIT, default=DEFAULT_CONCURRENCY, help="Concurrent requests."
)
max_usd_option: Decorator = click.option(
    "--max-usd", type=DOLLARS, help="Spend no more than this. [default: no limit]"
)
max_calls_option = whole("--max-calls", "Maximum calls. [default: no limit]", least=0)
engine_options = together(
    choice("--engine", ("embedded", "ray"), "Rows run in this process, or on a Ray cluster.", "embedded"),
    text("--address", "ADDRESS", "The cluster: ray://HOST:10001, HOST:6379 or auto. [default: a local one]"),
)
budget_option = text(
    "--budget", "NAME", "Spend from this budget, with all runs on the cache that name it; a limit makes it."
)
level_option: Decorator = click.option(
    "-O",
    "--optimize",
    type=click.IntRange(0, 2),
    metavar="LEVEL",
    default=2,
    help="Optimization: 0 none, 1 request batching (n > 1), 2 also early stopping.",
)
batch_option = flag(
    "--batch", "Use the batch API: half the price, within a day. The same command continues after Ctrl-C."
)

input_options = together(
    pair("--input", "NAME=VALUE", "One of the scheme's inputs; `NAME=@FILE` reads it from a text file."),
    text("--inputs", "FILE.json", "Inputs from a JSON object; `-` is standard input."),
    text("--data", "FILE", "Inputs from a row of a .csv, .jsonl, .json or .parquet file."),
    whole("--row", "Which row of --data, counted from 0.", 0, 0),
    pair(
        "--map", "INPUT=COLUMN", "The column of --data for an input; the input `truth` is the known answer."
    ),
)
row_options: Decorator = together(
    click.option(
        "--rows",
        type=ROWS,
        help="Only these rows, from 0: as Python's slices 900:1000, :100, -50:, or 3,7,-1.",
    ),
    click.option("--sample", type=SAMPLE, help="Only N rows, drawn at random by a seed. [default seed: 0]"),
)
param_options = together(
    pair("--set", "PARAM=VALUE", "Another value for one of the params."),
    text("--tuned", "FILE", "Params, instructions and examples that `gotc tune` found."),
)
python_options = together(
    flag("--no-python", "Refuse programs that import Python or are simulated by it."),
    click.option(
        "--allow-python",
        is_flag=True,
        envvar="GOTC_ALLOW_PYTHON",
        help="Run the program's Python, trusted or not. [also: GOTC_ALLOW_PYTHON=1]",
    ),
    click.option(
        "--python-key", metavar="NAME", multiple=True, help="Leave this key in the program's environment."
    ),
)
corpus_option = pair("--corpus", "NAME=PATH", "Another corpus for one that the program imports.")
model_options = together(
    text(
        "--model",
        "SPEC",
        "`simulated`, `openai:NAME` or NAME alone for any OpenAI-compatible endpoint, `local:NAME`, "
        "`replay:FILE`, or of another provider that `gotc models` lists. "
        "[default: openai:$OPENAI_MODEL if a key is set, otherwise simulated]",
    ),
    base_url_option,
    click.option("--seed", type=int, metavar="N", default=0, help="Another seed requests different samples."),
    positive("--rpm", "N", "Maximum requests per minute. [default: what the endpoint reports]"),
    positive("--tpm", "N", "Maximum tokens per minute. [default: what the endpoint reports]"),
    positive("--timeout", "SECONDS", "Timeout of a request and of a `Call`. [default: 180]"),
    flag("--no-retry", "Do not retry failed requests."),
    prices_option,
    python_options,
)
limit_options = together(max_usd_option, max_calls_option, budget_option)
order_options = together(
    concurrency_option,
    pair("--model-concurrency", "MODEL=N", "Concurrent requests to one of several models."),
    choice(
        "--schedule",
        SCHEDULES,
        "Which of the ready operations goes first; the result does not depend on it.",
        SCHEDULES[0],
    ),
)
answer_options = together(
    pair("--answer", "ID=TEXT", "A person's answer to a question of the program, by the question's name."),
    text("--answers", "FILE.json", "Answers from a JSON object, by the names of the questions."),
)
edited_option = text(
    "--edited", "FILE", "Ask prompts of single operations with other texts, as `gotc studio` writes them."
)
record_option = text("--record", "FILE", "Record requests and responses, for `--model replay:FILE`.")
optimizer_options = together(
    choice(
        "--prefer",
        ("cost", "latency"),
        "All samples at once, or in rounds that end at a perfect one. [default: latency; for many rows cost]",
    ),
    flag("--no-batching", "One request per call, even if the endpoint supports n > 1."),
    whole("--wave", "Calls in the first batch of samples that may stop early. [default: a third of them]"),
    level_option,
)
cache_options = together(
    cache_option,
    flag("--no-cache", "Neither read nor write a cache."),
    choice(
        "--on-cache-loss",
        ("stop", "go-on"),
        "If the cache cannot be written: stop, or go on and pay for samples that are not stored.",
        "stop",
    ),
)


def run_options(chosen: Mapping[str, Any]) -> Options:
    """Options of a run from the parameters of a command; those that it does not have keep their defaults."""
    from gotlang.api import Options, default_model

    same = ["on_cache_loss", "seed", "max_usd", "max_calls", "budget", "schedule", "wave"]
    same += ["rpm", "tpm", "timeout", "engine", "address"]
    own = {name: chosen[name] for name in same if name in chosen}
    if "base_url" in chosen:
        own["base_url"] = base_url(chosen)
    if "concurrency" in chosen:
        own["concurrency"] = None if chosen["concurrency"] == "none" else chosen["concurrency"]
    if "cache" in chosen:
        own["cache"] = None if chosen["no_cache"] else str(chosen["cache"])
    if "answer" in chosen:
        own |= {"answers": _answers(chosen), "ask": at_terminal()}
    own |= {"python": python_allowed(chosen), "python_keys": chosen["python_key"]}
    if "corpus" in chosen:
        own["corpora"] = pairs(chosen["corpus"], "--corpus")
    if chosen.get("edited") is not None:
        from gotlang.report.edits import read_edits

        edits = read_edits(chosen["edited"])
        own["edits"] = {(one.operation, one.key): tuple(one.messages) for one in edits}
    for option, name in (("no_retry", "retry"), ("no_batching", "batching")):
        own[name] = not chosen.get(option, False)
    return Options(
        model=chosen["model"] or default_model(),
        model_concurrency=_limits(chosen.get("model_concurrency", ())),
        batch=batched(chosen),
        prices=None if chosen["prices"] is None else Path(chosen["prices"]),
        level=chosen.get("optimize", 2),
        prefer=chosen.get("prefer"),
        **own,
    )


def _answers(chosen: Mapping[str, Any]) -> dict[str, str]:
    """What people have answered, by the names of the questions. Raises UsageError."""
    from gotlang.reading import read_bounded
    from gotlang.records import InvalidRecord, from_json

    found: dict[str, str] = {}
    if (path := chosen["answers"]) is not None:
        try:
            found = from_json(read_bounded(path), dict[str, str])
        except (OSError, ValueError, InvalidRecord) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"cannot read the answers in {path}: {reason}") from None
    return found | pairs(chosen["answer"], "--answer")


def at_terminal() -> Callable[[Question], str | None] | None:
    """Asks whoever sits at the terminal; None where nobody does."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(question: Question) -> str | None:
        from gotlang.cli.progress import off_screen

        with off_screen():
            complain("")
            for line in question.text.splitlines():
                complain(harmless(line))
            print("> ", end="", file=sys.stderr, flush=True)
            return sys.stdin.readline().removesuffix("\n") or None

    return ask


def python_allowed(chosen: Mapping[str, Any]) -> bool | None:
    """Whether the program's Python runs; None leaves it to what the user trusts."""
    return False if chosen["no_python"] else chosen["allow_python"] or None


def base_url(chosen: Mapping[str, Any]) -> str | ConfiguredUrl | None:
    """`--base-url`, which is the user's word, or what files configure for the command."""
    from gotlang.config import configured_url

    context = click.get_current_context()
    return chosen["base_url"] or configured_url(str(context.info_name))


def _limits(given: tuple[tuple[str, str], ...]) -> dict[str, int]:
    limits = {}
    for name, number in pairs(given, "--model-concurrency").items():
        if not number.strip().isdecimal() or not int(number):
            raise UsageError(f"--model-concurrency {name}={number}: expected a whole number of at least 1")
        limits[name] = int(number)
    return limits


def batched(chosen: Mapping[str, Any]) -> bool:
    """Whether requests use the batch API; if so, its progress is logged on stderr."""
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
    """Pairs by name. Raises UsageError for a duplicate name."""
    out: dict[str, str] = {}
    for name, value in given:
        if name in out:
            raise UsageError(f"duplicate `{option} {name}=...`")
        out[name] = value
    return out

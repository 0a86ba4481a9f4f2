"""Options that several commands share, each with its meaning and default in one place."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from msgspec import Struct

from gotlang.cli.output import as_json, complain, harmless
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.api import Options, Question
    from gotlang.config import ConfiguredUrl

Decorator = Callable[[Any], Any]

FOLDER = Path(".gotc")
"""The folder of the cache and the history."""
CACHE = FOLDER / "cache.sqlite"

DEFAULT_CONCURRENCY = 64
COMMAND: ContextVar[str] = ContextVar("command")
"""The name of the command that runs."""
SCHEDULES = ("breadth-first", "depth-first", "best-first", "critical-path-first")
"""The names in the runtime; repeated here so that `--help` need not import it (a test compares)."""


@final
class Whole(Struct, frozen=True):
    """Whole numbers between two bounds; None: unbounded."""

    least: int | None = None
    most: int | None = None

    def read(self, text: str) -> int:
        """Parse a value. Raises ValueError."""
        number = int(text)
        if (self.least is not None and number < self.least) or (self.most is not None and number > self.most):
            raise ValueError
        return number


@final
class OneOf(Struct, frozen=True):
    """Values from a list of words."""

    words: tuple[str, ...]

    def read(self, text: str) -> str:
        """Parse a value. Raises ValueError."""
        if text not in self.words:
            raise ValueError
        return text


@final
class Parsed(Struct, frozen=True):
    """Values that a function parses from their text; its ValueError is reported as `wrong`. Several of them
    in an environment variable are on separate `lines`."""

    metavar: str
    read: Callable[[str], Any]
    wrong: str
    lines: bool = False


@final
class Option(Struct, frozen=True):
    """An option as data, which decorates a click command: its names, the settings of click's option, and the
    parser of its value (None: the text itself)."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]
    value: Whole | OneOf | Parsed | None = None

    @property
    def parameter(self) -> str:
        """The name of its parameter."""
        return self.names[-1].removeprefix("--").replace("-", "_")

    @property
    def is_flag(self) -> bool:
        """Whether it takes no value."""
        return bool(self.settings.get("is_flag", False))

    @property
    def plain(self) -> bool:
        """Whether it affects nothing but its parameter."""
        return self.settings.keys().isdisjoint(("callback", "flag_value", "is_eager"))

    def read(self, text: str) -> Any:
        """Parse a value. Raises ValueError."""
        return text if self.value is None else self.value.read(text)

    def taken(self, values: Sequence[Any] | None) -> Any:
        """The parameter for these values: all, or the last one; None: its default."""
        if self.settings.get("multiple"):
            return tuple(values or ())
        return values[-1] if values else self.settings.get("default", False if self.is_flag else None)

    def __call__(self, function: Any) -> Any:
        """Add this option to a click command."""
        import click

        from gotlang.cli.clicked import LineSeparated, Value

        settings = dict(self.settings)
        match self.value:
            case Whole(None, None):
                settings["type"] = int
            case Whole(least, most):
                settings["type"] = click.IntRange(least, most)
            case OneOf(words):
                settings["type"] = click.Choice(words)
            case Parsed(metavar, read, wrong, lines):
                settings["type"] = (LineSeparated if lines else Value)(metavar, read, wrong)
        return click.option(*self.names, **settings)(function)


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


@final
class Together(Struct, frozen=True):
    """Several options as one decorator, in the order of the help."""

    parts: tuple[Decorator, ...]

    def __iter__(self) -> Iterator[Decorator]:
        """The single options."""
        for part in self.parts:
            yield from part if isinstance(part, Together) else (part,)

    def __call__(self, function: Any) -> Any:
        """Add all of them to a click command."""
        for option in reversed(self.parts):
            function = option(function)
        return function


@final
class Command(Struct, frozen=True):
    """A command as data: a function of click's context (None if click did not parse the arguments) and of its
    parameters, the name of its only argument, its options, and those whose source it asks the context for."""

    name: str
    function: Callable[[Any, dict[str, Any]], int]
    argument: str
    options: Together
    asked: tuple[str, ...]

    def plainly(self, arguments: Sequence[str]) -> dict[str, Any] | None:
        """The parameters if the arguments are complete option names with valid values; None for everything
        else, which click must handle, such as an option from an environment variable. Defaults are those of
        the options."""
        known = {option.names[-1]: option for option in self.options if isinstance(option, Option)}
        given: dict[str, list[Any]] = {}
        waiting = list(reversed(arguments))
        while waiting:
            name, equals, text = waiting.pop().partition("=")
            if not name.startswith("-"):
                if self.argument in given:
                    return None
                given[self.argument] = [name + equals + text]
                continue
            option = known.get(name)
            if option is None or not option.plain or (option.is_flag and equals):
                return None
            if option.parameter in self.asked:
                return None
            if not (option.is_flag or equals):
                if not waiting:
                    return None
                text = waiting.pop()
            try:
                given.setdefault(option.parameter, []).append(option.is_flag or option.read(text))
            except ValueError:
                return None
        left_out = [option for option in known.values() if option.parameter not in given]
        if self.argument not in given or any(o.settings.get("envvar", "") in os.environ for o in left_out):
            return None
        found = {option.parameter: option.taken(given.get(option.parameter)) for option in known.values()}
        return {self.argument: given[self.argument][0], **found}


def together(*options: Decorator) -> Together:
    """Several options as one."""
    return Together(options)


def option(*names: str, value: Whole | OneOf | Parsed | None = None, **settings: Any) -> Option:
    """An option with these settings for click. A default of None means that it has no default."""
    if settings.get("default", ()) is None:
        del settings["default"]
    return Option(names, settings, value)


def text(name: str, metavar: str, help: str, default: str | None = None) -> Option:
    """An option with a text, such as a path or a name."""
    return option(name, default=default, metavar=metavar, help=help)


def flag(name: str, help: str) -> Option:
    """An option without a value."""
    return option(name, is_flag=True, help=help)


def whole(name: str, help: str, default: int | None = None, least: int = 1, metavar: str = "N") -> Option:
    """An option with a whole number of at least `least`."""
    return option(name, default=default, value=Whole(least), metavar=metavar, help=help)


def positive(name: str, metavar: str, help: str) -> Option:
    """An option with a finite number above 0."""
    return option(name, value=Parsed(metavar, _positive, "is not a number above 0"), help=help)


def pair(name: str, metavar: str, help: str) -> Option:
    """An option with `NAME=VALUE`, which may be repeated."""
    read = Parsed(metavar, _pair, f"is not of the form {metavar}", lines=True)
    return option(name, value=read, multiple=True, help=help)


def choice(name: str, values: Sequence[str], help: str, default: str | None = None) -> Option:
    """An option with one of several values."""
    return option(name, default=default, value=OneOf(tuple(values)), help=help)


scheme_option = text(
    "--scheme", "NAME", "Which scheme. [default: the one named like the file, otherwise the last]"
)
json_option = option("--json", is_flag=True, callback=as_json, help="One JSON document on stdout.")
quiet_option = flag("--quiet", "No progress and no summary.")
base_url_option = text("--base-url", "URL", "The endpoint. [default: $OPENAI_BASE_URL, otherwise OpenAI's]")
prices_option = text("--prices", "FILE", "Prices of models, as JSON or TOML; they override the known ones.")
cache_option = text("--cache", "PATH", "The cache: a file or a postgresql:// address.", str(CACHE))
concurrency_option = option(
    "--concurrency", value=LIMIT, default=DEFAULT_CONCURRENCY, help="Concurrent requests."
)
max_usd_option = option("--max-usd", value=DOLLARS, help="Spend no more than this. [default: no limit]")
max_calls_option = whole("--max-calls", "Maximum calls. [default: no limit]", least=0)
engine_options = together(
    choice("--engine", ("embedded", "ray"), "Rows run in this process, or on a Ray cluster.", "embedded"),
    text("--address", "ADDRESS", "The cluster: ray://HOST:10001, HOST:6379 or auto. [default: a local one]"),
)
budget_option = text(
    "--budget", "NAME", "Spend from this budget, with all runs on the cache that name it; a limit makes it."
)
level_option = option(
    "-O",
    "--optimize",
    value=Whole(0, 2),
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
row_options = together(
    option(
        "--rows",
        value=ROWS,
        help="Only these rows, from 0: as Python's slices 900:1000, :100, -50:, or 3,7,-1.",
    ),
    option("--sample", value=SAMPLE, help="Only N rows, drawn at random by a seed. [default seed: 0]"),
)
param_options = together(
    pair("--set", "PARAM=VALUE", "The value of a param."),
    text("--tuned", "FILE", "Params, instructions and examples that `gotc tune` found."),
)
python_options = together(
    flag("--no-python", "Refuse programs that import Python or have a simulator."),
    option(
        "--allow-python",
        is_flag=True,
        envvar="GOTC_ALLOW_PYTHON",
        help="Run the program's Python, trusted or not. [also: GOTC_ALLOW_PYTHON=1]",
    ),
    option(
        "--python-key", metavar="NAME", multiple=True, help="Keep this key visible to the program's Python."
    ),
)
corpus_option = pair("--corpus", "NAME=PATH", "Replace a corpus that the program imports.")
model_options = together(
    text(
        "--model",
        "SPEC",
        "`simulated`, `openai:NAME` or NAME alone for any OpenAI-compatible endpoint, `local:NAME`, "
        "`replay:FILE`, or of another provider that `gotc models` lists. "
        "[default: openai:$OPENAI_MODEL if a key is set, otherwise simulated]",
    ),
    base_url_option,
    option("--seed", value=Whole(), metavar="N", default=0, help="Seed of the samples."),
    positive("--rpm", "N", "Maximum requests per minute. [default: what the endpoint reports]"),
    positive("--tpm", "N", "Maximum tokens per minute. [default: what the endpoint reports]"),
    positive("--timeout", "SECONDS", "Timeout of a request and of a Python function. [default: 180]"),
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
        "Order of the ready operations; it does not change the result.",
        SCHEDULES[0],
    ),
)
answer_options = together(
    pair("--answer", "ID=TEXT", "A person's answer to a question of the program, by the question's name."),
    text("--answers", "FILE.json", "Answers from a JSON object, by the names of the questions."),
)
edited_option = text(
    "--edited", "FILE", "Replace the prompts of single operations, with a file as `gotc studio` writes it."
)
record_option = text("--record", "FILE", "Record requests and responses, for `--model replay:FILE`.")
optimizer_options = together(
    choice(
        "--prefer",
        ("cost", "latency"),
        "Where sampling may end early: cost: in rounds; latency: all at once, and what is not needed is "
        "withdrawn. [default: at once, but `until` in rounds; for many rows cost]",
    ),
    flag("--no-batching", "One request per call, even if the endpoint supports n > 1."),
    whole("--wave", "Samples in the first round of early stopping. [default: a third of them]"),
    level_option,
)
cache_options = together(
    cache_option,
    flag("--no-cache", "Do not read or write a cache."),
    choice(
        "--on-cache-loss",
        ("stop", "go-on"),
        "If the cache cannot be written: stop, or continue and pay for samples that are not stored.",
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
    from gotlang.disk import read_bounded
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
    """A function that asks the user at the terminal; None if there is no terminal."""
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
    """Whether the program's Python runs; None leaves it to the user's trust."""
    return False if chosen["no_python"] else chosen["allow_python"] or None


def base_url(chosen: Mapping[str, Any]) -> str | ConfiguredUrl | None:
    """`--base-url`, which the user gave, or the base URL that files configure for the command."""
    from gotlang.config import configured_url

    return chosen["base_url"] or configured_url(COMMAND.get())


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

"""`gotc run`: one run of a scheme, its result on stdout, its cost on stderr, its record in the history."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.cli import options as opt
from gotlang.cli import output
from gotlang.cli.journal import HistoryJournal, new_name, new_record, stored_settings
from gotlang.cli.output import (
    Style,
    complain,
    count,
    document,
    duration,
    harmless,
    interrupted,
    message,
    say,
    shortened,
    value_text,
)
from gotlang.cli.sandbox import enter, sandbox_options
from gotlang.cli.watch import WATCH, again, is_first
from gotlang.config import ConfigFile, ConfiguredUrl
from gotlang.errors import GotError, NotTrusted, RunError, UsageError
from gotlang.records import InvalidRecord, from_plain

if TYPE_CHECKING:
    import click

    from gotlang.api import Event, Failure, Options, Program, Result, Session
    from gotlang.cli.inputs import GivenInputs
    from gotlang.report.history import RunRecord, State
    from gotlang.span import Source

_MOST_SHOWN = 4000
"""Maximum length of a result on a terminal; a file or a pipe gets all of it."""
_REASONS = 5
"""Maximum number of reasons for failures that are shown."""
_WIDTH = 13
_UNRECORDED = "the same command again records it; responses in the cache are not paid for again"
_OUTPUTS = (
    "trace",
    "otel",
    "record",
    "resume",
    "as",
    "json",
    "quiet",
    "stream",
    "partial",
    "answer",
    "answers",
)
_INPUTS = ("file", "input", "inputs", "data", "row", "map")


def _command(context: click.Context | None, chosen: dict[str, Any]) -> int:
    """Run a scheme of the program FILE.

    The result goes to stdout, progress and cost to stderr. Completions are cached: repeating a command costs
    nothing, and continues an interrupted run. With --resume, further options override those of the run.

    The exit code is 1 without a result, 3 for one that a limit left partial, 5 for one that is not valid; the
    value of the last two is printed with --partial only.
    """
    if chosen.pop("watch") and is_first():
        return again(chosen)
    if chosen["sandbox"]:
        assert context is not None
        enter(context, chosen)
    if chosen["resume"] is None:
        return _run(_ordered(context, chosen))
    assert context is not None
    return _run(_resumed(context, chosen))


run_command = opt.Command(
    "run",
    _command,
    "file",
    opt.together(
        opt.scheme_option,
        opt.together(
            opt.input_options,
            opt.param_options,
            opt.corpus_option,
            opt.model_options,
            opt.limit_options,
            opt.order_options,
            opt.optimizer_options,
            opt.cache_options,
        ),
        opt.text("--trace", "FILE", "Write events as JSON lines, with the names of OpenTelemetry."),
        opt.option(
            "--otel",
            metavar="[URL]",
            is_flag=False,
            flag_value="",
            help="Send spans to an OpenTelemetry collector. "
            "[default: $OTEL_EXPORTER_OTLP_ENDPOINT, otherwise this machine]",
        ),
        opt.answer_options,
        opt.record_option,
        opt.edited_option,
        opt.text("--as", "NAME", "The name of this run in `gotc runs`. [default: a random one]"),
        opt.text("--resume", "RUN", "Repeat a run of `gotc runs` with its inputs and settings."),
        opt.flag("--stream", "Print responses to stderr as they arrive, instead of progress."),
        opt.flag("--partial", "Print the value of a result that is not valid or not complete, too."),
        opt.json_option,
        opt.quiet_option,
        sandbox_options,
        WATCH,
    ),
    ("tuned", "resume", "watch", "sandbox"),
)


@final
class RunOrder(Struct, frozen=True):
    """A run to execute. `chosen` are the parameters of the command, `settings` those that the history stores;
    `resumed` is the name of the run that is repeated."""

    program: Program
    scheme: str
    given: GivenInputs
    options: Options
    chosen: Mapping[str, Any]
    settings: Mapping[str, Any]
    resumed: str | None = None

    @property
    def asks_models(self) -> bool:
        """Whether it may call a model."""
        from gotlang.cli.inputs import asks_models

        return asks_models(self.program, self.chosen)

    @property
    def sources(self) -> Mapping[str, Source]:
        """The texts of the program."""
        return self.program.compilation.sources


def _ordered(context: click.Context | None, chosen: dict[str, Any]) -> RunOrder:
    """The run that the parameters describe. Raises UsageError, CompileError."""
    from gotlang.api import check_inputs
    from gotlang.cli.inputs import given_inputs, options_for, program

    if chosen["file"] is None:
        import click

        raise click.UsageError("missing argument FILE, the program to run", context)
    if chosen["file"] == "-":
        raise UsageError("the program must be a file", help="`gotc check -` reads standard input")
    loaded = program(chosen["file"], chosen).with_baseline(chosen["scheme"])
    scheme = loaded.scheme(chosen["scheme"])
    given = given_inputs(loaded, scheme, chosen)
    check_inputs(scheme, given.inputs)
    return RunOrder(loaded, scheme.name, given, options_for(loaded, chosen), chosen, chosen)


def _resumed(context: click.Context, chosen: dict[str, Any]) -> RunOrder:
    """A run of the history, repeated. Options on this command line override its own.

    Raises UsageError for an unknown run, a program that no longer exists, and for inputs.
    """
    from click.core import ParameterSource

    from gotlang.api import check_inputs
    from gotlang.cli.inputs import GivenInputs, options_for, program
    from gotlang.report.history import History
    from gotlang.report.recorded import digest

    def here(name: str) -> bool:
        return context.get_parameter_source(name) is ParameterSource.COMMANDLINE

    record = History().find(chosen["resume"], kind="run")
    given = [name for name in _INPUTS if here(name) and chosen[name] is not None]
    if given:
        written = ", ".join(f"`{chosen[name] if name == 'file' else f'--{name}'}`" for name in given)
        raise UsageError(
            f"--resume takes program and inputs from the run: {record.run} is a run of {_near(record.path)}",
            help=f"remove {written}",
        )
    settings = dict(chosen)
    # The history may be untrusted: it is treated as a file of the project.
    history = ConfigFile(Path(f"run {record.run}"), {})
    for name, value in record.settings.items():
        if name not in settings or name in (*_INPUTS, *_OUTPUTS) or here(name) or value is None:
            continue
        option = name.replace("_", "-")
        try:
            usable = ConfiguredUrl(str(value), history.path, keyed=False) if option == "base-url" else None
            settings[name] = usable or _setting(context, name, history.permitted(option, value))
        except NotTrusted as error:
            raise NotTrusted(error.message, help=f"give `--{option}` again if it is yours") from None
    if not Path(record.path).is_file():
        raise UsageError(f"the program of run {record.run} no longer exists: {record.path}")
    wanted = settings["scheme"] or record.scheme
    loaded = program(_near(record.path), settings).with_baseline(wanted)
    if digest(loaded.compilation.source) != record.sha256:
        complain("the program has changed since that run: changed prompts are requested again")
    scheme = loaded.scheme(wanted)
    check_inputs(scheme, record.inputs)
    inputs = GivenInputs(record.inputs, record.truth)
    return RunOrder(loaded, scheme.name, inputs, options_for(loaded, settings), chosen, settings, record.run)


def _near(path: str) -> str:
    """A path as it is written in this folder."""
    return str(Path(path).relative_to(Path.cwd()) if Path(path).is_relative_to(Path.cwd()) else path)


def _setting(context: click.Context, name: str, value: Any) -> Any:
    """A setting of the history, parsed by its option. Raises UsageError if it is invalid."""
    import click

    from gotlang.cli.config import fits

    parameter = next(one for one in context.command.params if one.name == name)
    try:
        if parameter.multiple:
            return from_plain(value, tuple[tuple[str, str], ...])
        if fits(value, parameter):
            return parameter.type_cast_value(context, value)
    except (click.BadParameter, InvalidRecord):
        pass
    option = name.replace("_", "-")
    raise UsageError(f"the run's setting `{option}` is damaged", help=f"give `--{option}` again")


def _run(order: RunOrder) -> int:
    from gotlang.cli.progress import proceed

    quiet = order.chosen["quiet"]
    unrecorded: list[UsageError] = []
    try:
        result, seconds = _execute(order, unrecorded.append)
    except RunError as error:
        error.sources = order.sources
        if not quiet:
            _failures(error.failures, order.sources, told=error.message)
        for refused in unrecorded:
            message(refused.message, _UNRECORDED)
        raise
    shown = result.status == "complete" or order.chosen["partial"]
    if order.chosen["json"]:
        document({**result.to_dict(), **({} if shown else {"result": None})})
    elif shown and result.value is not None:
        say(value_text(result.value, _MOST_SHOWN if sys.stdout.isatty() else None), exact=True)
    sys.stdout.flush()
    if not quiet:
        _summary(result, order, seconds)
    for line in _status(result, order.options, shown=shown):
        complain(line)
    if result.outcome.stopped == "interrupted":
        return interrupted(proceed(order.options))
    if result.outcome.stopped is not None:
        return output.CACHE_LOST
    for refused in unrecorded:
        message(refused.message, _UNRECORDED)
    if result.outcome.waiting:
        return output.WAITING
    complete = output.FAILED if unrecorded else 0
    return {"complete": complete, "partial": output.PARTIAL, "invalid": output.INVALID}[result.status]


def _status(result: Result, options: Options, *, shown: bool) -> Iterator[str]:
    """Why a result is not complete, and how to continue."""
    match result.status:
        case "complete":
            return
        case "partial":
            skipped = result.outcome.skipped
            left = f"; {count(skipped, 'call')} skipped" if skipped else ""
            yield f"partial: {result.partial}{left}"
            if result.value is None:
                yield "  no result was created before that"
            if result.outcome.waiting:
                yield from _questions(result, options)
            elif result.outcome.stopped not in (None, "interrupted"):
                yield f"  {output.WITHOUT_CACHE}"
            elif result.outcome.stopped is None:
                cached = "" if options.cache is None else ": completed calls are cached"
                yield f"  raise the limit and run the same command again{cached}"
        case "invalid":
            yield f"not valid: {result.not_valid}"
    if result.value is not None and not shown:
        yield f"  its value is not printed: `--partial` prints it, `gotc show {result.run}` has its thoughts"


def _questions(result: Result, options: Options) -> Iterator[str]:
    """The questions that wait for an answer, and how to give it."""
    for question in result.outcome.waiting:
        first, *more = map(harmless, question.text.splitlines() or [""])
        yield f"  {question.id}  {first}"
        yield from (f"  {' ' * len(question.id)}  {line}" for line in more)
    given = " ".join(f"--answer {question.id}=..." for question in result.outcome.waiting)
    kept = "" if options.cache is None else "; completed calls are cached"
    yield f"  run the same command again with {given}{kept}"


def _execute(order: RunOrder, on_unrecorded: Callable[[UsageError], None]) -> tuple[Result, float]:
    """Run it; returns the result, and the real seconds it took. Raises GotError, and KeyboardInterrupt after
    a second Ctrl-C, or after one if there is no result."""
    from gotlang.api import RequestLog, operations
    from gotlang.cli.inputs import model_notice
    from gotlang.cli.progress import Interrupted, Interrupts, Progress, StreamPrinter, display, proceed
    from gotlang.report.edits import UnusedEdits
    from gotlang.report.live import LiveGraph

    started = time.monotonic()
    name = _name(order.chosen["as"])
    quiet, options = order.chosen["quiet"], order.options
    notice = model_notice(options, order.chosen["model"], quiet=quiet or not order.asks_models)
    progress = Progress(notice=notice)
    asks, program = RequestLog(), order.program
    interruption = Interrupted(proceed(options))
    record = None if order.chosen["sandbox"] else _record(order, name)
    journal = HistoryJournal(record, program.compilation.source.text)
    with ExitStack() as stack:
        traces = list(_traces(order, name, stack))
        stream = bool(order.chosen["stream"])
        live = LiveGraph(journal.live(name), order.sources, asks)
        stack.callback(live.close)
        edits = UnusedEdits(options.edits)
        printers = [StreamPrinter(sys.stderr)] if stream and not quiet else []
        observers = [progress, asks, live, edits, *traces, *printers]

        def observe(event: Event) -> None:
            for observer in observers:
                observer(event)

        def on_session(session: Session) -> None:
            interrupts.attach(session)
            session.on_unrecorded = on_unrecorded
            if journal.start():
                live.attach(session)

        def lines(outcome: Any) -> Iterator[dict[str, Any]]:
            if outcome is not None:
                yield from operations(outcome.graph, order.sources, asks, outcome.failures)

        interrupts = stack.enter_context(
            Interrupts(progress, lambda state, error: journal.end(state, progress.spent, error=error))
        )
        stack.enter_context(display(progress, quiet=quiet or stream))
        try:
            result = program.run(
                order.given.inputs,
                scheme=order.scheme,
                truth=order.given.truth,
                options=replace(options, observe=observe, stream=stream),
                run_id=name,
                on_session=on_session,
            )
        except (asyncio.CancelledError, KeyboardInterrupt):
            journal.end("interrupted", progress.spent)
            raise interruption from None
        except GotError as error:
            graph = lines(getattr(error, "outcome", None))
            # Failures after a stop are caused by it.
            state: State = "interrupted" if progress.stopping else "failed"
            journal.end(state, progress.spent, error=error.message, graph=graph)
            if progress.stopping:
                raise interruption from None
            if progress.paid and not quiet:
                complain(progress.summary(simulated=options.simulated))
            raise
        except BaseException:
            journal.end("failed", progress.spent, error="an internal error of gotc")
            raise
    for path in edits.paths:
        complain(f"an edited prompt was not used: {path} got another one")
    outcome = result.outcome
    ended: State = "done" if result.status == "complete" else result.status
    state = "interrupted" if outcome.stopped == "interrupted" else ended
    journal.end(state, progress.spent, document=result.to_dict(), graph=lines(outcome))
    return result, time.monotonic() - started


def _name(given: str | None) -> str:
    """The name of a run: as given, or random. Raises UsageError for one that is invalid or taken."""
    from gotlang.report.history import NAME, History

    if given is None:
        return new_name()
    if re.fullmatch(NAME, given) is None or given == "last":
        raise UsageError(f"--as: no run can be called `{given}`", help="use letters, digits, `-` and `_`")
    if (History().folder / f"{given}.json").exists():
        raise UsageError(f"--as: there is a run `{given}` already", help="choose another name")
    return given


def _traces(order: RunOrder, name: str, stack: ExitStack) -> Iterator[Any]:
    """The trace and the telemetry that were requested; incomplete ones are reported at the end."""
    about: dict[str, Any] = {
        "run": name,
        "provider": str(order.options.model).partition(":")[0],
        "clock": lambda: asyncio.get_running_loop().time(),
    }

    def close(trace: Any, told: str) -> None:
        trace.close()
        if trace.broken is not None:
            complain(f"{told}: {trace.broken}")

    if (path := order.chosen["trace"]) is not None:
        from gotlang.report.trace import Trace

        trace = Trace(path, **about)
        stack.callback(close, trace, f"the trace is incomplete: cannot write {path}")
        yield trace
    if (endpoint := order.chosen["otel"]) is not None:
        from gotlang.report.trace import Telemetry

        telemetry = Telemetry(endpoint, program=order.program.name, scheme=order.scheme, **about)
        stack.callback(close, telemetry, "telemetry is incomplete")
        yield telemetry


def _record(order: RunOrder, name: str) -> RunRecord:
    source = order.program.compilation.source
    return new_record(
        "run",
        source,
        order.program.name,
        order.scheme,
        order.options,
        run=name,
        inputs=order.given.inputs,
        truth=order.given.truth,
        settings=stored_settings(order.settings, order.options, (*_INPUTS, *_OUTPUTS)),
        resumed=order.resumed,
    )


def _summary(result: Result, order: RunOrder, seconds: float) -> None:
    """The result of a run and its cost. `seconds` is the real time it took."""
    style = Style.of(sys.stderr)
    outcome = result.outcome
    complain("")
    complain(style.bold(f"{outcome.scheme}{_model(result, order)}") + style.dim(f" · run {result.run}"))
    for one in result.endpoints:
        complain(f"  {style.dim('endpoint'.ljust(_WIDTH))} {harmless(str(one))}")
    for name, text in _rows(result, seconds):
        complain(f"  {style.dim(name.ljust(_WIDTH))} {text}")
    _failures(outcome.failures, order.sources)
    for note in outcome.notes:
        complain(f"  {style.yellow('note'.ljust(_WIDTH))} {note}")


def _model(result: Result, order: RunOrder) -> str:
    if not (result.outcome.ledger.accounts[0].calls and order.asks_models):
        return "· no model was called"
    return f" by {result.model}" + (" · simulated: no real model was called" if result.simulated else "")


def _rows(result: Result, seconds: float) -> Iterator[tuple[str, str]]:
    from gotlang.result import dollars

    outcome = result.outcome
    without, within, fresh = outcome.ledger.accounts
    spent = outcome.ledger.spent
    if result.score is not None:
        yield "score", f"{result.score:g} by {_metric(result)}"
    elif result.score_unknown is not None and outcome.value is not None:
        yield "score", f"unknown: {result.score_unknown}"
    if outcome.truth is not None:
        yield "ground truth", "correct" if outcome.truth else "wrong"
    yield from result.metric_facts()
    shared = without.calls - within.calls
    also = f", {shared:,} shared within the run" if shared > 0 else ""
    requests = count(spent.requests, "request")
    yield "calls", f"{without.calls:,} in {requests}, {within.calls - fresh.calls:,} from cache{also}"
    prices = " simulated" if result.simulated and spent.usd else ""
    saved = f" ({dollars(without.usd)} without cache)" if without.calls > fresh.calls else ""
    tokens = f"{spent.input_tokens:,} input tokens, {spent.output_tokens:,} output tokens"
    if spent.reasoning_tokens:
        tokens += f" ({spent.reasoning_tokens:,} of them reasoning)"
    yield "cost", f"{dollars(spent.usd)}{prices}{saved} · {tokens}"
    if spent.uncertain_calls:
        yield "uncertain", result.spent.uncertain
    path = f"{count(outcome.hops, 'call')}, {duration(outcome.times[0])}"
    yield "critical path", f"{path} · {count(outcome.thought_count, 'thought')}, volume {outcome.volume}"
    virtual = result.simulated and without.calls
    yield "time", duration(seconds) + (f" ({duration(outcome.wall_s)} simulated)" if virtual else "")


def _metric(result: Result) -> str:
    kind = result.metric.kind
    return f"{kind.name}({kind.of})" if result.metric.step is None or result.metric.step.score else kind.of


def _failures(found: Sequence[Failure], sources: Mapping[str, Source], *, told: str = "") -> None:
    """Failures, grouped by reason, each with its first place in the source; except for reasons in `told`, the
    message that follows."""
    from gotlang.api import within

    # An operation that failed because all its thoughts did adds nothing to these.
    explained = {failure.operation for failure in found if failure.sample is not None}
    found = [f for f in found if f.sample is not None or f.operation not in explained]
    times = Counter(failure.reason for failure in found if failure.reason not in told)
    if not times:
        return
    style = Style.of(sys.stderr)
    first = {failure.reason: failure for failure in reversed(found)}
    also = " in addition" if times.total() < len(found) else ""
    handled = sum(failure.handled for failure in found if failure.reason in times)
    also += f", {'all' if handled == times.total() else handled} handled" if handled else ""
    complain(f"  {style.yellow('failed'.ljust(_WIDTH))} {count(times.total(), 'time')}{also}")
    for reason, number in times.most_common(_REASONS):
        failure = first[reason]
        place = failure.operation
        if (source := sources.get(failure.span.source)) is not None:
            line = source.position(failure.span.start)[0]
            place = f"{source.name}:{line}{within(failure.operation)}"
        complain(f"  {f'{number} x'.rjust(_WIDTH)} {shortened(reason, 300)}")
        complain(f"  {' ' * _WIDTH} {style.dim('at ' + place)}")
    if len(times) > _REASONS:
        complain(f"  {' ' * _WIDTH} and {count(len(times) - _REASONS, 'more reason')}; see --json")

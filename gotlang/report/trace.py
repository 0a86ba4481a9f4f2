"""Events of a run for other tools: a trace file, and spans for an OpenTelemetry collector.

Attributes of model calls have the names of OpenTelemetry's conventions for generative AI (`gen_ai.*`), others
start with `gotlang.`. A request is named by its key; prompts and completions, which are often private, are
never written: `gotc cache show KEY` has them.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, final
from urllib.parse import urlsplit

from gotlang.cache.base import StoredSample
from gotlang.disk import Draft
from gotlang.errors import UsageError, reporting
from gotlang.packages import pip_install
from gotlang.patterns import lazy_pattern
from gotlang.records import to_json
from gotlang.runtime.graph import path_text
from gotlang.runtime.plain import source
from gotlang.runtime.sampler.events import Added, Asked, Ended, Event, Failure, Started
from gotlang.version import __version__

TIMEOUT_S = 5.0
"""Timeouts of a request to the collector, and of the wait for the last one at the end of a run."""
MAX_QUEUED = 200_000
"""Maximum number of spans that wait to be sent; further ones are lost."""

Attributes = dict[str, Any]
_QUOTED = lazy_pattern(r"(?<!\w)(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?!\w)")


@final
class Trace:
    """An observer that writes JSON lines to the file `path`, which it replaces.

    `provider` is the provider of the models, `clock` the seconds of the run's loop (simulated ones if the
    model is simulated). Raises UsageError if the file cannot be opened. If it cannot be written later, the
    run continues without it, and `broken` is the reason.
    """

    def __init__(self, path: str | Path, *, run: str, provider: str, clock: Callable[[], float]) -> None:
        self.path = Path(path)
        self.broken: str | None = None
        self._run = run
        self._provider = provider
        self._clock = clock
        with reporting(f"--trace: cannot write {self.path}"):
            self._file = Draft(self.path)
            self._file.keep()  # the existing file is replaced now: others may read the new one while it grows

    def __call__(self, event: Event) -> None:
        """Write one event."""
        match event:
            case Added():
                self._write("graph", {"gotlang.operations": event.count})
            case Started():
                self._write("operation.start", {"gotlang.operation": path_text(event.operation)})
            case Ended(operation=operation):
                found = {"gotlang.thoughts": len(operation.output), "gotlang.hops": operation.hops}
                self._write("operation.end", {"gotlang.operation": path_text(operation), **found})
            case Failure():
                self._write(*_failure(event))
            case Asked():
                self._write(f"chat {event.model}", _chat(event, self._provider))

    def close(self) -> None:
        """Finish the file."""
        try:
            self._file.close()
        except OSError as error:
            self.broken = error.strerror or "unknown reason"

    def _write(self, name: str, attributes: Attributes) -> None:
        line = {
            "time_unix_nano": time.time_ns(),
            "clock_s": round(self._clock(), 6),
            "name": name,
            "attributes": {"gotlang.run": self._run, **attributes},
        }
        try:
            if self.broken is None:
                self._file.write(to_json(line).encode() + b"\n")
        except OSError as error:
            self.broken = error.strerror or "unknown reason"


@final
class Telemetry:
    """An observer that sends spans to a collector, by OTLP over HTTP: the run, its operations, their calls.

        run sort128                         gotlang.run, gotlang.program, gotlang.scheme
          operation sort128/part[0]/sort    gotlang.operation, gotlang.thoughts
            chat gpt-4o-mini                gen_ai.* and gotlang.request.key, as in a trace file

    `endpoint` is its address (`http://localhost:4318`); empty for that of the standard variables
    (`OTEL_EXPORTER_OTLP_ENDPOINT`, ...). Times are those of the run's clock, so a simulated run looks as long
    as it would have been. Raises UsageError if OpenTelemetry is not installed or the address is invalid. A
    collector that does not respond ends no run: `broken` then says so.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        run: str,
        program: str,
        scheme: str,
        provider: str,
        clock: Callable[[], float],
    ) -> None:
        if endpoint and urlsplit(endpoint).scheme not in ("http", "https"):
            raise UsageError(
                f"--otel: invalid address `{endpoint}`", help="such as `--otel http://localhost:4318`"
            )
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.trace import set_span_in_context
        except ImportError:
            raise UsageError("--otel: OpenTelemetry is not installed", help=pip_install("otel")) from None
        # Its warnings about a collector that does not respond are reported once, by `broken`.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        service = os.environ.get("OTEL_SERVICE_NAME", "gotc")
        resource = Resource.create({"service.name": service, "service.version": __version__})
        # The path of the standard, unless the address has its own.
        if endpoint and not urlsplit(endpoint).path.strip("/"):
            endpoint = endpoint.rstrip("/") + "/v1/traces"
        exporter = OTLPSpanExporter(endpoint=endpoint or None, timeout=TIMEOUT_S)
        self._watch(exporter)
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._spans.add_span_processor(
            BatchSpanProcessor(exporter, max_queue_size=MAX_QUEUED, schedule_delay_millis=1000)
        )
        self.broken: str | None = None
        self._provider = provider
        self._clock = clock
        self._within = set_span_in_context
        self._tracer = self._spans.get_tracer("gotlang", __version__)
        self._started_ns = self._now_ns = time.time_ns()
        attributes = {"gotlang.run": run, "gotlang.program": program, "gotlang.scheme": scheme}
        self._run = self._tracer.start_span(
            f"run {scheme}", attributes=attributes, start_time=self._started_ns
        )
        self._open: dict[str, Any] = {}

    def __call__(self, event: Event) -> None:
        """Send one event."""
        self._now_ns = now = self._started_ns + int(self._clock() * 1e9)
        match event:
            case Started():
                path = path_text(event.operation)
                attributes = {"gotlang.operation": path}
                self._open[path] = self._span(f"operation {path}", self._run, attributes, now)
            case Ended():
                span = self._open.pop(path_text(event.operation), None)
                if span is not None:
                    span.set_attribute("gotlang.thoughts", len(event.operation.output))
                    span.end(now)
            case Failure():
                self._failed(event, now)
            case Asked(operation=operation):
                parent = None if operation is None else self._open.get(path_text(operation))
                start = now - int(_latency_s(event) * 1e9)
                chat = _chat(event, self._provider)
                self._span(f"chat {event.model}", parent or self._run, chat, start).end(now)

    def close(self) -> None:
        """End open spans, and send the remaining ones."""
        for span in (*self._open.values(), self._run):
            span.end(self._now_ns)
        self._spans.shutdown()

    def _span(self, name: str, parent: Any, attributes: Attributes, start: int) -> Any:
        context = self._within(parent)
        return self._tracer.start_span(name, context=context, attributes=attributes, start_time=start)

    def _failed(self, event: Failure, now: int) -> None:
        from opentelemetry.trace import Status, StatusCode

        span = self._open.pop(event.operation, None) if event.fatal else self._open.get(event.operation)
        name, attributes = _failure(event)
        (span or self._run).add_event(name, attributes, now)
        if event.fatal and span is not None:
            span.set_status(Status(StatusCode.ERROR, attributes["error.message"]))
            span.end(now)

    def _watch(self, exporter: Any) -> None:
        """Detect that the exporter cannot send spans."""
        export = exporter.export

        def watched(spans: Any) -> Any:
            try:
                result = export(spans)
            except Exception as error:
                self.broken = type(error).__name__
                raise
            if result.name != "SUCCESS":
                self.broken = "the collector did not accept all spans"
            return result

        exporter.export = watched


def _failure(event: Failure) -> tuple[str, Attributes]:
    """The name and attributes of a failure, without quotes in its reason: often a piece of a completion."""
    attributes: Attributes = {
        "gotlang.operation": event.operation,
        "error.message": _QUOTED.sub("...", event.reason),
    }
    if event.sample is not None:
        attributes["gotlang.sample"] = str(event.sample)
    return "operation.failed" if event.fatal else "thought.failed", attributes


def _chat(event: Asked, provider: str) -> Attributes:
    """The attributes of samples of a request, without any text."""
    settings = event.request.settings
    found = [sample[0] for sample in event.samples if isinstance(sample, tuple)]
    first = [sample.usage for sample in _spent(event) if sample.position == 0]  # one per request
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": event.model,
        "gen_ai.request.choice.count": len(event.numbers),
        "gen_ai.request.max_tokens": settings.max_tokens,
        "gen_ai.response.finish_reasons": [sample.completion.finish_reason for sample in found],
        "gen_ai.usage.input_tokens": sum(usage.input_tokens for usage in first),
        "gen_ai.usage.output_tokens": sum(usage.output_tokens for usage in first),
        "gotlang.prompt": event.request.prompt,
        "gotlang.request.key": event.key,
        "gotlang.request.samples": list(event.numbers),
        "gotlang.sample.sources": [source(sample) for sample in event.samples],
        "gotlang.latency_s": _latency_s(event),
        "gen_ai.request.temperature": settings.temperature,
        "gen_ai.request.top_p": settings.top_p,
        "gen_ai.request.stop_sequences": list(settings.stop) or None,
        "gen_ai.request.seed": settings.seed,
        "gotlang.operation": None if event.operation is None else path_text(event.operation),
    }
    return {name: value for name, value in attributes.items() if value is not None}


def _latency_s(event: Asked) -> float:
    """Seconds that the slowest of the samples took that were requested for this event."""
    return max((sample.latency_s for sample in _spent(event)), default=0.0)


def _spent(event: Asked) -> list[StoredSample]:
    return [sample[0] for sample in event.samples if isinstance(sample, tuple) and sample[1] == "model"]

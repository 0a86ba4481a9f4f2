"""What happens in a run, sent to an OpenTelemetry collector as spans: the run, its operations, their calls.

    run sort128                         gotlang.run, gotlang.program, gotlang.scheme
      operation sort128/part[0]/sort    gotlang.operation, gotlang.thoughts
        chat gpt-4o-mini                gen_ai.* and gotlang.request.key, as in a trace file

It speaks OTLP over HTTP, which every collector takes. Neither prompts nor answers are sent. Times are those
of the run's own clock, so a simulated run looks as long as it would have been.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Any, final
from urllib.parse import urlsplit

from gotlang.errors import UsageError
from gotlang.report.trace import chat_attributes, latency, without_quotes
from gotlang.runtime.graph import path_text
from gotlang.runtime.sampler.events import Asked, Ended, Event, Failed, Started
from gotlang.version import __version__

TIMEOUT_S = 5.0
"""How long the collector may take for one request, and the end of a run may wait for the last one."""
MOST_WAITING = 200_000
"""Spans that may wait to be sent; what comes beyond is lost."""


@final
class Telemetry:
    """An observer that sends spans to a collector.

    `endpoint` is its address (`http://localhost:4318`); empty for the one that the standard variables
    (`OTEL_EXPORTER_OTLP_ENDPOINT`, ...) name. Raises UsageError where OpenTelemetry is not installed, or the
    address is none. A collector that does not answer ends no run: `broken` then says so.
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
                f"--otel: `{endpoint}` is no address", help="write `--otel http://localhost:4318`"
            )
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.trace import set_span_in_context
        except ImportError:
            raise UsageError(
                "--otel: OpenTelemetry is not installed", help="pip install 'gotlang[otel]'"
            ) from None
        # What it has to say of a collector that is away is said once, at the end, by `broken`.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        resource = Resource.create(
            {"service.name": os.environ.get("OTEL_SERVICE_NAME", "gotc"), "service.version": __version__}
        )
        exporter = OTLPSpanExporter(endpoint=_traces(endpoint) if endpoint else None, timeout=TIMEOUT_S)
        self._watch(exporter)
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._spans.add_span_processor(
            BatchSpanProcessor(exporter, max_queue_size=MOST_WAITING, schedule_delay_millis=1000)
        )
        self.broken: str | None = None
        self._provider = provider
        self._clock = clock
        self._within = set_span_in_context
        self._tracer = self._spans.get_tracer("gotlang", __version__)
        self._started_ns = time.time_ns()
        attributes = {"gotlang.run": run, "gotlang.program": program, "gotlang.scheme": scheme}
        self._run = self._tracer.start_span(
            f"run {scheme}", attributes=attributes, start_time=self._started_ns
        )
        self._now_ns = self._started_ns
        self._open: dict[str, Any] = {}

    def __call__(self, event: Event) -> None:
        """Note one event."""
        self._now_ns = now = self._started_ns + int(self._clock() * 1e9)
        match event:
            case Started():
                path = path_text(event.operation)
                self._open[path] = self._tracer.start_span(
                    f"operation {path}",
                    context=self._within(self._run),
                    attributes={"gotlang.operation": path},
                    start_time=now,
                )
            case Ended():
                span = self._open.pop(path_text(event.operation), None)
                if span is not None:
                    span.set_attribute("gotlang.thoughts", len(event.operation.output))
                    span.end(now)
            case Failed():
                self._failed(event, now)
            case Asked():
                self._asked(event, now)

    def close(self) -> None:
        """End what is open, and send what is left."""
        for span in (*self._open.values(), self._run):
            span.end(self._now_ns)
        self._spans.shutdown()

    def _asked(self, event: Asked, now: int) -> None:
        within = self._open.get(path_text(event.operation)) if event.operation is not None else None
        span = self._tracer.start_span(
            f"chat {event.model}",
            context=self._within(within or self._run),
            attributes=chat_attributes(event, self._provider),
            start_time=now - int(latency(event) * 1e9),
        )
        span.end(now)

    def _failed(self, event: Failed, now: int) -> None:
        from opentelemetry.trace import Status, StatusCode

        reason = without_quotes(event.reason)
        span = self._open.pop(event.path, None) if event.fatal else self._open.get(event.path)
        where = span or self._run
        attributes = {"gotlang.operation": event.path, "error.message": reason}
        where.add_event("operation.failed" if event.fatal else "thought.failed", attributes, now)
        if event.fatal and span is not None:
            span.set_status(Status(StatusCode.ERROR, reason))
            span.end(now)

    def _watch(self, exporter: Any) -> None:
        """Notice where the exporter does not get rid of spans."""
        export = exporter.export

        def watched(spans: Any) -> Any:
            try:
                result = export(spans)
            except Exception as error:
                self.broken = type(error).__name__
                raise
            if result.name != "SUCCESS":
                self.broken = "the collector did not take all of it"
            return result

        exporter.export = watched


def _traces(endpoint: str) -> str:
    """Where traces go at an address, as the standard says: its path, where it has none of its own."""
    return endpoint if urlsplit(endpoint).path.strip("/") else endpoint.rstrip("/") + "/v1/traces"

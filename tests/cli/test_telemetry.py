"""`gotc run --otel`: a real exporter sends real OTLP requests to a collector on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from cli.conftest import Gotc

RUN, WHY = ("run", "vote.got"), ("--input", "question=why")

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra `otel` is not installed")


class Collector:
    """Takes traces; `status` is what it answers."""

    def __init__(self) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        self.status = 200
        self.paths: list[str] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    import gzip

                    body = gzip.decompress(body)
                collector.paths.append(self.path)
                collector.bodies.append(body)
                collector.headers.append(dict(self.headers))
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._request = ExportTraceServiceRequest
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def spans(self) -> tuple[dict[str, Any], list[Any]]:
        """The resource's attributes, and every span."""
        found, resource = [], {}
        for body in self.bodies:
            request = self._request.FromString(body)
            for traces in request.resource_spans:
                resource = {a.key: a.value.string_value for a in traces.resource.attributes}
                found += [span for scope in traces.scope_spans for span in scope.spans]
        return resource, found


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()


def test_a_run_is_sent_as_spans(gotc: Gotc, collector: Collector) -> None:
    secret = "what is the password of the moon"
    done = gotc(*RUN, "--input", f"question={secret}", "--otel", collector.url)
    assert done.code == 0 and "telemetry" not in done.err
    resource, spans = collector.spans()
    assert set(collector.paths) == {"/v1/traces"}
    assert resource["service.name"] == "gotc" and resource["service.version"]
    (run,) = [span for span in spans if span.name.startswith("run ")]
    operations = [span for span in spans if span.name.startswith("operation ")]
    (chat,) = [span for span in spans if span.name.startswith("chat ")]
    assert not run.parent_span_id and all(span.parent_span_id == run.span_id for span in operations)
    assert chat.parent_span_id in {span.span_id for span in operations}
    assert {span.trace_id for span in spans} == {run.trace_id}
    told = {a.key: a.value for a in chat.attributes}
    assert told["gen_ai.operation.name"].string_value == "chat"
    assert told["gen_ai.usage.input_tokens"].int_value > 0
    assert told["gen_ai.request.choice.count"].int_value == 3
    # The simulated clock: the call takes the time it would have taken.
    assert chat.end_time_unix_nano - chat.start_time_unix_nano > 1_000_000
    assert run.start_time_unix_nano <= chat.start_time_unix_nano
    assert run.end_time_unix_nano >= chat.end_time_unix_nano
    assert all(secret.encode() not in body for body in collector.bodies)


def test_failures_are_told_without_what_was_answered(gotc: Gotc, collector: Collector, folder: Any) -> None:
    (folder / "vote_sim.py").write_text("def answer(rng, question):\n    return 'the moon is my secret'\n")
    done = gotc(*RUN, *WHY, "--otel", collector.url, "--no-cache")
    assert done.code == 1
    _, spans = collector.spans()
    (failed,) = [span for span in spans if span.status.code == 2]
    assert failed.name.startswith("operation ")
    events = [event for span in spans for event in span.events]
    assert {event.name for event in events} == {"thought.failed", "operation.failed"}
    assert all(b"moon" not in body for body in collector.bodies)


def test_the_standard_variables_name_the_collector(
    gotc: Gotc, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=me")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    assert gotc(*RUN, *WHY).code == 0
    assert collector.bodies == [], "nothing is sent that nobody asked for"
    assert gotc(*RUN, *WHY, "--otel").code == 0
    assert collector.spans()[0]["service.name"] == "mine"
    assert {headers["x-tenant"] for headers in collector.headers} == {"me"}


def test_a_collector_that_refuses_ends_no_run(gotc: Gotc, collector: Collector) -> None:
    collector.status = 400
    done = gotc(*RUN, *WHY, "--otel", collector.url)
    assert done.code == 0 and done.out
    assert done.err.count("telemetry is incomplete: the collector did not accept all spans") == 1
    assert "Traceback" not in done.err


def test_an_address_that_is_none(gotc: Gotc) -> None:
    done = gotc(*RUN, *WHY, "--otel", "collector")
    assert done.code == 2 and "invalid address `collector`" in done.err

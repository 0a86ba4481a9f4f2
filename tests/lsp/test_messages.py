"""Messages as they come over the pipes: each request gets an answer, and the server ends as it should."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.io_ import StdoutWriter
from support.gotc import environment

from gotlang.lsp.server import server

NOWHERE = {"textDocument": {"uri": "file:///nowhere.got"}}
WRONG: dict[str, Any] = {
    "textDocument/hover": {**NOWHERE, "position": {"line": -1, "character": 10**18}},
    "textDocument/rename": {**NOWHERE, "position": {"line": 0, "character": 0}},
    "textDocument/formatting": None,
    "textDocument/selectionRange": [1],
    "textDocument/inlayHint": "x",
}


def request(number: int, method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def talk(folder: Path, *messages: object) -> tuple[dict[Any, Any], subprocess.CompletedProcess[bytes]]:
    """A server's answers to these messages, by number, and its end."""
    first = request(0, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    bodies = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in (first, *messages)]
    done = subprocess.run(
        [sys.executable, "-m", "gotlang", "lsp"],
        input=b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies),
        cwd=folder,
        env=environment(),
        capture_output=True,
        timeout=60,
    )
    return {one["id"]: one for one in sent(done.stdout) if "id" in one and "method" not in one}, done


def sent(output: bytes) -> list[dict[str, Any]]:
    """The messages of a server."""
    return [json.loads(body) for body in re.split(rb"Content-Length: .*\r\n(?:.+\r\n)*\r\n", output)[1:]]


def test_each_request_is_answered(tmp_path: Path) -> None:
    wrong = [request(number, *one) for number, one in enumerate(WRONG.items(), 1)]
    junk = [b"{hello", b"null", b"[]", b"\xff", b"[" * 100_000, {"jsonrpc": "2.0", "method": 5}]
    last = [request(90, "workspace/symbol", {"query": ""}), request(91, "shutdown", None)]
    late = request(92, "workspace/symbol", {"query": ""})
    answers, done = talk(tmp_path, *wrong, *junk, *last, late, {"jsonrpc": "2.0", "method": "exit"})
    assert [answers[number]["error"]["code"] for number in range(1, len(WRONG) + 1)] == [-32602] * len(WRONG)
    assert "result" in answers[90] and "result" in answers[91]
    assert answers[92]["error"]["code"] == -32600
    assert (done.returncode, b"bug in gotc" in done.stderr) == (0, False), done.stderr


def test_what_is_no_message_of_the_protocol_is_answered_too(tmp_path: Path) -> None:
    hover = {"method": "textDocument/hover", "params": NOWHERE}
    wrong: list[tuple[Any, str]] = [
        ({**hover, "id": 1}, "an object with `jsonrpc`"),
        ({**hover, "id": 2, "jsonrpc": "1.0"}, "must be 2.0"),
        ({**hover, "id": {"a": 1}, "jsonrpc": "2.0"}, "an integer or a string"),
        ({**hover, "id": True, "jsonrpc": "2.0"}, "an integer or a string"),
        ([{**hover, "id": 3, "jsonrpc": "2.0"}], "an object with `jsonrpc`"),
    ]
    end = {"jsonrpc": "2.0", "method": "exit"}
    answers, done = talk(tmp_path, *(message for message, _ in wrong), end)
    told = [one["error"] for one in sent(done.stdout) if "error" in one]
    assert [(one["code"], words in one["message"]) for one, (_, words) in zip(told, wrong, strict=True)] == [
        (-32600, True)
    ] * len(wrong), told
    assert {1, 2, None} <= answers.keys()
    assert done.returncode == 1  # `exit` without `shutdown`


def test_nothing_is_sent_after_exit(caplog: pytest.LogCaptureFixture) -> None:
    """Diagnostics may be due while the event loop ends."""
    made = server()
    made.protocol.set_writer(StdoutWriter(io.BytesIO()))
    with pytest.raises(SystemExit):
        made.protocol.handle_message(made.protocol.structure_message({"jsonrpc": "2.0", "method": "exit"}))
    made.text_document_publish_diagnostics(types.PublishDiagnosticsParams("file:///a.got", []))
    assert not caplog.records

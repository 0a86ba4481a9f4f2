"""A real HTTP server on loopback with a provider's batches: files go up, batches are made of them and end.

    with BatchServer(lambda body, index: "7", looks=2) as server:
        model = openai_model("small", base_url=server.url, batches=folder)

Answers are made, and charged, when a batch ends: after it was looked at `looks` times, or when `release` is
called. It keeps every file and batch that it saw.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Body = dict[str, Any]


@dataclass
class Made:
    """One batch: its requests by custom id, how often it was looked at, and what it ended as."""

    id: str
    metadata: dict[str, str]
    requests: dict[str, Body]
    looks: int = 0
    status: str = "in_progress"
    output: str | None = None
    errors: str | None = None


@dataclass
class BatchServer:
    """- `answer`: from a request's body and the number of the choice to the text.
    - `line`: what else a line of the results says (its `response` or `error`), None for an answer.
    - `ends`: how a batch ends; `left_out` of its requests have no line in the results then.
    - `failure`: what it says of a batch that failed as a whole.
    - `deaf`: that many batches are made without an answer to whoever asked for them.
    - `watch`: told of each request, such as `POST /v1/files`, after it was done and before it is answered.
    """

    answer: Callable[[Body, int], str]
    line: Callable[[Body], Body | None] = lambda body: None
    looks: int = 1
    ends: str = "completed"
    left_out: int = 0
    failure: str = "token limit of the queue"
    deaf: int = 0
    watch: Callable[[str], object] = lambda line: None
    batches: dict[str, Made] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    charged: int = 0
    seen: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                found = outer.got(self.path)
                outer.watch(f"GET {self.path}")
                self._reply(*found)

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["content-length"]))
                code, text = outer.posted(self.path, content, self.headers["content-type"])
                outer.watch(f"POST {self.path}")
                if code:
                    self._reply(code, text)
                else:
                    self.close_connection = True

            def _reply(self, code: int, text: str) -> None:
                with suppress(ConnectionError):  # who asked may have been killed
                    self._send(code, text)

            def _send(self, code: int, text: str) -> None:
                data = text.encode()
                self.send_response(code)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Not a word on stderr."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._lock = threading.Lock()
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def posted(self, path: str, content: bytes, kind: str) -> tuple[int, str]:
        with self._lock:
            self.seen.append(f"POST {path}")
            if path == "/v1/files":
                boundary = b"--" + kind.partition("boundary=")[2].encode()
                part = next(part for part in content.split(boundary) if b'name="file"' in part)
                name = f"file-{len(self.files)}"
                self.files[name] = part.partition(b"\r\n\r\n")[2].decode().strip()
                return 200, json.dumps({"id": name, "object": "file"})
            if path != "/v1/batches":
                return 404, json.dumps({"error": {"message": "only batches here"}})
            asked = json.loads(content)
            lines = [json.loads(row) for row in self.files[asked["input_file_id"]].splitlines()]
            made = Made(
                f"batch_{len(self.batches)}",
                asked["metadata"],
                {line["custom_id"]: line["body"] for line in lines},
            )
            self.batches[made.id] = made
            if len(self.batches) <= self.deaf:
                return 0, ""
            return 200, json.dumps(self._shown(made))

    def got(self, path: str) -> tuple[int, str]:
        with self._lock:
            self.seen.append(f"GET {path}")
            name = path.rpartition("/")[2].partition("?")[0]
            if path.startswith("/v1/files/"):
                return 200, self.files[path.split("/")[3]]
            if name == "batches":
                data = [self._shown(made) for made in self.batches.values()]
                return 200, json.dumps({"object": "list", "data": data, "has_more": False})
            if name not in self.batches:
                return 404, json.dumps({"error": {"message": "no such batch"}})
            made = self.batches[name]
            made.looks += 1
            if made.status == "in_progress" and made.looks >= self.looks:
                self._end(made)
            return 200, json.dumps(self._shown(made))

    def _end(self, made: Made) -> None:
        made.status = self.ends
        if self.ends == "failed":
            return
        outputs, errors = [], []
        for name, body in list(made.requests.items())[: len(made.requests) - self.left_out]:
            said = self.line(body)
            if said is None:
                said = {"response": {"status_code": 200, "body": self._completion(body)}, "error": None}
            row = json.dumps({"id": "x", "custom_id": name, **said}, ensure_ascii=False)
            good = (said.get("response") or {}).get("status_code") == 200
            (outputs if good else errors).append(row)
        for rows, label in ((outputs, "output"), (errors, "errors")):
            if rows:
                file = f"file-{len(self.files)}"
                self.files[file] = "\n".join(rows) + "\n"
                setattr(made, label, file)

    def _completion(self, body: Body) -> Body:
        count = int(body.get("n", 1))
        self.charged += count
        choices = [
            {
                "index": i,
                "message": {"role": "assistant", "content": self.answer(body, i)},
                "finish_reason": "stop",
            }
            for i in range(count)
        ]
        usage = {"prompt_tokens": 10, "completion_tokens": 10 * count, "total_tokens": 10 + 10 * count}
        return {"id": "c", "object": "chat.completion", "created": 0, "choices": choices, "usage": usage}

    def _shown(self, made: Made) -> Body:
        shown: Body = {
            "id": made.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "created_at": 0,
            "input_file_id": "file-0",
            "status": made.status,
            "metadata": made.metadata,
            "output_file_id": made.output,
            "error_file_id": made.errors,
        }
        if made.status == "failed":
            shown["errors"] = {
                "object": "list",
                "data": [{"code": "x", "message": self.failure}],
            }
        return shown

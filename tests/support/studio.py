"""`gotc studio` as a process, and requests to it as anybody on this machine could send them."""

from __future__ import annotations

import http.client
import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final
from urllib.parse import urlsplit

from support.gotc import start


@final
@dataclass(frozen=True)
class Answer:
    """A response, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def data(self) -> Any:
        return json.loads(self.body)


@final
@dataclass(frozen=True)
class Running:
    """A studio that runs. `address` is what it printed, with the token."""

    address: str
    pid: int
    port: int = field(init=False)
    token: str = field(init=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        object.__setattr__(self, "port", parts.port)
        object.__setattr__(self, "token", parts.query.removeprefix("token="))

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def cookie(self) -> dict[str, str]:
        return {"Cookie": f"gotc_studio_{self.port}={self.token}"}

    def processor_s(self) -> float:
        """The processor time that it has used, in seconds (on Linux)."""
        user, system = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def at(self, path: str) -> str:
        """The address of a page, with the token."""
        return f"{self.origin}{path}{'&' if '?' in path else '?'}token={self.token}"

    def send(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """One request with these headers and no others; `path` goes out as it is, encoded or not."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {"Host": f"127.0.0.1:{self.port}", **(headers or {})})
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Answer:
        """What a page of the studio gets."""
        return self.send("GET", path, self.cookie)

    def post(self, path: str, content: Any, **headers: str) -> Answer:
        """What a page of the studio may send; `headers` replace those that it sends."""
        sent = {**self.cookie, "Origin": self.origin, "Content-Type": "application/json", **headers}
        return self.send("POST", path, sent, json.dumps(content).encode())


@contextmanager
def studio(folder: Path, **environment: str) -> Iterator[Running]:
    """A studio of a folder, ended as people end it."""
    process = start("studio", folder, "--no-browser", cwd=folder, **environment)
    try:
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().strip()
        assert address, process.stderr.read()
        yield Running(address, process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert "Traceback" not in errors, errors

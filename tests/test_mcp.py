"""Tools of real MCP servers: a process that is started, and an address."""

from __future__ import annotations

import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.gotc import gotc, start

from gotlang import trust
from gotlang.api import Options, load
from gotlang.errors import NotTrusted, UsageError
from gotlang.models.base import Message
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result

SERVER = Path(__file__).parent / "support" / "mcp_server.py"
ODD = Path(__file__).parent / "support" / "mcp_odd_server.py"
COMMAND = shlex.join([sys.executable, str(SERVER)])
TEXT = """
import mcp "{at}": {names}
prompt solve(n: int) -> int:
    tools {names}
    "{{{{ n }}}}"
scheme main(n: int) -> int:
    Generate() solve(n)
"""


def go(
    folder: Path, said: Sequence[str], at: str = COMMAND, names: str = "add", **more: Any
) -> tuple[Result, list[str]]:
    """A run whose model says this, turn by turn, and then 7; with what it was told."""
    told: list[str] = []

    def solve(rng: Any, n: int, messages: Sequence[Message]) -> str:
        told[:] = [message.content for message in messages if message.role == "tool"]
        turn = sum(message.role == "assistant" for message in messages)
        return said[turn] if turn < len(said) else "7"

    (folder / "main.got").write_text(TEXT.format(at=at, names=names))
    options = Options(model=SimulatedModel({"solve": solve}), **{"python": True, **more})
    return load(folder / "main.got").run(n=1, options=options), told


def test_a_server_that_is_started_gets_no_keys_and_may_die(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-its-business")
    first = 'Call: add {"a": 3, "b": 4}\nCall: add(1)\nCall: add {"a": "x"}\nCall: secrets {}'
    result, told = go(tmp_path, [first, "Call: die now", "Call: add 1"], names="add, secrets, die")
    assert result.value == 7
    assert told[:2] == ["7", "2"]
    assert told[2].startswith("Error: `add`: ")
    assert told[3] == "[]"
    assert all(text.startswith("Error: MCP server") for text in told[4:]) and len(told) == 6


def test_python_is_the_one_that_gotc_runs_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert go(tmp_path, ["Call: add(2, b=3)"], at=shlex.join(["python", str(SERVER)]))[1] == ["5"]


def test_lines_that_are_no_messages_are_skipped_in_silence(tmp_path: Path) -> None:
    at = f"sh -c 'echo hello; exec {COMMAND}'"
    (tmp_path / "main.got").write_text(TEXT.format(at=at, names="add"))
    words = ("--model", "openai:m", "--base-url", "http://127.0.0.1:1/v1", "--no-retry", "--allow-python")
    done = gotc("run", "main.got", "--input", "n=1", *words, cwd=tmp_path)
    assert done.returncode == 1 and "no connection" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "hello" not in done.stderr, done.stderr


def test_a_server_at_an_address(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, SERVER, str(port)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        result, told = go(tmp_path, ["Call: add(2, b=3)"], at=f"http://127.0.0.1:{port}/mcp")
        assert (result.value, told) == (7, ["5"])
    finally:
        server.kill()
        server.wait()


def test_a_server_needs_trust_in_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with pytest.raises(NotTrusted, match="MCP server"):
        go(tmp_path, [], python=None)
    with pytest.raises(NotTrusted, match="forbids the MCP server"):
        go(tmp_path, [], python=False)
    trust.grant(tmp_path, settings=[("mcp", COMMAND)])
    assert go(tmp_path, [], python=None)[0].value == 7
    with pytest.raises(NotTrusted, match="MCP server"):
        go(tmp_path, [], at=COMMAND + " --more", python=None)


def odd(kind: str) -> str:
    return shlex.join([sys.executable, str(ODD), kind])


def test_tools_on_later_pages_and_results_that_are_no_text(tmp_path: Path) -> None:
    assert go(tmp_path, ["Call: add {}"], at=odd("pages"))[1] == ["5"]
    result, told = go(tmp_path, ["Call: add {}"], at=odd("image"))
    assert (result.value, told) == (7, ["Error: `add` returned image, and not only text"])


def test_ctrl_c_does_not_wait_for_a_server_that_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "main.got").write_text(TEXT.format(at=odd("silent"), names="add"))
    words = ("--input", "n=1", "--model", "openai:m", "--base-url", "http://127.0.0.1:1/v1", "--allow-python")
    process = start("run", "main.got", *words, cwd=tmp_path)
    for _ in range(600):
        if (tmp_path / "started").exists():
            break
        time.sleep(0.1)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130 and time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("at", "names", "why"),
    [
        ("no-such-command-here", "add", "cannot use the MCP server no-such-command-here"),
        (COMMAND, "subtract", "^MCP server .* has no tool `subtract`"),
        (odd("unfit"), "add", "^cannot use the MCP server [^:]*: 1 validation error for ListTools[^\\n]*$"),
    ],
)
def test_a_server_that_cannot_be_used_is_an_error_before_anything(
    tmp_path: Path, at: str, names: str, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        go(tmp_path, [], at=at, names=names)

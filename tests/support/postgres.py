"""A PostgreSQL server of the tests' own, in a temporary folder, where its programs are installed.

`GOTLANG_TEST_POSTGRES` names another one instead: a database in which tests may make schemas.
"""

from __future__ import annotations

import atexit
import functools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

_COMMAND: list[str] = []
_SERVERS: list[subprocess.Popen[bytes]] = []
"""How the server is started, and the one that runs."""
GIVEN = os.environ.get("GOTLANG_TEST_POSTGRES", "")
SYNCED = False
"""Whether the server waits for the disk, as one outside of tests does."""


def _programs() -> Path | None:
    """The folder of `initdb` and `postgres`."""
    found = [Path(place).parent for place in (shutil.which("initdb"),) if place]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    whole = [folder for folder in found if all((folder / name).exists() for name in ("initdb", "postgres"))]
    return whole[0] if whole else None


def _user() -> str | None:
    """Whom to run it as: the server refuses root. None is whoever we are."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


def why_not() -> str:
    """Why there is no server to test against, or nothing."""
    if GIVEN:
        return ""
    if _programs() is None:
        return (
            "no PostgreSQL here: install it, or set GOTLANG_TEST_POSTGRES to postgresql://user@host/database"
        )
    if os.getuid() == 0 and _user() is None:
        return "PostgreSQL does not run as root, and there is no other user"
    return ""


@functools.cache
def address() -> str:
    """The address of a server that runs until this process ends."""
    if GIVEN:
        return GIVEN
    programs, user = _programs(), _user()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="gotlang-postgres-"))
    if user is not None:
        shutil.chown(folder, user)
    made = subprocess.run(
        [
            programs / "initdb",
            "-D",
            folder / "data",
            "-U",
            "tester",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-sync",
        ],
        user=user,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        programs / "postgres",
        "-D",
        folder / "data",
        "-p",
        str(port),
        "-k",
        folder,
        *([] if SYNCED else ["-F"]),
    ]
    _COMMAND[:] = [*map(str, command), "-c", "listen_addresses=127.0.0.1"]
    _start()
    atexit.register(end)
    found = f"postgresql://tester@127.0.0.1:{port}/postgres"
    _answers(found)
    return found


def restart() -> None:
    """End the server of `address`, with every connection to it, and start it again."""
    server = _SERVERS.pop()
    server.send_signal(signal.SIGINT)
    server.wait(30)
    _start()
    _answers(address())


def _folder() -> Path:
    return Path(_COMMAND[_COMMAND.index("-k") + 1])


def _start() -> None:
    server = subprocess.Popen(
        _COMMAND,
        user=_user(),
        cwd=_folder(),
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _SERVERS.append(server)


def _answers(place: str) -> None:
    import psycopg

    until = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(place, connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def end() -> None:
    """End the server, if it runs, and remove what it has: at the exit of a process, or before that where a
    process ends without one."""
    for server in _SERVERS:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
        shutil.rmtree(_folder(), ignore_errors=True)
    _SERVERS.clear()
    address.cache_clear()

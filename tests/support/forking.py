"""`gotc` in a process of its own without the start of an interpreter: a fork of one with everything imported.

What a test sees is that of `python -m gotlang`: arguments, folder, environment, streams, exit code, and what
the end of the interpreter does. The imports, half a second of processor time for each process, are made once.
There are two such servers, each with a hash seed of its own, which take turns.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

AVAILABLE = hasattr(os, "fork") and hasattr(socket, "send_fds") and "GOTC_TESTS_NO_FORK" not in os.environ
ROOT = Path(__file__).parents[2]
HEADER = 8
"""Bytes of a number on the socket."""


class Server:
    """The side of the tests: one process at a time."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._lock = threading.Lock()
        self._start()
        atexit.register(self.close)

    def _start(self) -> None:
        self._socket, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(other.fileno())],
                env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(self._seed)}
                | {"OPENBLAS_NUM_THREADS": "1"},
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def replace(self) -> None:
        """Start anew after the server has ended by itself, which is said."""
        self._socket.close()
        warnings.warn(f"the server that forks ended with {self._process.wait(10)}", stacklevel=3)
        self._start()

    def run(
        self, arguments: list[str], *, cwd: Path, env: Mapping[str, str], stdin: str, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """One process to its end. Raises TimeoutExpired."""
        job = json.dumps({"argv": arguments, "cwd": str(cwd), "env": dict(env)}).encode()
        with self._lock, tempfile.TemporaryFile() as given:
            given.write(stdin.encode())
            given.seek(0)
            with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
                files = [given.fileno(), out.fileno(), err.fileno()]
                socket.send_fds(self._socket, [len(job).to_bytes(HEADER, "big")], files)
                self._socket.sendall(job)
                pid = self._number()
                try:
                    self._socket.settimeout(timeout)
                    status = self._number()
                except TimeoutError:
                    os.kill(pid, signal.SIGKILL)
                    self._socket.settimeout(None)
                    self._number()
                    raise subprocess.TimeoutExpired(arguments, timeout) from None
                finally:
                    self._socket.settimeout(None)
                texts = []
                for file in (out, err):
                    file.seek(0)
                    texts.append(file.read().decode())
        return subprocess.CompletedProcess(arguments, os.waitstatus_to_exitcode(status), *texts)

    def _number(self) -> int:
        found = self._socket.recv(HEADER, socket.MSG_WAITALL)
        if len(found) < HEADER:
            raise RuntimeError("the process that forks has ended")
        return int.from_bytes(found, "big")

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self._process.wait(10)


@functools.cache
def _servers() -> itertools.cycle[Server]:
    return itertools.cycle([Server(seed) for seed in random.sample(range(2**32), 2)])


def run(
    arguments: list[str], *, cwd: Path, env: Mapping[str, str], stdin: str, timeout: float
) -> subprocess.CompletedProcess[str]:
    """`gotc` with these arguments to its end. Raises TimeoutExpired."""
    server = next(_servers())
    try:
        return server.run(arguments, cwd=cwd, env=env, stdin=stdin, timeout=timeout)
    except BrokenPipeError:  # no job was sent
        server.replace()
        return server.run(arguments, cwd=cwd, env=env, stdin=stdin, timeout=timeout)


# ---------------------------------------------------------------- the other side


def serve(channel: socket.socket) -> bool:
    """Forks for every job. True in a fork, which is then as new; False at the end of the tests."""
    while True:
        header, files, _, _ = socket.recv_fds(channel, HEADER, 3)
        if not header:
            return False
        job = json.loads(channel.recv(int.from_bytes(header, "big"), socket.MSG_WAITALL))
        pid = os.fork()
        if pid == 0:
            channel.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            os.chdir(job["cwd"])
            os.environ.clear()
            os.environ.update(job["env"])
            sys.argv[1:] = job["argv"]
            sys.path[0] = job["cwd"]
            random.seed()
            return True
        for file in files:
            os.close(file)
        channel.sendall(pid.to_bytes(HEADER, "big"))
        channel.sendall(os.waitpid(pid, 0)[1].to_bytes(HEADER, "big"))


def _import_everything() -> None:
    import gc
    import importlib
    import pkgutil

    import gotlang

    for module in pkgutil.walk_packages(gotlang.__path__, "gotlang."):
        # DSPy, which some studies import, starts threads; NumPy does not where it may have one only.
        if not module.name.endswith(".__main__") and not module.name.startswith("gotlang.tune"):
            importlib.import_module(module.name)
    for name in (
        "aiohttp",
        "genai_prices.data",
        "gotlang.tune.study",
        "openai.resources.chat.completions",
        "optuna",
        "rich.console",
        "rich.table",
        "sqlite3",
    ):
        with suppress(ImportError):  # of an extra
            importlib.import_module(name)
    from gotlang.syntax.grammar import parser

    parser()
    threads = Path("/proc/self/task")
    assert (len(list(threads.iterdir())) if threads.exists() else threading.active_count()) == 1
    gc.collect()
    gc.freeze()


def _end(code: object) -> None:
    """End a fork as the interpreter does, but without a tenth of a second to free all that was imported."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    assert isinstance(code, int)
    os._exit(code)


if __name__ == "__main__":
    _import_everything()
    if serve(socket.socket(fileno=int(sys.argv[1]))):
        from gotlang.cli.main import main

        try:
            main()
        except SystemExit as ended:
            _end(ended.code)

"""A simulated machine under real code: processes that can be killed, their clock, and a disk that fails.

A process is a context (`PROCESS`). Importing this module puts it between Python and the system: the functions
of `os`, `open`, `time`, `fcntl` and `sqlite3` below ask whose context they are called in, and behave as ever
outside of all. So import it before anything that keeps one of these functions.

The files are real ones. The k-th thing that a process writes, syncs or renames may fail, tear, or be the last
that it does; so may the statements with which SQLite writes. What a killed process still does has no effect,
and what it had open is closed.
"""

from __future__ import annotations

import asyncio
import builtins
import errno
import fcntl
import io
import itertools
import os
import re
import resource
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal
from urllib.parse import unquote, urlsplit
from weakref import WeakSet

from tests.support.power import Disk

PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)
EPOCH = 1_800_000_000.0
"""The Unix time at which a virtual clock is 0."""
KINDS = ("full", "failing", "torn", "kill before", "kill after", "torn kill")


class Busy(Exception):
    """What a thread would wait for is not free yet."""


class Interlocked(AssertionError):
    """A blocking wait of the whole process, which stops its loop, continues across an `await`."""


@dataclass
class Faults:
    """What goes wrong for one process: from its `at`-th thing written on, `length` of them. `inside` ("" for
    any) is a part of their description, such as the name of a file."""

    kind: str
    at: int
    length: int = 1
    inside: str = ""
    seen: int = field(default=0, init=False)

    def next(self, what: str) -> str | None:
        """What goes wrong with the next one."""
        if self.inside not in what:
            return None
        self.seen += 1
        return self.kind if self.at <= self.seen < self.at + self.length else None


class Process:
    """A process of the machine, with what it has open. `clock` tells virtual seconds, `pass_time` lets some
    pass. `folder` is its disk: files elsewhere are none of this."""

    living: ClassVar[dict[int, Process]] = {}

    def __init__(
        self,
        name: str,
        pid: int,
        folder: str,
        chance: Random,
        *,
        clock: Callable[[], float],
        pass_time: Callable[[float], None],
    ) -> None:
        self.name, self.pid, self.folder = name, pid, folder
        self.chance, self.clock, self.pass_time = chance, clock, pass_time
        self.faults: Faults | None = None
        self.disk: Disk | None = None
        """Who is told what is durable, if its power may fail."""
        self.log: list[str] = []
        self.dead = False
        self.hidden = False
        """Whether it is on another machine, so that its liveness is unknown."""
        self.killed_at = float("inf")
        self.tasks: list[asyncio.Task[Any]] = []
        self.files: dict[int, Callable[[], object]] = {}
        self.connections: list[_Connection] = []
        self.context = copy_context()
        self.context.run(PROCESS.set, self)
        Process.living[pid] = self

    def kill(self) -> None:
        """kill -9: nothing of it runs any more, its files and locks are free."""
        if self.dead:
            return
        self.dead, self.killed_at = True, self.clock()
        self.leave()

    def leave(self) -> None:
        """Its end: the system closes what it has open."""
        Process.living.pop(self.pid, None)
        for number, close in self.files.items():
            _owners.pop(number, None)
            close()
        self.files.clear()
        for connection in self.connections:
            with suppress(sqlite3.Error):  # a statement that is not at its end would keep the file locked
                connection.rollback()
            for cursor in connection.cursors:  # and one that a dead task holds would keep it open
                with suppress(sqlite3.Error):
                    cursor.close()
            connection.close()

    def bury(self) -> None:
        """Take the memory apart, in its own context. Only when nothing looks at the disk any more."""
        self.kill()
        for task in self.tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            with suppress(BaseException):  # it wants to wait, or to write
                self.context.copy().run(task.get_coro().close)  # type: ignore[union-attr]

    def gate(self, what: str, part: Callable[[], object] | None = None) -> bool:
        """Before something is written: raises OSError if it fails; whether the process is killed after it.
        `part` does a part of it."""
        if self.dead:
            raise OSError(errno.EIO, "the process is dead")
        kind = self.faults.next(what) if self.faults is not None else None
        if kind is None:
            return False
        self.log.append(f"{kind} at {what}")
        if kind.startswith("torn") and part is not None:
            part()
        if kind in ("kill before", "torn kill"):
            self.kill()
            raise OSError(errno.EIO, "the process is dead")
        if kind == "kill after":
            return True
        code = errno.ENOSPC if kind == "full" else errno.EIO
        raise OSError(code, os.strerror(code))

    def after(self, last: bool) -> None:
        """After it was written."""
        if last:
            self.kill()

    def own(self, number: int, path: Any, close: Callable[[], object]) -> None:
        """Remember an open file."""
        _owners[number], _names[number] = self, os.fsdecode(path)
        self.files[number] = close


_owners: dict[int, Process] = {}
_names: dict[int, str] = {}
_MOST_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (_MOST_FILES, _MOST_FILES))
_FIRST = 500
_numbers = itertools.cycle(range(_FIRST, min(_MOST_FILES, 200_000)))
"""Numbers of the processes' files: none is used again soon, for the dead have memory that closes theirs."""


def _disown(number: int) -> None:
    process = _owners.pop(number, None)
    if process is not None:
        process.files.pop(number, None)


def _of(path: Any) -> Process | None:
    """The process that calls, if the file is on its disk."""
    process = PROCESS.get()
    if isinstance(path, int):
        # What a dead process had open may be another's by now.
        return process if process is None or process.dead else _owners.get(path)
    if process is None or not os.path.abspath(os.fsdecode(path)).startswith(process.folder):
        return None
    return process


def _called(path: Any) -> str:
    return os.path.basename(_names.get(path, "?") if isinstance(path, int) else os.fsdecode(path))


def _changing(name: str, *, target: int = 0) -> None:
    """A function of `os` that changes the file that its argument number `target` names."""
    real = getattr(os, name)

    def changed(*arguments: Any, **options: Any) -> Any:
        process = _of(arguments[target])
        if process is None or (name == "mkdir" and os.path.isdir(arguments[0])):
            return real(*arguments, **options)
        last = process.gate(f"{name} {_called(arguments[target])}")
        result = real(*arguments, **options)
        if process.disk is not None:
            if name in ("fsync", "fdatasync"):
                process.disk.synced(arguments[0])
            elif name not in ("mkdir", "truncate", "ftruncate"):
                for path in {arguments[0], arguments[target]}:
                    process.disk.named(path)
        process.after(last)
        return result

    setattr(os, name, changed)


def _writing(name: str) -> None:
    real = getattr(os, name)

    def write(number: int, content: Any, *place: int) -> int:
        process = _of(number)
        if process is None:
            return int(real(number, content, *place))
        text = bytes(content)
        part = text[: process.chance.randrange(len(text))] if text else b""
        last = process.gate(f"{name} {_called(number)}", lambda: real(number, part, *place))
        written = int(real(number, text, *place))
        process.after(last)
        return written

    setattr(os, name, write)


_real_open, _real_close, _real_flock = os.open, os.close, fcntl.flock
_real_file, _real_connect, _real_pid, _real_kill = builtins.open, sqlite3.connect, os.getpid, os.kill
_real_sleep = time.sleep


def _open(path: Any, flags: int, *more: Any, **options: Any) -> int:
    process = _of(path)
    if process is None:
        return _real_open(path, flags, *more, **options)
    last = new = False
    if process.dead:
        raise OSError(errno.EIO, "the process is dead")
    if flags & os.O_CREAT and not os.path.lexists(path):
        last, new = process.gate(f"create {_called(path)}"), True
    opened = _real_open(path, flags, *more, **options)
    if new and process.disk is not None:
        process.disk.named(path)
    number = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, next(_numbers))
    _real_close(opened)
    process.own(number, path, lambda: _real_close(number))
    process.after(last)
    return number


def _close(number: int) -> None:
    if number in _owners or number < _FIRST:
        _disown(number)
        _real_close(number)
    elif PROCESS.get() is None:
        with suppress(OSError):
            _real_close(number)


def _flock(file: Any, operation: int) -> None:
    number = file if isinstance(file, int) else file.fileno()
    calling = PROCESS.get()
    if calling is None or operation & (fcntl.LOCK_NB | fcntl.LOCK_UN):
        if calling is None or not calling.dead:
            _real_flock(number, operation)
        return
    if calling.dead:
        raise OSError(errno.EIO, "the process is dead")
    try:
        _real_flock(number, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        if in_thread.now:
            raise Busy from None
        raise Interlocked(f"{_called(number)} is locked") from None


def _open_file(file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
    process = _of(file)
    if PROCESS.get() is not None and (asked := _STATUS.fullmatch(str(file))):
        known = Process.living.get(int(asked[1]))
        if known is None or known.hidden:
            raise FileNotFoundError(errno.ENOENT, "no such process")
        return io.StringIO(f"{known.pid} (gotc) S {'0 ' * 18}{known.pid}")
    if process is None or not set(mode) & set("wxa+"):
        return _real_file(file, mode, *more, **options)
    names = ("buffering", "encoding", "errors", "newline", "closefd")
    given = {**dict(zip(names, more, strict=False)), **options}
    plain = mode.replace("b", "").replace("t", "")
    raw = _File(process, file, plain, closefd=given.get("closefd", True))
    if given.get("buffering", -1) == 0:
        return raw
    buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
    if "b" in mode:
        return buffered
    return io.TextIOWrapper(buffered, given.get("encoding"), given.get("errors"), given.get("newline"))


class _File(io.FileIO):
    """A file of a process, opened with `open`."""

    def __init__(self, process: Process, file: Any, mode: str, *, closefd: bool) -> None:
        self._process = process
        last = new = False
        if process.dead:
            raise OSError(errno.EIO, "the process is dead")
        if not isinstance(file, int) and not os.path.lexists(file):
            last, new = process.gate(f"create {_called(file)}"), True
        super().__init__(file, mode, closefd)
        if new and process.disk is not None:
            process.disk.named(file)
        self._number = self.fileno()
        process.own(self._number, _names.get(file, "?") if isinstance(file, int) else file, self._drop)
        process.after(last)

    def write(self, content: Any) -> int:
        text = bytes(content)
        part = text[: self._process.chance.randrange(len(text))] if text else b""
        real = super().write
        last = self._process.gate(f"write {_called(self._number)}", lambda: real(part))
        written = int(real(text))
        self._process.after(last)
        return written

    def _drop(self) -> None:
        super().close()

    def close(self) -> None:
        if not self.closed and not self._process.dead:
            _disown(self._number)
        super().close()


class _Connection(sqlite3.Connection):
    """A connection of a process. What it commits survives the process; whether it survives a power failure
    depends on its last `PRAGMA synchronous`."""

    process: Process
    path: Path
    cursors: WeakSet[sqlite3.Cursor]
    full = False
    WRITING = ("begin", "insert", "update", "delete", "create", "replace", "commit")

    def _do(self, what: str, act: Callable[[], Any]) -> Any:
        process, last = self.process, False
        try:
            if process.dead or what.lower().lstrip().startswith(self.WRITING):
                last = process.gate("sqlite " + " ".join(what.split())[:50])
            result = act()
            if isinstance(result, sqlite3.Cursor):
                self.cursors.add(result)
            process.after(last)
            if process.dead:
                raise OSError(errno.EIO, "the process is dead")
            return result
        except OSError as error:
            full = error.errno == errno.ENOSPC
            refused = sqlite3.OperationalError("database or disk is full" if full else "disk I/O error")
            refused.sqlite_errorcode = sqlite3.SQLITE_FULL if full else sqlite3.SQLITE_IOERR
            raise refused from None

    def execute(self, statement: str, *arguments: Any) -> Any:
        if "synchronous" in statement:
            self.full = "FULL" in statement
        real = super().execute
        return self._do(statement, lambda: real(statement, *arguments))

    def executemany(self, statement: str, *arguments: Any) -> Any:
        real = super().executemany
        return self._do(statement, lambda: real(statement, *arguments))

    def executescript(self, statement: str) -> Any:
        real = super().executescript
        return self._do(statement, lambda: real(statement))

    def commit(self) -> None:
        real = super().commit

        def commit() -> None:
            real()
            if self.full and self.process.disk is not None:
                self.process.disk.committed(self.path)

        self._do("commit", commit)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Literal[False]:
        """Through `commit`, which Python's own does not call."""
        if kind is not None:
            return super().__exit__(kind, error, trace)
        try:
            self.commit()
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                self.rollback()
            raise
        return False


def _connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
    process = PROCESS.get()
    if process is None:
        return _real_connect(*arguments, **options)
    if process.dead:
        raise sqlite3.OperationalError("the process is dead")
    made = _real_connect(*arguments, **{**options, "factory": _Connection})
    made.cursors = WeakSet()
    made.process, made.path = process, Path(unquote(urlsplit(str(arguments[0])).path))
    process.connections.append(made)
    return made


_STATUS = re.compile(r"/proc/(\d+)/stat")


class in_thread:
    """Within it, a lock that is not free raises `Busy`: what runs would be in a thread of its own."""

    now = False

    def __enter__(self) -> None:
        in_thread.now = True

    def __exit__(self, *_: object) -> None:
        in_thread.now = False


def _getpid() -> int:
    process = PROCESS.get()
    return _real_pid() if process is None else process.pid


def _kill(pid: int, signal: int) -> None:
    if PROCESS.get() is None:
        _real_kill(pid, signal)
    elif pid not in Process.living:
        raise ProcessLookupError(errno.ESRCH, "no such process")


def _sleep(seconds: float) -> None:
    process = PROCESS.get()
    if process is None:
        _real_sleep(seconds)
    else:
        process.pass_time(seconds)


def _clock(name: str, start: float) -> None:
    real = getattr(time, name)

    def clock() -> float:
        process = PROCESS.get()
        return float(real() if process is None else start + process.clock())

    setattr(time, name, clock)


def _install() -> None:
    for name in ("replace", "rename", "link", "symlink"):
        _changing(name, target=1)
    for name in ("unlink", "remove", "mkdir", "truncate", "ftruncate", "fsync", "fdatasync"):
        _changing(name)
    for name in ("write", "pwrite"):
        _writing(name)
    new: dict[Any, dict[str, Any]] = {
        os: {"open": _open, "close": _close, "getpid": _getpid, "kill": _kill},
        fcntl: {"flock": _flock},
        builtins: {"open": _open_file},
        io: {"open": _open_file},
        sqlite3: {"connect": _connect},
        time: {"sleep": _sleep},
    }
    for module, functions in new.items():
        for name, function in functions.items():
            setattr(module, name, function)
    _clock("time", EPOCH)
    _clock("monotonic", 0.0)


_install()

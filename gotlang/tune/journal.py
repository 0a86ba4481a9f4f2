"""A study's trials in a file: Optuna's operations, one per line with its checksum, shared by many workers.

    gotc study 1
    5f0c2b91 {"op_code":0,"worker_id":...}

A line that a kill, a full disk or a power failure tore can only be the last one: it is cut off under the
lock, and a warning is logged. Damage anywhere else is an error with its line. Journals of gotc 0.1.0, which
have neither header nor checksums, are read and continued.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, final

from optuna.storages.journal import BaseJournalBackend

from gotlang import disk
from gotlang.errors import CacheError, UsageError
from gotlang.records import escaped

_LOG = logging.getLogger("gotlang.studies")
_HEAD: Final = b"gotc study 1\n"
_OLD: Final = b'{"op_code":'
_STATE: Final = 6
"""Optuna's code of an operation that ends a trial; earlier operations are synced with it."""


@final
class StudyJournal(BaseJournalBackend):
    """The journal at a path, created if needed.

    Raises UsageError if it cannot be opened, is not a journal or is damaged, CacheError if it cannot be
    written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._head = 0
        self._end = 0
        """The end of the last complete line."""
        self._records: list[dict[str, Any]] = []
        self._forgotten = 0
        """Number of operations that were read before, and are not needed again."""
        try:
            disk.create_file(path, _HEAD)
            self._file = disk.open_own(path)
        except OSError as error:
            raise UsageError(
                f"cannot open the storage {path}: {error.strerror}", help="`--storage` names another file"
            ) from None
        weakref.finalize(self, os.close, self._file)
        with self._locked():
            if not self._end:
                self._append(_HEAD, durable=True)
                _LOG.warning(
                    "the study's storage %s was an empty file: trials that were in it are lost, and are "
                    "done again, with responses from the cache",
                    escaped(str(path)),
                )

    def read_logs(self, log_number_from: int) -> list[dict[str, Any]]:
        """The operations from a number on."""
        with self._locked():
            del self._records[: log_number_from - self._forgotten]
            self._forgotten = log_number_from
            return [*self._records]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Write operations, all of them or none."""
        lines = []
        for log in logs:
            text = json.dumps(log, separators=(",", ":")).encode()
            lines.append(b"%08x %s\n" % (zlib.crc32(text), text))
        with self._locked():
            self._append(b"".join(lines), durable=any(log["op_code"] == _STATE for log in logs))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock, with everything up to the end read."""
        with self._explained():
            fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            with self._explained():
                self._catch_up()
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _catch_up(self) -> None:
        size = os.fstat(self._file).st_size
        if size < self._end:
            raise UsageError(f"{self.path} was cut while in use", help="run the same command again")
        content, at = self._content(self._end, size), 0
        if not self._end:
            if content != _HEAD and (_HEAD.startswith(content) or _OLD.startswith(content)):
                return disk.truncate(self._file, 0)  # new, or its first line was torn
            if not content.startswith((_HEAD, _OLD)):
                raise UsageError(f"{self.path} is not the storage of a study", help="name another file")
            at = self._head = len(_HEAD) if content.startswith(_HEAD) else 0
        while stop := content.find(b"\n", at) + 1:
            if (record := _record(content[at : stop - 1])) is None:
                break
            self._records.append(record)
            at = stop
        if 0 < stop < len(content):
            line = self._forgotten + len(self._records) + 1 + bool(self._head)
            raise UsageError(
                f"{self.path} is damaged at line {line}",
                help=f"`sed -i '{line},$d' {self.path}` keeps the lines before it; the rest is repeated, "
                "with responses from the cache",
            )
        self._end += at
        if self._end < size:
            disk.truncate(self._file, self._end)
            _LOG.warning(
                "the last line of %s was not written completely: it is dropped and repeated",
                escaped(str(self.path)),
            )
        return None

    def _content(self, start: int, end: int) -> bytes:
        parts = []
        while start < end and (part := os.pread(self._file, end - start, start)):
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def _append(self, content: bytes, *, durable: bool = False) -> None:
        with self._explained():
            os.lseek(self._file, self._end, os.SEEK_SET)
            try:
                disk.write_all(self._file, content)
                if durable:
                    disk.sync(self._file)
            except OSError:
                with suppress(OSError):  # otherwise the next reader cuts it off
                    disk.truncate(self._file, self._end)
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CacheError(
                f"cannot write the study's trials to {self.path}: {error.strerror}",
                help="once it is writable, the same command continues the study: finished trials are kept",
            ) from None


_LINE = re.compile(rb"([0-9a-f]{8}) (\{.*\})", re.DOTALL)


def _record(line: bytes) -> dict[str, Any] | None:
    """The operation in a line; None if the line is incomplete."""
    found = _LINE.fullmatch(line)
    if found is None and not line.startswith(_OLD):
        return None
    if found is not None and zlib.crc32(found[2]) != int(found[1], 16):
        return None
    try:
        record = json.loads(line if found is None else found[2])
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None

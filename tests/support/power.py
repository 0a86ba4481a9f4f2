"""What a power failure leaves of a disk: what was synced, and some of what came after it.

`machine.py` tells a `Disk` what its processes create, rename and sync. Contents that were not synced keep any
part of what was appended; names that were not synced with their folder go back in order, the last first. Of a
SQLite log any part goes that was written after the last commit that synced it; the database itself SQLite
syncs whenever it takes the log over.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from random import Random

_LOG_HEAD, _FRAME_HEAD = 32, 24


class Disk:
    """The files below `folder`, which is empty at first. `chance` decides how much of what was not synced is
    there after a power failure."""

    def __init__(self, folder: Path, chance: Random) -> None:
        self.folder, self.chance = folder, chance
        self._synced: dict[int, bytes] = {}
        """Contents that were synced, by inode."""
        self._names: dict[Path, int] = {}
        self._changes: list[tuple[Path, int | None]] = []
        """Names that were made (or removed: None) and not synced yet, in order."""
        self._logs: dict[Path, tuple[bytes, int]] = {}
        """Of SQLite's logs: the salts, and how many bytes were synced."""

    def named(self, path: str | os.PathLike[str]) -> None:
        """A name leads to another file than before, or to none."""
        with suppress(OSError):
            real = Path(os.path.realpath(path))
            found = os.stat(real).st_ino if os.path.lexists(real) else None
            self._changes.append((real, found))

    def synced(self, number: int) -> None:
        """A descriptor was synced."""
        real = Path(os.readlink(f"/proc/self/fd/{number}"))
        if real.is_dir():
            self._sync_names(real)
        else:
            self._synced[os.fstat(number).st_ino] = Path(f"/proc/self/fd/{number}").read_bytes()

    def committed(self, database: Path) -> None:
        """A commit to a database synced its log; the first one also the folder."""
        log = Path(f"{database}-wal")
        if log.exists():
            content = log.read_bytes()
            self._logs[log] = (content[16:24], _end(content))
        self._sync_names(database.parent)

    def _sync_names(self, folder: Path) -> None:
        for path, inode in self._changes:
            if path.parent == folder:
                self._name(path, inode)
        self._changes = [change for change in self._changes if change[0].parent != folder]

    def _name(self, path: Path, inode: int | None) -> None:
        if inode is None:
            self._names.pop(path, None)
        else:
            self._names[path] = inode

    def after_power_failure(self) -> dict[Path, bytes]:
        """The files that are there when the machine starts again. It forgets what it knew of others."""
        paths = [path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink()]
        contents = {path.stat().st_ino: path.read_bytes() for path in paths}
        for change in self._changes[: self.chance.randint(0, len(self._changes))]:
            self._name(*change)
        self._changes = []
        left: dict[Path, bytes] = {}
        for path in paths:
            owner = _database(path)
            if owner is None or path.name.endswith("-shm"):
                continue
            if path != owner:
                left[path] = contents[path.stat().st_ino][: self._log_left(path)]
            # The name of a database that was created under another one may be lost with all that is in it.
            elif path in self._names or ".coordination" not in path.name:
                left[path] = contents[path.stat().st_ino]
        left = {path: content for path, content in left.items() if _database(path) in left}
        for path, inode in self._names.items():
            if _database(path) is None:
                left[path] = self._content(inode, contents.get(inode))
        return left

    def _content(self, inode: int, now: bytes | None) -> bytes:
        synced = self._synced.get(inode, b"")
        if now is None or now == synced:
            return synced
        if now.startswith(synced):
            return now[: self.chance.randint(len(synced), len(now))]
        return self.chance.choice((synced, now))

    def _log_left(self, path: Path) -> int:
        content = path.read_bytes()
        salts, synced = self._logs.get(path, (b"", 0))
        # After a restart of the log all before it is in the database.
        return self.chance.randint(synced if content[16:24] == salts else 0, _end(content))

    def restore(self, left: dict[Path, bytes]) -> None:
        """Reduce the disk to its state after a power failure. No file may be open."""
        for path in [path for path in self.folder.rglob("*") if not path.is_dir()]:
            if path not in left:
                path.unlink()
        for path, content in left.items():
            path.write_bytes(content)  # it keeps its inode
        self._names = {path: path.stat().st_ino for path in left}
        self._synced = {path.stat().st_ino: content for path, content in left.items()}
        self._logs = {}


def _database(path: Path) -> Path | None:
    """The database that a file is, or belongs to; None for files of other kinds."""
    name = path.name.removesuffix("-wal").removesuffix("-shm").removesuffix("-journal")
    return path.with_name(name) if ".sqlite" in name else None


def _end(log: bytes) -> int:
    """Where the frames of a log end that belong to it since its last restart."""
    size, end = int.from_bytes(log[8:12], "big"), _LOG_HEAD
    while size and log[end + 8 : end + 16] == log[16:24] and end + _FRAME_HEAD + size <= len(log):
        end += _FRAME_HEAD + size
    return min(end, len(log))

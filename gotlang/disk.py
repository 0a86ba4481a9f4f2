"""Files that gotc writes: completely or not at all, and never through a link that leads out of the current
folder. And files that others named or wrote: one that may never end is an error, such as a device, to which a
link in an untrusted folder may lead, or a pipe that is never closed.

A file is written next to its place under another name, synced and renamed, and its folder is synced: a kill,
a full disk or a power failure leaves the old file or the new one, and the new one once the call has returned.
`open_file`, `write`, `sync`, `rename` and `truncate` are the only system calls that change files here, so
that a test can make the k-th of them fail.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, final

open_file = os.open
write = os.write
sync = os.fsync
rename = os.replace
link = os.link
truncate = os.ftruncate

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OURS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_MODE = 0o666
"""Before the process's umask is applied."""
MOST_BYTES = 2**26
"""The maximum size of a text that comes from a device or a pipe: 64 MiB."""
_OF_THE_SYSTEM = ("/dev/fd/", "/dev/std", "/proc/")


def real_path(path: str | os.PathLike[str]) -> Path:
    """A path with its links resolved. Raises OSError for an invalid path."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # a null byte, or a lone surrogate
        raise OSError(errno.EINVAL, "no file can have such a name") from None


def place(path: str | os.PathLike[str]) -> Path:
    """The file that a path leads to. Raises OSError if a link below the current folder leads out of it: it
    may be untrusted. A place elsewhere was named by the user."""
    real, here = real_path(path), os.getcwd()
    written = Path(os.path.normpath(os.path.join(here, path)))
    if written.is_relative_to(here) and not real.is_relative_to(here):
        raise OSError(errno.ELOOP, f"a link leads out of the current folder, to {real}")
    return real


def is_empty(path: str | os.PathLike[str]) -> bool:
    """Whether a file exists but is empty: anything that gotc wrote to it is lost."""
    try:
        return os.stat(path).st_size == 0
    except OSError:
        return False


def make_folder(path: Path) -> None:
    """Create a folder with its parents, unless it exists. Raises OSError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise OSError(errno.ENOTDIR, f"{path} is not a folder") from None


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file completely or not at all, with its folder if it is missing; an existing one keeps its
    permissions. Raises OSError."""
    with Draft(path) as draft:
        draft.write(content)


def in_the_form_of(now: bytes, text: str) -> bytes:
    """A text with the line endings and the byte order mark of the file that it will replace."""
    mark = codecs.BOM_UTF8 if now.startswith(codecs.BOM_UTF8) else b""
    return mark + (text.replace("\n", "\r\n") if b"\r\n" in now else text).encode("utf-8")


def create_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a new file, which gets its name once it is complete, unless it exists. Raises OSError."""
    if os.path.lexists(path):
        return
    with Draft(path) as draft:
        draft.write(content)
        draft.keep(replace=False)


def open_own(path: str | os.PathLike[str]) -> int:
    """A descriptor to read and write a file of gotc's own, which is created if needed, with its folder; a
    link is not followed. Raises OSError."""
    real = place(path)
    make_folder(real.parent)
    return open_file(real, _OURS, _MODE)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power failure, on file systems that can. Raises OSError."""
    try:
        file = open_file(folder, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:  # it may be writable but not readable
        return
    try:
        sync(file)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(file)


@final
class Draft:
    """A file that is being written. `keep` puts it in its place: at the end of a block without an error, or
    earlier, so that others can read it while it grows. A device or a pipe is written directly. A missing
    folder is created.

    Raises OSError if it cannot be written; an existing file is then unchanged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = place(path)
        self._draft: Path | None = None
        there = _status(path)
        if there is not None and (
            os.fspath(path).startswith(_OF_THE_SYSTEM) or not stat.S_ISREG(there.st_mode)
        ):
            self._file = open_file(path, os.O_WRONLY)
            return
        make_folder(self._path.parent)
        draft = self._path.with_name(f".{self._path.name[:80]}.{os.urandom(6).hex()}")
        self._file = open_file(draft, _NEW, _MODE)
        self._draft = draft
        if there is not None:
            os.chmod(draft, stat.S_IMODE(there.st_mode))

    def write(self, content: bytes) -> None:
        """Write all of it."""
        write_all(self._file, content)

    def keep(self, *, replace: bool = True) -> None:
        """Sync it, and put it in its place; without `replace`, unless another file has appeared there."""
        draft = self._draft
        if draft is not None:
            sync(self._file)
            if replace:
                rename(draft, self._path)
            else:
                with suppress(FileExistsError):
                    link(draft, self._path)
                draft.unlink()
            self._draft = None
            sync_folder(self._path.parent)

    def close(self) -> None:
        """Release it; a draft that was not kept is removed."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        if self._draft is not None:
            with suppress(OSError):
                self._draft.unlink()
            self._draft = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.keep()
        finally:
            self.close()


def write_all(file: int, content: bytes) -> None:
    """Write all data to a descriptor. Raises OSError."""
    left = memoryview(content)
    while left:
        left = left[write(file, left) :]


def _status(path: str | os.PathLike[str]) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_bounded(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """The content of a file. Raises OSError if it cannot be read, has more than `most` bytes (default:
    unlimited), or is a device or a pipe with more than MOST_BYTES."""
    with Path(path).open("rb") as file:
        if most is None and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            most = MOST_BYTES
        found = file.read(-1 if most is None else most + 1)
    if most is not None and len(found) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes")
    return found


def read_own(path: str | os.PathLike[str]) -> bytes:
    """The content of a file that gotc wrote, which is a regular file. Raises OSError for others."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    return Path(path).read_bytes()


def reject_device(path: str | os.PathLike[str]) -> None:
    """Raise OSError for a device, which may never end, before a file is read line by line."""
    if stat.S_ISCHR(os.stat(path).st_mode) or stat.S_ISBLK(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "it is a device")

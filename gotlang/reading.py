"""Reading of files that others named or wrote: one that may never end is an error, such as a device, to which
a link in an untrusted folder may lead, or a pipe that is never closed."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 2**26
"""The maximum size of a text that comes from a device or a pipe: 64 MiB."""


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

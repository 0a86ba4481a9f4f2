"""What the user trusts, in their own configuration folder: Python by path, settings by content.

- Python of a folder: by its real path, with all that is below it. It survives edits.
- Settings of a project that reach out of it (an address, a file elsewhere): each with the value that it had.

`gotc trust FOLDER` grants both. A grant is one file, of the user alone, that no project can write.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import final

from msgspec import Struct

from gotlang.errors import UsageError, reporting
from gotlang.patterns import lazy_pattern

_USER = lazy_pattern(r"//[^/@\s]*@")
_SQLITE = lazy_pattern(r"sqlite:///([^?#%:]+)")
"""The form of a file's address in the storage of a study."""


@final
class Trusted(Struct, frozen=True):
    """What is trusted of a folder, or of a file. `settings` has a line for each by its digest."""

    folder: str
    python: bool
    settings: Mapping[str, str]
    format_version: int = 1


def home() -> Path | None:
    """The user's own configuration folder, which may be missing; None if the user has no home."""
    return _own("XDG_CONFIG_HOME", ".config")


def cache_home() -> Path | None:
    """The user's own folder for files that can be recreated; it may be missing. None if the user has no
    home."""
    return _own("XDG_CACHE_HOME", ".cache")


def _own(variable: str, default: str) -> Path | None:
    given = os.environ.get(variable, "")
    if Path(given).is_absolute():
        return Path(given) / "gotc"
    with suppress(RuntimeError):
        return Path.home() / default / "gotc"
    return None


def runs_python(file: Path) -> bool:
    """Whether the user trusts Python of this file: with an enclosing folder, or alone."""
    return any(found.python for found in _around(file))


def granted(folder: Path, setting: str, value: str) -> bool:
    """Whether the user trusts a setting with this value in files of a folder, as in
    `granted(here, "storage", "postgresql://host/studies")`. A file elsewhere is given by its real path."""
    digest = _digest(setting, value)
    return any(digest in found.settings for found in _around(folder))


def reached(text: str, folder: Path, *, inside: Path | None = None) -> str | None:
    """The address in a text, or the real path if it names a file outside `inside` (default: the folder that
    it is relative to); None for anything else."""
    file = _SQLITE.fullmatch(text)
    if "://" in text and file is None:
        return text
    try:
        real = (folder / (file[1] if file is not None else text)).resolve()
        return None if real.is_relative_to((inside or folder).resolve()) else str(real)
    except (OSError, ValueError, RuntimeError):  # a NUL, a loop of links
        return text


def reached_model(spec: str, folder: Path, *, inside: Path | None = None) -> str | None:
    """The part of a model's spec that needs trust: a file of weights, which is read by code that was not
    written for untrusted files, or a recording outside `inside`; None for any other model."""
    kind, _, name = spec.partition(":")
    if kind == "replay":
        return reached(name.partition("#")[0], folder, inside=inside)
    try:
        return str((folder / name).resolve()) if kind == "local" and (folder / name).is_file() else None
    except (OSError, ValueError, RuntimeError):  # a NUL, a loop of links
        return name


def grant(folder: Path, *, python: bool = True, settings: Iterable[tuple[str, str]] = ()) -> Trusted:
    """Trust the Python of a folder (or file), and these settings with their values, instead of earlier ones.

    Raises UsageError if that cannot be stored.
    """
    from gotlang.records import to_json

    lines = {_digest(*one): shown(*one) for one in settings}
    trusted = Trusted(str(folder.resolve()), python, lines)
    path = _record(folder.resolve())
    with reporting(f"cannot store what is trusted in {path.parent}"):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with suppress(FileNotFoundError):
            draft.unlink()
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(to_json(trusted))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    return trusted


def revoke(folder: Path) -> bool:
    """Revoke the trust in a folder (or file); returns whether it was trusted. Raises UsageError."""
    try:
        _record(folder.resolve()).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(f"cannot remove the trust in {folder}: {error.strerror}") from None
    return True


def trusted() -> list[Trusted]:
    """All that is trusted, by path."""
    around = home()
    paths = [] if around is None else sorted((around / "trust").glob("*.json"))
    return sorted((one for one in map(_read, paths) if one is not None), key=lambda one: one.folder)


def _around(path: Path) -> Iterator[Trusted]:
    """What is trusted of a path and of its parent folders."""
    real = path.resolve()
    if home() is not None:
        for one in (real, *real.parents):
            found = _read(_record(one))
            if found is not None and found.folder == str(one):
                yield found


def _record(folder: Path) -> Path:
    around = home()
    if around is None:
        raise UsageError("there is no home folder to store the trust in", help="set XDG_CONFIG_HOME")
    return around / "trust" / f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]}.json"


def _read(path: Path) -> Trusted | None:
    """A grant; None if it does not exist or cannot be read: a damaged one grants nothing."""
    from gotlang.records import InvalidRecord, from_json

    try:
        return from_json(path.read_bytes(), Trusted)
    except (OSError, InvalidRecord):
        return None


def as_written(path: Path) -> str:
    """A path as the user would write it: relative if it is in the current folder."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def shown(setting: str, value: str) -> str:
    """A setting with its value for messages: on one line, without a user name and password."""
    plain = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in value)
    return f"{setting} = {_USER.sub('//***@', plain)}"


def _digest(setting: str, value: str) -> str:
    return hashlib.sha256(f"{setting}\0{value}".encode("utf-8", "surrogatepass")).hexdigest()

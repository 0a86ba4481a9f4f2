"""Images and files in prompts: checked before anything is sent, identified by their content."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from gotlang.disk import real_path
from gotlang.errors import UsageError, reporting
from gotlang.files import not_found
from gotlang.models.base import Media
from gotlang.models.images import image_type, is_whole
from gotlang.types import FILE, IMAGE, DictType, ListType, OptionalType, PairType, RecordType, Type, UnionType

MOST_BYTES: Final = 20_000_000
"""A larger image or file is refused, as most endpoints do."""
TEXTS: Final = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
}
"""The kinds of text files; others are plain text."""


def media_of(kind: str, path: str) -> Media:
    """An image or a file at a path. Raises UsageError if it is missing, too large, cut off, or not of a
    supported type."""
    if not path:
        what = "an image" if kind == "image" else "a file"
        raise UsageError("it is empty", help=f"write the path of {what}")
    try:
        state = Path(path).stat()
    except FileNotFoundError:
        raise not_found(Path(path)) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISREG(state.st_mode):  # a pipe or a device may have no end
        raise UsageError(f"cannot read {path}: it is not a regular file")
    if state.st_size > MOST_BYTES:
        raise UsageError(
            f"{path} has {state.st_size:,} bytes, and at most {MOST_BYTES:,} are sent to a model"
        )
    return _media(kind, path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=10_000)
def _media(kind: str, path: str, changed_ns: int, size: int) -> Media:
    with reporting(f"cannot read {path}"):
        content = Path(path).read_bytes()
    mime = _mime(kind, path, content)
    if mime is None:
        known = "PNG, JPEG, GIF or WebP" if kind == "image" else "PDF or text in UTF-8"
        raise UsageError(f"{path} is not a supported {kind}", help=f"it must be {known}")
    if kind == "image" and not is_whole(mime, content):
        raise UsageError(f"{path} is cut off: its end is missing", help="copy or download the image again")
    return Media(kind, mime, hashlib.sha256(content).hexdigest(), path)


def _mime(kind: str, path: str, content: bytes) -> str | None:
    if kind == "image":
        return image_type(content)
    if content.startswith(b"%PDF-"):
        return "application/pdf"
    try:
        return None if "\0" in content.decode() else TEXTS.get(Path(path).suffix.lower(), "text/plain")
    except UnicodeDecodeError:
        return None


def paths_in(type_: Type, value: Any) -> Iterator[tuple[str, str]]:
    """The kinds and the paths of the images and files in a value of a type."""
    match type_:
        case _ if type_ in (IMAGE, FILE):
            yield str(type_), value
        case OptionalType(inner=inner) if value is not None:
            yield from paths_in(inner, value)
        case ListType(element=element):
            for each in value:
                yield from paths_in(element, each)
        case PairType(types=types):
            for part, each in zip(types, value, strict=True):
                yield from paths_in(part, each)
        case DictType(value=inside):
            for each in value.values():
                yield from paths_in(inside, each)
        case RecordType(fields=fields):
            for name, field in fields:
                yield from paths_in(field, value[name])
        case UnionType() if (case := type_.case(value["type"])) is not None:
            yield from paths_in(case, value)


def media_in(types: Mapping[str, Type], values: Mapping[str, Any]) -> dict[tuple[str, str], Media]:
    """The images and files of inputs, by kind and path. Raises UsageError, which names the input."""
    found: dict[tuple[str, str], Media] = {}
    for name, type_ in types.items():
        for kind, path in paths_in(type_, values.get(name)) if name in values else ():
            try:
                found[kind, path] = media_of(kind, path)
            except UsageError as error:
                raise UsageError(f"input `{name}`: {error.message}", help=error.help) from None
    return found


def moved(type_: Type, value: Any, folder: Path) -> Any:
    """A value of a data file, with its paths made relative to the working folder. They must be inside the
    file's own folder: an untrusted file may not name others. Raises UsageError."""
    match type_:
        case _ if type_ in (IMAGE, FILE):
            path = folder / value
            if not real_path(path).is_relative_to(real_path(folder)):
                help = "move it there, or name it with --input"
                raise UsageError(f"`{value}` is outside the data file's folder", help=help)
            media_of(str(type_), str(path))
            return str(path)
        case OptionalType(inner=inner) if value is not None:
            return moved(inner, value, folder)
        case ListType(element=element):
            return [moved(element, each, folder) for each in value]
        case PairType(types=types):
            return [moved(part, each, folder) for part, each in zip(types, value, strict=True)]
        case DictType(value=inside):
            return {name: moved(inside, each, folder) for name, each in value.items()}
        case RecordType(fields=fields):
            return {name: moved(field, value[name], folder) for name, field in fields}
        case UnionType() if (case := type_.case(value["type"])) is not None:
            return moved(case, value, folder)
    return value

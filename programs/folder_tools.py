"""Tools that look at one folder, and at nothing outside of it."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "handbook"
MOST = 4000
"""Characters of a file, and lines of a search, that a model is shown at most."""


def _inside(path: str) -> Path:
    """A path below the folder. Raises ValueError for any other, whatever links lead to it."""
    found = (FOLDER / path).resolve()
    if not found.is_relative_to(FOLDER.resolve()):
        raise ValueError(f"{path} is outside of the folder")
    return found


def list_files(folder: str = ".") -> list[str]:
    """Lists the files below a folder, by their paths."""
    return sorted(str(f.relative_to(FOLDER.resolve())) for f in _inside(folder).rglob("*") if f.is_file())


def read_file(path: str) -> str:
    """Reads a file."""
    file = _inside(path)
    if not file.is_file():
        raise ValueError(f"there is no file {path}")
    return file.read_text("utf-8")[:MOST]


def search_files(text: str) -> list[str]:
    """Finds the lines with a text, in any case, each after the path of its file."""
    lines = (f"{path}: {line}" for path in list_files() for line in read_file(path).splitlines())
    return [line for line in lines if text.lower() in line.partition(": ")[2].lower()][:MOST]

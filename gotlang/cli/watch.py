"""`--watch`: repeats a command whenever a file that it reads has changed."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gotlang.checks import files_of
from gotlang.cli import options as opt
from gotlang.cli.output import complain, count
from gotlang.cli.programs import source
from gotlang.errors import GotError, Terminated, UsageError

_WATCHED = "_GOTC_WATCHED"
"""Set for the repeated command, which does not watch."""
_PAUSE_S = 0.3
_NAMED = ("data", "inputs", "tuned", "answers", "recording", "prices")
"""Options that name a file to be read."""
_SETTINGS = ("gotc.toml", "pyproject.toml")


WATCH = opt.flag(
    "--watch", "Run again, from the cache, whenever a file that it reads has changed. Ctrl-C ends it."
)


def is_first() -> bool:
    """Whether this is not a repeated command."""
    return _WATCHED not in os.environ


def watchable(command: Callable[..., int]) -> Callable[..., int]:
    """Add the option `--watch` to a command."""

    @functools.wraps(command)
    def run(*context: Any, watch: bool, **chosen: Any) -> int:
        return again(chosen) if watch and is_first() else command(*context, **chosen)

    with_option: Callable[..., int] = WATCH(run)
    return with_option


def again(chosen: Mapping[str, Any]) -> int:
    """Run the command of this process repeatedly. Returns the exit code: 0, or that of the run that Ctrl-C
    interrupted."""
    if "-" in _programs(chosen):
        raise UsageError("standard input cannot be watched", help="name the file of the program")
    import click

    arguments = click.get_current_context().find_root().obj
    # Nothing is imported from the current folder, which may be untrusted.
    command = [sys.executable, "-P", "-m", "gotlang", *arguments]
    try:
        while True:
            paths = set(_read(chosen))
            before = _stamps(paths)
            if (code := _run(command)) is not None:
                return code
            complain(f"watching {count(len(before), 'file')}: Ctrl-C ends it")
            while (now := _stamps(paths)) == before:
                time.sleep(_PAUSE_S)
            changed = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
            complain(f"changed: {', '.join(changed[:3])}{' ...' if len(changed) > 3 else ''}")
    except KeyboardInterrupt:
        complain("")
        return 0


def _run(command: list[str]) -> int | None:
    """Run a command to its end; returns its exit code if Ctrl-C ended it, otherwise None."""
    interrupted = False
    sys.stdout.flush()
    import subprocess

    with subprocess.Popen(command, env={**os.environ, _WATCHED: "1"}) as process:
        while True:
            try:
                code = process.wait()
                return code if interrupted else None
            except KeyboardInterrupt as error:  # the command gets Ctrl-C too, and finishes requests in flight
                interrupted = True
                if isinstance(error, Terminated):
                    process.terminate()


def _programs(chosen: Mapping[str, Any]) -> list[str]:
    named = [chosen["file"]] if "file" in chosen else list(chosen["files"])
    return named or sorted(str(path) for path in Path().glob("*.got"))


def _read(chosen: Mapping[str, Any]) -> Iterator[Path]:
    """The files and folders that the command reads, including missing ones."""
    for name in _programs(chosen):
        program = Path(name)
        yield program
        try:
            found = files_of(source(name), program.parent.resolve())
        except GotError:
            continue  # the command reports it
        for path in found:
            yield path
            if path.suffix == ".py":
                yield from path.parent.glob("*.py")  # files that it may import
    yield from (Path(chosen[option]) for option in _NAMED if chosen.get(option) not in (None, "-"))
    for _, text in chosen.get("input", ()):
        if text.startswith("@") and not text.startswith("@@"):
            yield Path(text[1:])
    yield from (Path(path) for _, path in chosen.get("corpus", ()))
    yield from map(Path, _SETTINGS)


def _stamps(paths: set[Path]) -> dict[str, tuple[int, int]]:
    """The files at paths, and those in folders among them, with their modification times and sizes."""
    found = {}
    for path in paths:
        files = (path, *path.rglob("*")) if path.is_dir() else (path,)
        for file in files:
            try:
                state = file.stat()
            except OSError:
                continue
            found[os.path.relpath(file)] = (state.st_mtime_ns, 0 if file.is_dir() else state.st_size)
    return found

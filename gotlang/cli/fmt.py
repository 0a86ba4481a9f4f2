"""`gotc fmt`: programs in canonical form, in place."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gotlang.cli import errors
from gotlang.cli import options as opt
from gotlang.cli.inputs import source
from gotlang.cli.output import complain, count
from gotlang.errors import GotError, UsageError


@click.command("fmt")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@opt.flag("--check", "Change nothing; exit with 1 if a file would be changed.")
def command(files: tuple[str, ...], check: bool) -> int:
    """Rewrite programs in canonical form. A FILE of `-` is read from standard input and written to standard
    output.

    The meaning of a program never changes, nor do its comments. A file that does not parse is left as it is.
    """
    changed, code = [], 0
    for name in dict.fromkeys(files):
        try:
            if _format(name, check):
                changed.append("standard input" if name == "-" else name)
        except GotError as error:
            code = errors.known(error)
    for name in changed:
        complain(f"{'would change' if check else 'changed'} {name}")
    complain(f"{count(len(changed), 'file')} of {len(set(files))} {'would change' if check else 'changed'}")
    return code or (1 if check and changed else 0)


def _format(name: str, check: bool) -> bool:
    """Whether a file was not in canonical form; it is now, unless `check`."""
    from gotlang.api import formatted

    read = source(name)
    text = formatted(read)
    if name == "-":
        if not check:
            click.echo(text, nl=False)
        return text != read.text
    path, content = Path(name), text.encode("utf-8")
    try:
        if path.read_bytes() == content:
            return False
        if not check:
            _replace(path.resolve(), content)
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror}") from None
    return True


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically, and keep its permissions."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(content)
        draft.chmod(path.stat().st_mode & 0o7777)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)

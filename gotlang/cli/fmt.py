"""`gotc fmt`: programs in the one canonical form, in place."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gotlang.cli.output import complain, count
from gotlang.errors import CompileError, GotError, UsageError
from gotlang.span import Source


@click.command("fmt")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 where a file would be changed.")
def command(files: tuple[str, ...], check: bool) -> int:
    """Rewrite programs in the canonical form. A FILE of `-` is read from standard input and written to
    standard output.

    What a program means never changes, nor do its comments. A file that does not parse stays as it is.
    """
    from gotlang.cli import failing

    changed, code = [], 0
    for name in dict.fromkeys(files):
        try:
            if name == "-":
                if _stdin(check):
                    changed.append("standard input")
            elif _file(name, check):
                changed.append(name)
        except GotError as error:
            code = failing.known(error)
    for name in changed:
        complain(f"{'would change' if check else 'changed'} {name}")
    complain(f"{count(len(changed), 'file')} of {len(set(files))} {'would change' if check else 'changed'}")
    return code or (1 if check and changed else 0)


def formatted(source: Source) -> str:
    """The canonical text of a program. Raises CompileError where it does not parse."""
    from gotlang.syntax.format import format_module
    from gotlang.syntax.parse import parse

    module, found = parse(source)
    if any(diagnostic.severity == "error" for diagnostic in found):
        raise CompileError(found, {source.name: source})
    return format_module(module, source)


def _stdin(check: bool) -> bool:
    from gotlang.cli.programs import read

    source = read("-")
    text = formatted(source)
    if not check:
        click.echo(text, nl=False)
    return text != source.text


def _file(name: str, check: bool) -> bool:
    """Whether the file was not in the canonical form; now it is, unless `check`."""
    from gotlang.cli.programs import read

    path = Path(name)
    content = formatted(read(name)).encode("utf-8")
    try:
        if path.read_bytes() == content:
            return False
        if not check:
            _replace(path.resolve(), content)
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror}") from None
    return True


def _replace(path: Path, content: bytes) -> None:
    """Write a file in one step, so that nothing can be lost half-way, and keep its permissions."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(content)
        draft.chmod(path.stat().st_mode & 0o7777)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)

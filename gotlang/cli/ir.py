"""`gotc ir`: the intermediate representation of a program, before or after optimization."""

from __future__ import annotations

import click

from gotlang.cli import options as opt


@click.command("ir")
@click.argument("file")
@opt.level_option
def command(file: str, optimize: int) -> int:
    """Print the intermediate representation of the program FILE (`-` is standard input): names resolved,
    pools explicit, types on every step."""
    from gotlang.cli.inputs import program

    click.echo(program(file).ir_text(optimize), nl=False)
    return 0

"""`gotc ir`: the intermediate form of a program, before or after the optimizer."""

from __future__ import annotations

import click


@click.command("ir")
@click.argument("file")
@click.option(
    "-O",
    "--optimize",
    type=click.IntRange(0, 2),
    metavar="LEVEL",
    default=2,
    help="Optimization: 0 none, 1 fusion, 2 and early stop.",
)
def command(file: str, optimize: int) -> int:
    """Print the intermediate form of the program FILE (`-` is standard input): names resolved, pools
    explicit, types on every step."""
    from gotlang.cli.programs import program
    from gotlang.ir.text import to_text

    click.echo(to_text(program(file).ir(optimize)), nl=False)
    return 0

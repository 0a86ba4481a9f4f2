"""`gotc init`: a small program to start from, which runs without a model."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import final

import click

from gotlang import trust
from gotlang.cli import options as opt
from gotlang.cli.output import say
from gotlang.diagnostics import nearest
from gotlang.errors import UsageError
from gotlang.writing import replace_file


@final
@dataclass(frozen=True, slots=True)
class StarterTemplate:
    """A program to start from: what it shows, and an input to try."""

    shows: str
    example: str


TEMPLATES = {
    "blank": StarterTemplate("one prompt, one call", "question=What is a graph of thoughts?"),
    "vote": StarterTemplate(
        "several samples, the most frequent wins (self-consistency)",
        "question=A cat has 4 legs, an ant has 6. How many have both?",
    ),
    "tree": StarterTemplate("a tree of thoughts: propose, score, keep the best", "goal=learn to bake bread"),
    "graph": StarterTemplate(
        "a graph of thoughts: split, aggregate, improve",
        'paragraphs=["Bees dance. A bee has six legs.", "Ants do not dance. An ant has six legs."]',
    ),
    "sort": StarterTemplate(
        "a graph of thoughts with a local score: sort, merge, repair",
        "numbers=[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4]",
    ),
}


@click.command(
    "init", epilog="\b\nTemplates:\n" + "\n".join(f"  {name:<6} {t.shows}" for name, t in TEMPLATES.items())
)
@click.argument("template", default="blank")
@click.argument("file", required=False)
@opt.flag("--force", "Overwrite existing files.")
def init_command(template: str, file: str | None, force: bool) -> int:
    """Write a small program from TEMPLATE to FILE (default: TEMPLATE.got), with a simulator of its prompts in
    Python next to it, so that it runs without a model. What it makes is trusted (`gotc trust`): a folder that
    was missing or empty, otherwise the file of Python.
    """
    if template not in TEMPLATES:
        near = nearest(template, TEMPLATES)
        raise UsageError(
            f"there is no template `{template}`",
            help=f"did you mean `{near}`?" if near else f"there are {', '.join(TEMPLATES)}",
        )
    path = Path(file or f"{template}.got")
    if path.suffix != ".got":
        raise UsageError(f"invalid file name {path}", help="the file of a program ends in .got")
    stem = re.sub(r"\W", "_", path.stem)
    simulator = path.with_name(f"{stem}_sim.py")
    folder = resources.files("gotlang.cli") / "templates"
    text = (folder / f"{template}.got").read_text("utf-8")
    made = not path.parent.is_dir() or not any(path.parent.iterdir())
    contents = {
        path: text.replace(f'"{template}_sim.py"', f'"{simulator.name}"'),
        simulator: (folder / f"{template}_sim.py").read_text("utf-8"),
    }
    for target in contents:
        if target.exists() and not force:
            raise UsageError(f"{target} already exists", help="name another file, or use --force")
    for target, content in contents.items():
        try:
            replace_file(target, content.encode())
        except OSError as error:
            raise UsageError(f"cannot write {target}: {error.strerror}") from None
    say(f"wrote {path} and {simulator}")
    say(f"{_trust(path.parent if made else simulator)}; try")
    say(f"  gotc run {shlex.quote(str(path))} --input '{TEMPLATES[template].example}'")
    return 0


def _trust(path: Path) -> str:
    """Trust the Python that was written: with its folder if that was made for it, otherwise alone."""
    try:
        trust.grant(path)
    except UsageError as error:
        return f"{path} is not trusted, since {error.message}: run it with `--allow-python`"
    what = "the folder of both" if path.is_dir() else str(path)
    return f"trusted {what}, so that its Python runs (`gotc trust --list`)"

"""`gotc init`: a project folder, with a program, data, a simulator, tests and a study."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import final

import click

from gotlang import trust
from gotlang.cli.output import say
from gotlang.diagnostics import suggestion
from gotlang.disk import in_the_form_of, real_path, replace_file
from gotlang.errors import UsageError, reporting
from gotlang.files import STORED


@final
@dataclass(frozen=True, slots=True)
class StarterTemplate:
    """A project template: a description of its program, its data file, and example inputs."""

    shows: str
    data: str
    example: tuple[str, ...]


TEMPLATES = {
    "classify": StarterTemplate(
        "the team of a support ticket: one call, or a vote of chains of thought",
        "tickets.csv",
        ("ticket=I forgot my password. Where is my parcel?",),
    ),
    "extract": StarterTemplate(
        "an order in a mail as a record: extracted, voted on, checked, repaired",
        "mails.jsonl",
        ("mail=Dear shop, please send 3 lamps today. Yours, Ada Berg",),
    ),
    "rag": StarterTemplate(
        "questions about a folder of pages: retrieved, then answered",
        "questions.csv",
        ("question=Who is the head of the museum of Milltown?",),
    ),
    "sort": StarterTemplate(
        "a graph of thoughts with a local score: sort, merge, repair",
        "digits.csv",
        ("numbers=[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4]",),
    ),
    "tree": StarterTemplate(
        "a tree of thoughts for a puzzle: propose, score, keep the best",
        "puzzles.csv",
        ("start=7", "target=31"),
    ),
    "agent": StarterTemplate(
        "an agent with tools in Python: prices and arithmetic",
        "orders.csv",
        ("question=What do 2 lamps cost?",),
    ),
}
"""The templates by name; each is a folder of `gotlang/cli/templates`."""

TOLD = "\n".join(f"  {name:<8}  {template.shows}" for name, template in TEMPLATES.items())
README = """\
# {name}

{shows}. The program is `{program}`; `simulator.py` responds to its prompts in place of a model, so
that everything here runs offline and free of charge. Its results are simulated, and labelled as such.

```sh
gotc check {program}
gotc test {program}
gotc run {program} {example}
gotc eval {program} --data {data}
gotc compare {program} --data {data}
gotc explain {program}
gotc tune {program}                   # needs pip install 'gotlang[tune]'
```

With a model: `gotc run {program} --model openai:gpt-4o-mini --max-usd 0.10 ...`, its key in `OPENAI_API_KEY`.
The data is made up: replace `{data}` by yours. `gotc docs` shows the documentation.
"""


@click.command("init", epilog=f"\b\nTemplates:\n{TOLD}")
@click.argument("name", required=False)
@click.option("--template", default="classify", metavar="TEMPLATE", help="The template.")
@click.option(
    "--simulator",
    metavar="FILE",
    help="Instead, write a simulator for the program FILE: made-up responses to its prompts.",
)
def init_command(name: str | None, template: str, simulator: str | None) -> int:
    """Create the folder NAME with a program, data, a simulator, tests and a study.

    Without NAME, list the templates. With --simulator, write FILE_sim.py for a program without a simulator,
    so that it runs without a model, and add a line to the program that names it. Existing files are never
    overwritten. The new files are trusted (`gotc trust`): the folder if it was missing or empty, otherwise
    its Python files.
    """
    if simulator is not None:
        return _write_simulator(Path(simulator))
    if template not in TEMPLATES:
        help = suggestion(template, TEMPLATES) or f"there are {', '.join(TEMPLATES)}"
        raise UsageError(f"there is no template `{template}`", help=help)
    if name is None:
        say("templates of `gotc init NAME --template TEMPLATE`:")
        say(TOLD)
        return 0
    folder, chosen = Path(name), TEMPLATES[template]
    with reporting(f"cannot make {folder}"):
        made = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    contents = dict(_contents(template))
    contents[PurePosixPath("README.md")] = _readme(folder, template, chosen).encode()
    contents[PurePosixPath(".gitignore")] = b".gotc/\n__pycache__/\n*.tuned.json\n"
    for path in contents:
        if (folder / path).exists() or (folder / path).is_symlink():
            raise UsageError(
                f"{folder / path} already exists", help="name another folder: nothing is overwritten"
            )
    for path, content in contents.items():
        with reporting(f"cannot write {folder / path}"):
            replace_file(folder / path, content)
    say(f"wrote {len(contents)} files to {folder}: {template}.got, {chosen.data}, README.md, ...")
    for one in [folder] if made else [folder / path for path in contents if path.suffix == ".py"]:
        say(_trust(one))
    if name != ".":
        say(f"  cd {shlex.quote(str(folder))}")
    say(f"  gotc run {template}.got {_inputs(chosen)}")
    return 0


def _write_simulator(path: Path) -> int:
    """Write a simulator beside a program, and the line that names it into the program."""
    from gotlang.api import load
    from gotlang.simulator import simulator_text

    if path.name.endswith(STORED):
        raise UsageError(f"{path} is not the text of a program", help="name a file that ends in .got")
    program = load(path)
    target = path.with_name(f"{path.stem}_sim.py")
    if program.ir(0).simulators or not program.prompts:
        what = "has a simulator" if program.ir(0).simulators else "has no prompts"
        raise UsageError(f"{path} {what}: there is nothing to write")
    if target.exists() or target.is_symlink():
        line = f'simulate with "{target.name}"'
        raise UsageError(f"{target} already exists", help=f"use it: write `{line}` in {path.name}")
    lines = program.compilation.source.text.splitlines(keepends=True)
    comments = list(takewhile(lambda line: line.startswith("#"), lines))
    rest = "".join(lines[len(comments) :]).lstrip("\n")
    head = "".join(comments) + "\n" * bool(comments)
    text = f'{head}simulate with "{target.name}"\n\n{rest}'
    with reporting(f"cannot write {target}"):
        replace_file(target, simulator_text(program.ir(0), path.name).encode())
    with reporting(f"cannot write {path}"):
        replace_file(path, in_the_form_of(path.read_bytes(), text))
    say(f'wrote {target}, and `simulate with "{target.name}"` at the top of {path}')
    say(_trust(target))
    say(f"  gotc run {shlex.quote(str(path))} --model simulated ...")
    return 0


def _contents(template: str) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The files of a template by their paths in it."""

    def below(folder: Traversable, at: PurePosixPath) -> Iterator[tuple[PurePosixPath, bytes]]:
        for one in sorted(folder.iterdir(), key=lambda one: one.name):
            if one.is_dir() and one.name != "__pycache__":
                yield from below(one, at / one.name)
            elif one.is_file():
                yield at / one.name, one.read_bytes()

    return below(resources.files("gotlang.cli") / "templates" / template, PurePosixPath())


def _readme(folder: Path, template: str, chosen: StarterTemplate) -> str:
    return README.format(
        name=real_path(folder).name,
        shows=chosen.shows[0].upper() + chosen.shows[1:],
        program=f"{template}.got",
        data=chosen.data,
        example=_inputs(chosen),
    )


def _inputs(template: StarterTemplate) -> str:
    """The options that give the example inputs."""
    return " ".join(f"--input '{one}'" if " " in one else f"--input {one}" for one in template.example)


def _trust(path: Path) -> str:
    """Trust the Python files that were written."""
    try:
        trust.grant(path)
    except UsageError as error:
        return f"{path} is not trusted, since {error.message}: run it with `--allow-python`"
    return f"trusted {path}, so that its Python runs (`gotc trust --list`)"

"""Studies from Python: `program.tune(data="rows.csv", minimize="error(result, target)", ...)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gotlang.errors import UsageError
from gotlang.files import compile_in, read_source
from gotlang.options import Options
from gotlang.program import CheckedProgram
from gotlang.span import Source
from gotlang.syntax.texts import quote
from gotlang.tune.driver import FOLDER, Studied, tune
from gotlang.tune.plan import plan_of
from gotlang.tune.texts import literal

NAME = "tuned"


def tune_program(
    program: CheckedProgram,
    *,
    data: str,
    minimize: str | None = None,
    maximize: str | None = None,
    subject_to: Sequence[str] = (),
    vary: Sequence[str] = (),
    prompts: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    scheme: str | None = None,
    train: int | None = None,
    test: int | None = None,
    options: Options | None = None,
    folder: Path | None = FOLDER,
    **settings: Any,
) -> Studied:
    """Run a study of a program, as `gotc tune` does.

    Expressions are texts as a study writes them: `minimize="mistakes(result, numbers)"`, `subject_to=["cost
    <= baseline"]`, `vary=["tries in 1..5"]`, `prompts={"repair": "copro(breadth=8)"}`. `columns` names the
    column of an input. Further settings are those of a study: `trials=50`, `budget=2.0`, `sampler="gp"`.
    `data` is a path as seen from the program's file. `folder` None keeps nothing.

    Raises CompileError with every mistake in them, and what `gotlang.tune.driver.tune` raises.
    """
    source = program.compilation.source
    parts = [f"data {quote(data)}"]
    if columns:
        parts[0] += " (" + ", ".join(f"{name} = {quote(c)}" for name, c in columns.items()) + ")"
    parts[0] += "".join(f", {name} {n}" for name, n in (("train", train), ("test", test)) if n is not None)
    parts += [f"{word} {text}" for word, text in (("minimize", minimize), ("maximize", maximize)) if text]
    parts += [f"subject to {text}" for text in subject_to]
    parts += [f"vary {text}" for text in vary]
    parts += [f"prompts {name} with {text}" for name, text in (prompts or {}).items()]
    for name, value in settings.items():
        method = name in {"sampler", "race"} and isinstance(value, str)
        parts.append(f"{name} {value if method else literal(value)}")
    if broken := [part for part in parts if "\n" in part]:
        raise UsageError(f"`{broken[0].splitlines()[0]} ...` must stand on one line")
    own = source.text
    if scheme is not None and program.scheme(scheme).name != program.scheme().name:
        # A study in its program is about the default scheme. One beside it can name another.
        parts.insert(0, f"program {quote(_file_of(source))} scheme {scheme}")
        own = ""
    text = own + f"\nstudy {NAME}:\n" + "".join(f"    {part}\n" for part in parts)
    place = Path(source.name).resolve().parent if Path(source.name).exists() else Path.cwd()
    compiled = compile_in(Source.of(source.name, text), place).compiled()
    return tune(plan_of(compiled, place, NAME), options, folder=folder)


def _file_of(source: Source) -> str:
    """The name of the file that holds a program as it is. Raises UsageError where none does."""
    path = Path(source.name)
    if not path.is_file() or read_source(source.name).text != source.text:
        raise UsageError(
            "only a program that stands in a file can be tuned for another scheme than its default",
            help="write it to a file, or leave `scheme` out",
        )
    return path.name

"""What a study writes into a program: what was tuned, nothing else, in canonical form."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gotlang.api import Program, load
from gotlang.errors import CompileError
from gotlang.ir.program import Param
from gotlang.syntax.format import format_module
from gotlang.tune.texts import Texts, shot
from gotlang.tune.tuned import Tuned, apply

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted(p for p in (ROOT / "programs").glob("*.got") if "\nparam " in p.read_text())


def canonical(program: Program) -> bool:
    compilation = program.compilation
    sources = [compilation.sources[module.span.source] for module in compilation.modules]
    return all(
        format_module(module, source) == source.text
        for module, source in zip(compilation.modules, sources, strict=True)
    )


def another(param: Param, rng: random.Random) -> Any:
    """Another value of a param, from its range."""
    domain = param.domain
    if domain is None:
        return param.default
    if domain.choices:
        return rng.choice(domain.choices)
    low, high = domain.low, domain.high
    whole = isinstance(low, int) and isinstance(high, int)
    values = [rng.randint(low, high) if whole else rng.uniform(low, high) for _ in range(3)]
    return values[: len(param.default)] if isinstance(param.default, list) else values[0]


def squeezed(text: str) -> list[str]:
    """Lines without what a column is filled with."""
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_params_are_written_and_nothing_else(path: Path, tmp_path: Path) -> None:
    for file in path.parent.rglob("*.*"):
        if file.suffix in {".got", ".py"} and "data" not in file.parts:
            (tmp_path / file.relative_to(path.parent)).parent.mkdir(exist_ok=True)
            shutil.copy(file, tmp_path / file.relative_to(path.parent))
    rng = random.Random(path.name)
    for _ in range(5):
        copy = shutil.copy(path, tmp_path)
        before = load(copy)
        assert canonical(before)
        params = {p.name: another(p, rng) for p in before.ir(0).params}
        try:
            apply(before, Tuned(before.name, "", params))
        except CompileError:
            assert Path(copy).read_text() == path.read_text()  # a combination the program does not allow
            continue
        after = load(copy)
        assert canonical(after)
        assert {p.name: p.default for p in after.ir(0).params} == params
        old, new = squeezed(path.read_text()), squeezed(Path(copy).read_text())
        assert len(old) == len(new)
        assert all(a.startswith("param ") for a, b in zip(old, new, strict=True) if a != b)


def test_a_diff_of_a_few_lines(tmp_path: Path) -> None:
    for name in ("sorting.got", "sorting_sim.py"):
        shutil.copy(ROOT / "programs" / name, tmp_path)
    program = load(tmp_path / "sorting.got")
    texts = {"merge": Texts('Merge them\nas "one".', (shot({"left": [1], "right": [0]}, [0, 1]),))}
    apply(program, Tuned("sorting", "got_rounds", {"sort_tries": 2, "merge_tries": 9, "rounds": 1}, texts))
    command = [
        "git",
        "diff",
        "--no-index",
        "--numstat",
        str(ROOT / "programs" / "sorting.got"),
        "sorting.got",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    added, removed, _ = done.stdout.split(maxsplit=2)
    assert (int(added), int(removed)) == (2 + 2 + 1, 2 + 4 + 1)  # two params, an instruction, an example
    after = load(tmp_path / "sorting.got")
    assert canonical(after)
    assert after.ir(0).prompt("merge").instruction == 'Merge them\nas "one".'
    assert after.run(numbers=[3, 1, 2] * 11, scheme="got_rounds").value is not None


def test_a_file_that_was_not_canonical_keeps_its_form(tmp_path: Path) -> None:
    text = 'param n  =  2 in 1..30\nparam  m = 1\nprompt p(x: int) -> int:\n      "{{ x }}"\n'
    text += "scheme s(x: int) -> int:\n      Generate(k=n) p(x)\n      Vote()\n"
    (tmp_path / "s.got").write_text(text)
    apply(load(tmp_path / "s.got"), Tuned("s", "s", {"n": 12, "m": 1}))
    assert (tmp_path / "s.got").read_text() == text.replace("n  =  2 in", "n  =  12 in")

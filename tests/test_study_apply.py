"""What a study writes into a program: what was tuned, nothing else, in canonical form.

LAWS=20 python -m pytest tests/test_study_apply.py     # so many points of each program
"""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.laws import times

from gotlang.api import Program, load
from gotlang.errors import CompileError, UsageError
from gotlang.ir.evaluate import evaluate
from gotlang.ir.program import Param
from gotlang.syntax.format import format_expression, format_module
from gotlang.tune.plan import plan_of
from gotlang.tune.tuned import PromptTexts, Shot, Tuned, apply, tuned

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted(p for p in (ROOT / "programs").glob("*.got") if "\nparam " in p.read_text())


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the folder of all programs."""
    return shutil.copytree(PROGRAMS[0].parent, tmp_path_factory.mktemp("copied"), dirs_exist_ok=True)


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
def test_params_are_written_and_nothing_else(path: Path, programs: Path) -> None:
    rng = random.Random(path.name)
    for _ in range(times(2)):
        copy = shutil.copy(path, programs)
        before = load(copy)
        assert canonical(before)
        # What is imported by name is another file's.
        params = {p.name: another(p, rng) for p in before.ir(0).params if "__" not in p.name}
        try:
            apply(before, Tuned(before.name, "", params))
        except CompileError:
            assert Path(copy).read_text() == path.read_text()  # a combination the program does not allow
            continue
        after = load(copy)
        assert canonical(after)
        assert {p.name: p.default for p in after.ir(0).params if "__" not in p.name} == params
        old, new = squeezed(path.read_text()), squeezed(Path(copy).read_text())
        assert len(old) == len(new)
        assert all(a.startswith("param ") for a, b in zip(old, new, strict=True) if a != b)


def test_a_diff_of_a_few_lines(tmp_path: Path) -> None:
    for name in ("sorting.got", "sorting_sim.py", "readers.py"):
        shutil.copy(ROOT / "programs" / name, tmp_path)
    program = load(tmp_path / "sorting.got")
    texts = {"merge": PromptTexts('Merge them\nas "one".', (Shot({"left": [1], "right": [0]}, [0, 1]),))}
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
    assert after.ir(0).prompt("merge").instruction.text == 'Merge them\nas "one".'
    assert after.run(numbers=[3, 1, 2] * 11, scheme="got_rounds").value is not None


def test_a_file_that_was_not_canonical_keeps_its_form(tmp_path: Path) -> None:
    text = 'param n  =  2 in 1..30\nparam  m = 1\nprompt p(x: int) -> int:\n      "{{ x }}"\n'
    text += "scheme s(x: int) -> int:\n      Generate(k=n) p(x)\n      Vote()\n"
    (tmp_path / "s.got").write_text(text)
    apply(load(tmp_path / "s.got"), Tuned("s", "s", {"n": 12, "m": 1}))
    assert (tmp_path / "s.got").read_text() == text.replace("n  =  2 in", "n  =  12 in")


ASKS = """\
prompt double(number: int) -> int:
    # How warm?
    temperature 0.5
    system "You double."
    "{{ number }}"

prompt other(number: int) -> int:
    "{{ number }}"

prompt halve(number: int) -> int:
    examples:
        number = 4 -> 2
    instruction \"\"\"
    Halve it.
    \"\"\"
    "{{ number }}"

scheme both(number: int) -> int:
    twice = Generate() double(number)
    Generate() halve(twice)
"""


def test_settings_that_were_tuned_are_written_where_they_are_asked_with(tmp_path: Path) -> None:
    path = tmp_path / "both.got"
    path.write_text(ASKS)
    found = Tuned("both", "both", settings={"temperature": 0.25, "model": "small", "concurrency": 2})
    made = tuned(load(path), found).ir(0)
    asked = {p.name: {name: evaluate(value, {}) for name, value in p.settings} for p in made.prompts}
    both = {"temperature": 0.25, "model": "small"}
    assert asked == {"double": both, "other": {}, "halve": both}
    assert apply(load(path), found) == [path]
    assert canonical(load(path))
    gone = [line for line in ASKS.splitlines() if line not in path.read_text().splitlines()]
    come = [line for line in path.read_text().splitlines() if line not in ASKS.splitlines()]
    assert gone == ["    temperature 0.5"]
    assert come == ["    temperature 0.25", '    model "small"', "    temperature 0.25", '    model "small"']


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "mark"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_a_file_keeps_its_mark_its_line_ends_and_its_permissions(
    tmp_path: Path, mark: bytes, end: bytes
) -> None:
    path = tmp_path / "p.got"
    text = 'param tries = 2\nprompt ask(x: int) -> int:\n    "{{ x }}"\n'
    path.write_bytes(mark + text.encode().replace(b"\n", end))
    path.chmod(0o640)
    assert apply(load(path), Tuned("p", "", {"tries": 3})) == [path]
    assert path.read_bytes() == mark + text.replace("= 2", "= 3").encode().replace(b"\n", end)
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_tuned_of_an_imported_file_is_written_into_it(tmp_path: Path) -> None:
    (tmp_path / "lib.got").write_text(
        "param tries = 2 in 1..4\n\n"
        'prompt guess(n: int) -> int:\n    temperature 0.8\n    instruction "Guess."\n    "{{ n }}"\n\n'
        "score off(x: int, n: int) -> lower, best 0:\n    abs(x - n)\n"
    )
    main = (
        'import "lib.got" as lib\nfrom std.vote import self_consistency\n\n'
        "param tries = 1 in 1..3\n\nfunction twice(x: float) -> float = x * 2\n\n"
        "scheme main(n: int) -> int:\n    Generate(k=lib.tries + tries) lib.guess(n)\n"
        "    Score() lib.off(it, n)\n    KeepBestN(1)\n\n"
        "scheme other(n: int) -> str:\n    self_consistency(str(n))\n\n"
        'study s:\n    scheme main\n    data "d.csv"\n    minimize twice(lib.off(result, n))\n'
        "    vary lib__tries, tries\n    prompts lib__guess with copro\n    budget 1.00\n"
    )
    (tmp_path / "main.got").write_text(main)
    program = load(tmp_path / "main.got")
    (objective,) = plan_of(program.compilation, tmp_path).objectives
    assert objective.text == "twice(lib.off(result, n))"
    assert format_expression(objective.expression) == "lib__off(result, n) * 2"
    texts = {"lib__guess": PromptTexts("Guess again.")}
    found = Tuned("main", "main", {"lib__tries": 3, "tries": 2}, texts, {"lib__guess.temperature": 0.5})
    assert {p.name: p.default for p in tuned(program, found).ir(0).params} == {"lib__tries": 3, "tries": 2}
    assert apply(program, found) == [tmp_path / "main.got", tmp_path / "lib.got"]
    text = (tmp_path / "lib.got").read_text()
    assert "tries = 3 in" in text and "temperature 0.5" in text and '"Guess again."' in text
    assert (tmp_path / "main.got").read_text() == main.replace("tries = 1 in", "tries = 2 in")
    again = load(tmp_path / "main.got")
    other = Tuned("main", "other", {}, {"vote__reason": PromptTexts("Think.")})
    assert "Think." in tuned(again, other).ir_text(0)
    with pytest.raises(UsageError, match="belongs to a package"):
        apply(again, other)

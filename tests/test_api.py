"""The Python API: run, evaluate, compare, tune and plot, from a script, with `await`, and in a notebook."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from support.gotc import environment

import gotlang
from gotlang import Options, SimulatedWarning, UsageError
from gotlang.models.simulated import SimulatedModel

GUESS = """\
simulate with "guess_sim.py"

param style = "plain" in ["plain", "exact"]

prompt guess(target: int, style: str) -> int:
    "Say {{ target }}, {{ style }}."

scheme once(target: int) -> int:
    Generate() guess(target, style)
    Score() abs(it - target)

scheme twice(target: int) -> int:
    Generate(k=2) guess(target, style)
    Score() abs(it - target)
    KeepBestN(1)
"""
GUESS_SIM = """\
def guess(rng, target, style):
    return str(target + (rng.randrange(-3, 4) if style == "plain" else 0))
"""
ROWS = "target\n" + "".join(f"{number}\n" for number in range(10, 22))
STUDY: dict[str, Any] = {"minimize": "abs(result - target)", "scheme": "once", "trials": 2, "folder": None}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "guess.got").write_text(GUESS)
    (tmp_path / "guess_sim.py").write_text(GUESS_SIM)
    (tmp_path / "rows.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


SIMULATED = Options(model="simulated")


def check(result: Any, evaluation: Any, comparison: Any, study: Any, plot: Any) -> None:
    """What all three ways must give."""
    assert isinstance(result, gotlang.Result) and isinstance(result.value, int)
    assert (result.calls, result.cached, result.requests, result.simulated) == (2, 0, 1, True)
    assert result.cost > 0 and result.score is not None
    assert isinstance(evaluation, gotlang.Evaluation) and evaluation.row_count == 12
    assert isinstance(comparison, gotlang.Comparison)
    assert [entry.name for entry in comparison.entries] == ["once", "twice"]
    assert isinstance(study, gotlang.StudyResult) and study.tuned.params == {"style": "exact"}
    assert plot.svg.startswith("<svg")
    for found in (result, evaluation, comparison, study):
        assert len(repr(found)) < 600 and "\n" not in repr(found)
        assert "simulated" in repr(found)
        assert found._repr_html_().startswith("<table")
        json.dumps(found.to_dict(), default=str)
        assert len(found.to_pandas())


def test_a_script_does_all_five(folder: Path) -> None:
    program = gotlang.load("guess.got")
    check(
        program.run(target=7, scheme="twice", options=SIMULATED),
        program.evaluate("rows.csv", scheme="once", options=SIMULATED),
        program.compare("rows.csv", options=SIMULATED),
        program.tune("rows.csv", options=SIMULATED, **STUDY),
        gotlang.plot(program, scheme="once"),
    )


def test_the_same_with_await(folder: Path) -> None:
    async def work() -> None:
        program = gotlang.load("guess.got")
        check(
            await program.arun(target=7, scheme="twice", options=SIMULATED),
            await program.aevaluate("rows.csv", scheme="once", options=SIMULATED),
            await gotlang.acompare("guess.got", "rows.csv", options=SIMULATED),
            await gotlang.atune(program, "rows.csv", options=SIMULATED, **STUDY),
            gotlang.plot("guess.got", scheme="once"),
        )
        # The blocking twins work in a running loop too.
        assert program.run(target=7, options=SIMULATED).simulated
        assert gotlang.evaluate(program, [{"target": 3}], options=SIMULATED).row_count == 1

    asyncio.run(work())


CELLS = [
    "import gotlang\nprogram = gotlang.load('guess.got')\nprogram",
    "result = program.run(target=7)\nresult",
    "evaluation = program.evaluate('rows.csv', scheme='once')\nevaluation",
    "comparison = program.compare('rows.csv')\ncomparison",
    f"study = program.tune('rows.csv', **{STUDY})\nstudy",
    "gotlang.plot(result)",
    "gotlang.plot(comparison).save('comparison.svg')",
    "awaited = await program.arun(target=7)\nassert awaited.value == result.value and awaited.cached == 2",
]


def test_a_notebook_does_all_five(folder: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    assert max(cell.count("\n") for cell in CELLS) < 15
    env = environment(HOME=str(folder), JUPYTER_PLATFORM_DIRS="1", IPYTHONDIR=str(folder / "ipython"))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute(env=env)
    outputs = [cell.outputs for cell in notebook.cells]
    shown = [[o for o in found if o.output_type == "execute_result"] for found in outputs]
    assert "<Program guess: schemes once, twice>" in shown[0][0].data["text/plain"]
    assert "scheme twice</th><td>(target: int) -&gt; int" in shown[0][0].data["text/html"]
    for (found,) in shown[1:5]:
        assert "simulated" in found.data["text/plain"] and "<table" in found.data["text/html"]
    assert "<svg" in shown[5][0].data["image/svg+xml"]
    assert (folder / "comparison.svg").is_file()
    assert (folder / ".gotc" / "cache.sqlite").is_file()  # the persistent cache, as with the command
    told = [o.text for found in outputs for o in found if o.output_type == "stream"]
    assert sum("SimulatedWarning: no model is configured" in text for text in told) == 5


async def awaited(program: gotlang.Program) -> gotlang.Result:
    return await program.arun(target=7)


def test_simulated_responses_warn_once_a_call_where_no_model_was_chosen(folder: Path) -> None:
    program = gotlang.load("guess.got")
    with pytest.warns(SimulatedWarning, match="no model is configured") as told:
        result = program.run(target=7)
    assert [warning.filename for warning in told] == [__file__]
    assert "(simulated)" in repr(result)
    with pytest.warns(SimulatedWarning) as told:
        asyncio.run(awaited(program))
    assert [warning.filename for warning in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program.run(target=7, options=SIMULATED)
        program.run(target=7, options=Options(model=SimulatedModel({"guess": lambda rng, **_: "7"})))


def test_defaults_are_those_of_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    for name in ("OPENAI_API_KEY", "OPENAI_MODEL", "GOTC_RUN_MODEL"):
        monkeypatch.delenv(name, raising=False)
    program = gotlang.load("guess.got")
    assert (Options().chosen_model, str(Options().chosen_cache)) == ("simulated", ".gotc/cache.sqlite")
    assert program.run(target=7, options=SIMULATED).cached == 0
    assert program.run(target=7, options=SIMULATED).cached == 2
    assert program.run(target=7, options=Options(model="simulated", cache=None)).cached == 0
    assert Options(model=SimulatedModel({})).chosen_cache is None  # its name does not identify its responses
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    monkeypatch.setenv("OPENAI_MODEL", "a-model")
    assert Options().chosen_model == "openai:a-model"
    (folder / "gotc.toml").write_text('model = "openai:one"\nmax-usd = 0.5\n[run]\nseed = 3\n')
    assert (Options().chosen_model, Options().max_usd, Options().seed) == ("openai:one", 0.5, 3)
    assert Options(max_usd=None).max_usd is None
    monkeypatch.setenv("GOTC_RUN_MODEL", "openai:two")
    monkeypatch.setenv("GOTC_RUN_NO_CACHE", "1")
    assert (Options().chosen_model, Options().chosen_cache) == ("openai:two", None)
    monkeypatch.setenv("GOTC_RUN_SEED", "x")
    with pytest.raises(gotlang.UsageError, match="seed: `x` is not a number"):
        Options()


def test_parts_of_a_program_and_wrong_arguments(folder: Path) -> None:
    program = gotlang.load("guess.got")
    assert (list(program.schemes), list(program.params), list(program.prompts)) == (
        ["once", "twice"],
        ["style"],
        ["guess"],
    )
    with pytest.raises(
        TypeError, match=r"inputs are given by name, as in run\(target=\.\.\.\), not as a list"
    ):
        program.run([3, 1, 2], options=SIMULATED)  # type: ignore[arg-type]
    with pytest.raises(gotlang.UsageError, match="has no input `targt`"):
        program.run(targt=3, options=SIMULATED)
    with pytest.raises(TypeError, match="cannot plot int"):
        gotlang.plot(3)
    assert list(inspect.signature(gotlang.evaluate).parameters)[1:4] == ["data", "scheme", "columns"]
    assert "one row" not in (program.run.__doc__ or "") and program.run.__name__ == "run"


def test_rows_may_be_mappings_or_a_data_frame(folder: Path) -> None:
    program, rows = gotlang.load("guess.got"), [{"target": 3}, {"target": 4}]
    found = [program.evaluate(rows, options=SIMULATED)]
    import pandas

    found.append(program.evaluate(pandas.DataFrame(rows), options=SIMULATED))
    found.append(program.evaluate("rows.csv", limit=2, options=SIMULATED))
    assert [one.row_count for one in found] == [2, 2, 2]
    assert found[0].to_pandas().equals(found[1].to_pandas())


def test_importing_the_package_is_light_and_hides_no_function() -> None:
    heavy = (
        "aiohttp",
        "openai",
        "httpx2",
        "jinja2",
        "rich",
        "optuna",
        "dspy",
        "asyncio",
        "click",
        "lark",
        "pandas",
    )
    code = (
        "import sys, gotlang\n"
        f"assert not [m for m in {heavy} if m in sys.modules]\n"
        "import gotlang.evaluate.rows, gotlang.tune.plan\n"
        "assert callable(gotlang.evaluate) and callable(gotlang.tune) and 'tune' in dir(gotlang)\n"
        "assert all(getattr(gotlang, name) for name in gotlang.__all__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


USER = """\
import gotlang

program = gotlang.load("guess.got")
value: int = program.run(target=7).calls
reveal_type(gotlang.run("guess.got", {"target": 7}, options=gotlang.Options(seed=3)))
reveal_type(program.evaluate("rows.csv", repeat=2).to_dict())
reveal_type(gotlang.compare(program, [{"target": 7}]))
reveal_type(gotlang.tune)

async def main() -> None:
    reveal_type(await program.aevaluate("rows.csv"))

program.evaluate("rows.csv", nonsense=3)
wrong: str = program.run().calls
"""


def test_types_of_the_api_are_known_downstream(folder: Path) -> None:
    (folder / "user.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "user.py"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)
    told = done.stdout
    for line, word in (
        (5, "gotlang.result.Result"),
        (6, "dict[str, Any]"),
        (7, "gotlang.evaluate.comparison.Comparison"),
        (8, "StudyResult"),
        (11, "gotlang.evaluate.evaluation.Evaluation"),
        (13, 'Unexpected keyword argument "nonsense"'),
        (14, "Incompatible types in assignment"),
    ):
        assert any(f"user.py:{line}:" in one and word in one for one in told.splitlines()), (line, told)
    assert "Found 2 errors in 1 file" in told


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_no_input(value: float) -> None:
    one = gotlang.compile("scheme main(x: float) -> float:\n    Pool() x\n")
    several = gotlang.compile("scheme main(x: list[float?]) -> list[float?]:\n    Pool() x\n")
    for program, given in ((one, value), (several, [1.0, value])):
        with pytest.raises(UsageError, match=r"expected float, found (nan|inf)"):
            program.run(x=given)

"""A program's own Python, in every place where it is called: for any behavior, the run ends with a report."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gotlang.api import Options, compile, load
from gotlang.errors import CompileError, RunError, UsageError
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result

PLACES = {
    "Call": "Call f(x)",
    "an expression": "Map() f(x)",
    "a condition": "Pool() x\nSelect() f(x)",
    "a score": "Pool() x\nScore() f(it)\nKeepBestN(1)",
    "a declared score": "Pool() x\nScore() rated(it)\nKeepBestN(1)",
    "a weight": "Pool() x\nVote(weight=f(it))",
    "a validation": "Pool() x\nValidate() f(it)\nKeepValid()",
    "a reader": "Generate() read(x)",
    "how often": "Pool() x\nrepeat f(x):\n    Map() it",
    "a list to go through": "foreach y in f(x):\n    Pool() y",
    "a branch": "Pool() x\nif f(x):\n    Map() it",
    "a setting": "Generate(k=f(x)) plain(x)",
    "a prompt's argument": "Generate() plain(f(x))",
}

RETURNS = {
    "a condition": "bool",
    "a score": "float",
    "a declared score": "float",
    "a weight": "float",
    "a validation": "bool",
    "how often": "int",
    "a list to go through": "list[any]",
    "a branch": "bool",
    "a setting": "int",
}
"""What the program says that `f` returns there; elsewhere it may be anything."""

TEXT = """
import python "tools.py": f
prompt plain(x: any) -> any:
    "{{ x }}"
prompt read(x: any) -> any:
    parse with f
    "{{ x }}"
scheme main(x: int) -> many any:
"""

CALLED = TEXT.replace("    parse with f\n", "")
"""The same for an async function, which cannot read responses."""

SIMULATORS: dict[str, Callable[..., str]] = {"plain": lambda rng, x: "1", "read": lambda rng, x: "1"}


def go(tmp_path: Path, function: str, place: str = "Call", **options: Any) -> Result | RunError:
    """A run of a program with a function `f` whose body is given."""
    body = "\n".join("    " + line for line in function.strip().splitlines())
    (tmp_path / "tools.py").write_text(f"import asyncio, math, sys, time\n\ndef f(x):\n{body}\n")
    lines = "\n".join("    " + line for line in PLACES[place].splitlines())
    text = TEXT.replace(": f\n", f": f -> {RETURNS.get(place, 'any')}\n")
    rated = "score rated(x: any) -> higher:\n    f(x)\n" if place == "a declared score" else ""
    (tmp_path / "main.got").write_text(f"{text}{lines}\n{rated}")
    given = Options(model=SimulatedModel(SIMULATORS), **options)
    try:
        return load(tmp_path / "main.got").run(x=1, options=given)
    except RunError as error:
        return error


MISTAKES = {
    "raises": ("raise ValueError('no luck')", "`f` raised ValueError: no luck ("),
    "ends the process": ("sys.exit(3)", "`f` raised SystemExit: 3"),
    "is cancelled": ("raise asyncio.CancelledError()", "`f` raised CancelledError ("),
    "ends a generator": ("raise GeneratorExit()", "`f` raised GeneratorExit ("),
    "raises a kind of its own": ("raise type('Own', (BaseException,), {})('no')", "`f` raised Own: no ("),
    "a number without end": ("return 1 << 20_000", "`f` returned a number of more than 4,096 bits"),
    "recurses": ("return f(x)", "`f` raised RecursionError"),
    "takes other arguments": ("return f(1, 2)", "`f` raised TypeError"),
    "a set": ("return {1, 2}", "`f` returned a set, which is not a value of the language"),
    "itself": ("return f", "`f` returned a function, which is not a value of the language"),
    "bytes": ("return b'1'", "`f` returned a bytes, which is not a value"),
    "keys that are no texts": ("return {1: 2}", "`f` returned a dict, which is not a value"),
    "a generator": ("return (y for y in [1])", "`f` returned a generator, which is not a value"),
    "a list in itself": ("a = []\na.append(a)\nreturn a", "`f` returned a value that is nested too deeply"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_goes_wrong_is_told_with_its_place(tmp_path: Path, place: str, mistake: str) -> None:
    body, message = MISTAKES[mistake]
    found = go(tmp_path, body, place)
    assert isinstance(found, RunError), found
    told = [found.message, *(failure.reason for failure in found.failures)]
    assert any(message in text for text in told), told
    assert all(failure.span.source.endswith("main.got") and failure.operation for failure in found.failures)
    assert all("internal error" not in text for text in told)
    if mistake == "raises":
        assert any("tools.py:4)" in text for text in told)


@pytest.mark.parametrize("value", ["float('nan')", "'high'", "None", "[1]", "True", "10 ** 900"])
@pytest.mark.parametrize("place", ["a score", "a declared score", "a weight"])
def test_a_score_that_is_no_number_is_a_failure(tmp_path: Path, place: str, value: str) -> None:
    found = go(tmp_path, f"return {value}", place)
    assert isinstance(found, RunError), found
    told = ("did not return float", "not a number", "returned a number of more than")
    assert any(part in found.message for part in told), found.message


@pytest.mark.parametrize(
    ("value", "length"),
    [("list(range(300_000))", 300_000), ("'x' * 3_000_000", 3_000_000), ("10 ** 900", 901)],
)
def test_large_values_are_values(tmp_path: Path, value: str, length: int) -> None:
    found = go(tmp_path, f"return {value}")
    assert isinstance(found, Result), found
    (given,) = found.value
    assert len(str(given) if isinstance(given, int) else given) == length


def test_what_a_function_does_to_its_arguments_stays_with_it(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def f(xs):\n    xs.clear()\n    return 1\n")
    (tmp_path / "main.got").write_text(
        'import python "tools.py": f\nscheme main(xs: list[int]) -> many any:\n'
        "    a = Map() xs\n    Call f(a)\n    Pool() it, a\n"
    )
    given = Options(model=SimulatedModel({}))
    assert load(tmp_path / "main.got").run(xs=[1, 2], options=given).value == [1, [1, 2]]


@pytest.mark.parametrize("virtual", [True, False])
@pytest.mark.parametrize("hangs", ["time.sleep(30)", "while True:\n    time.sleep(0.01)"])
def test_a_call_that_hangs_is_given_up(tmp_path: Path, hangs: str, virtual: bool) -> None:
    (tmp_path / "main.got").write_text(f"{TEXT}    Call f(x)\n")
    (tmp_path / "tools.py").write_text(
        "import time\ndef f(x):\n" + "\n".join("    " + line for line in hangs.splitlines()) + "\n"
    )
    started = time.monotonic()
    program, options = load(tmp_path / "main.got"), Options(model=SimulatedModel(SIMULATORS), timeout=0.05)
    with pytest.raises(RunError, match=r"`f` took longer than 0.05 s"):
        if virtual:
            program.run(x=1, options=Options(model="simulated", timeout=0.05, python=True))
        else:
            asyncio.run(program.arun(x=1, options=options))
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("place", [place for place in PLACES if place != "Call"])
def test_an_endless_function_in_an_expression_is_ended(tmp_path: Path, place: str) -> None:
    found = go(tmp_path, "while True:\n    pass", place, timeout=0.05)
    assert isinstance(found, RunError)
    assert "`f` took longer than 0.05 s" in found.message + str(found.failures)


@pytest.mark.parametrize(
    "body",
    [
        "time.sleep(30)",
        "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
        "try:\n    time.sleep(30)\nexcept Exception:\n    pass",
    ],
)
def test_waiting_and_matching_are_interrupted_too(tmp_path: Path, body: str) -> None:
    found = go(tmp_path, body, "an expression", timeout=0.05)
    assert isinstance(found, RunError)
    assert "`f` took longer than 0.05 s" in found.message


def test_an_alarm_of_the_caller_is_kept(tmp_path: Path) -> None:
    rang: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rang.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        go(tmp_path, "time.sleep(0.3)\nreturn 1", "an expression")
        assert rang == [1]  # during the function
        signal.setitimer(signal.ITIMER_REAL, 30)
        go(tmp_path, "return 1", "an expression")
        assert 0 < signal.setitimer(signal.ITIMER_REAL, 0)[0] <= 30
    finally:
        assert signal.signal(signal.SIGALRM, before) is not signal.SIG_DFL


def test_an_async_call_that_hangs_is_cancelled(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(
        "import asyncio\nleft = []\nasync def f(x):\n    try:\n        await asyncio.sleep(30)\n"
        "    finally:\n        print('let go')\n"
    )
    (tmp_path / "main.got").write_text(f"{CALLED}    Call f(x)\n")
    options = Options(model=SimulatedModel(SIMULATORS), timeout=0.05)
    with pytest.raises(RunError, match=r"`f` took longer than 0.05 s"):
        asyncio.run(load(tmp_path / "main.got").arun(x=1, options=options))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("raise Own('no')", r"Own: no \(.*tools.py:7\)"),
        ("raise TimeoutError('mine')", r"TimeoutError: mine \(.*tools.py:7\)"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise asyncio.CancelledError()", "CancelledError"),
        ("asyncio.current_task().cancel(); await asyncio.sleep(30)", "CancelledError"),
    ],
)
def test_whatever_an_async_call_raises_is_a_failure(tmp_path: Path, line: str, told: str) -> None:
    own = "class Own(BaseException):\n    pass\n"
    (tmp_path / "tools.py").write_text(f"import asyncio\n\n{own}\nasync def f(x):\n    {line}\n")
    (tmp_path / "main.got").write_text(f"{CALLED}    Call f(x)\n")
    with pytest.raises(RunError, match=f"`f` raised {told}"):
        load(tmp_path / "main.got").run(x=1, options=Options(model=SimulatedModel(SIMULATORS)))


@pytest.mark.parametrize("line", ["raise SystemExit(0)", "raise GeneratorExit", "raise ValueError"])
def test_a_file_that_ends_the_process_is_told(tmp_path: Path, line: str) -> None:
    (tmp_path / "tools.py").write_text(f"def f(x):\n    return x\n\n{line}\n")
    (tmp_path / "main.got").write_text(f"{CALLED}    Call f(x)\n")
    with pytest.raises(UsageError, match=rf'import python "tools.py": .*tools.py:4: {line.split()[1][:5]}'):
        load(tmp_path / "main.got").run(x=1, options=Options(model=SimulatedModel(SIMULATORS)))


def test_a_time_out_of_its_own_is_its_own_mistake(tmp_path: Path) -> None:
    found = go(tmp_path, "raise TimeoutError('mine')")
    assert isinstance(found, RunError) and "`f` raised TimeoutError: mine" in found.message


def test_one_thought_among_many_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def f(x):\n    return 6 // (x - 2)\n")
    (tmp_path / "main.got").write_text(
        'import python "tools.py": f\nscheme main(xs: list[int]) -> many any:\n'
        "    foreach x in xs:\n        Pool() x\n    Call f(it)\n"
    )
    given = Options(model=SimulatedModel({}))
    result = load(tmp_path / "main.got").run(xs=[1, 2, 3], options=given)
    assert result.value == [-6, 6]
    (failure,) = result.outcome.failures
    assert "ZeroDivisionError" in failure.reason and failure.span.source.endswith("main.got")


def test_no_thread_is_left_of_what_ended(tmp_path: Path) -> None:
    before = threading.active_count()
    assert isinstance(go(tmp_path, "return x"), Result)
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_functions_are_handed_in() -> None:
    text = "scheme main(x: int) -> int:\n    Call twice(x)\n    Map() twice(it) + 1\n"
    program = compile(text, functions=["twice -> int"])
    options = Options(model=SimulatedModel({}), functions={"twice": lambda x: 2 * x})
    assert program.run(x=3, options=options).value == 13
    with pytest.raises(UsageError, match="no function `twice`"):
        program.run(x=3, options=Options(model=SimulatedModel({})))
    with pytest.raises(UsageError, match="`len` is built in"):
        compile(text, functions=["len"])
    with pytest.raises(UsageError, match="`twice -> ` is not a function"):
        compile(text, functions=["twice -> "])
    with pytest.raises(CompileError, match=r"1 error\n\nerror\[GOT\d+\]: .*\n +--> <text>.got:3"):
        compile(text, functions=["twice"])
    with pytest.raises(CompileError, match=r"where it is passed: `functions=\[\"twice -> int\"\]`"):
        compile(text, functions=["twice"])
    with pytest.raises(CompileError):
        compile(text)


def test_nothing_more_is_computed_once_the_result_is_lost() -> None:
    called: list[int] = []

    def f(y: int) -> int:
        called.append(y)
        if y == 3:
            raise ValueError("lost")
        return y

    text = "scheme main(x: int) -> many int:\n    foreach y in range(5000):\n        Map() f(y)\n"
    options = Options(model=SimulatedModel({}), functions={"f": f})
    with pytest.raises(RunError, match="lost"):
        compile(text, functions=["f -> int"]).run(x=3, options=options)
    assert called == [0, 1, 2, 3]

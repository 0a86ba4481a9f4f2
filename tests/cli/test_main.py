"""The command as a whole: help, versions, start-up time, sources of defaults, internal errors."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from cli.conftest import Gotc
from support.gotc import ROOT, SORT128, environment, vote
from support.timing import pace

from gotlang.cli.config import SHARED
from gotlang.cli.group import COMMANDS, click_command
from gotlang.cli.group import gotc as group
from gotlang.cli.main import exit_code
from gotlang.cli.options import DEFAULT_CONCURRENCY, SCHEDULES
from gotlang.cli.run import run_command
from gotlang.semantics import variations
from gotlang.version import __version__


def every_command() -> list[tuple[str, click.Command]]:
    context = click.Context(group)
    found = []
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {inner}", c) for inner, c in command.commands.items()]
    return found


def test_the_version(gotc: Gotc) -> None:
    assert gotc("--version").out == f"gotc {__version__}\n"


@pytest.mark.parametrize("name", [name for name, _ in every_command()])
def test_help_says_what_every_option_does_and_its_default(name: str, gotc: Gotc) -> None:
    done = gotc(*name.split(), "--help")
    assert done.code == 0
    text = " ".join(done.out.split())
    for parameter in dict(every_command())[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            assert parameter.opts[0] in text
            has_default = parameter.is_flag or parameter.multiple or parameter.required
            said = parameter.default is not None or "[default: " in parameter.help
            assert has_default or said or parameter.name in FREE, parameter.name


FREE = {"trace", "resume", "inputs", "data", "prices", "scheme"}
"""Options without a default: left out, nothing is done."""


def test_an_option_and_its_variable_have_one_name() -> None:
    for name, command in every_command():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                written = [
                    o.removeprefix("--").replace("-", "_") for o in parameter.opts if o.startswith("--")
                ]
                assert parameter.name in written, name


def test_commands_without_help_are_none() -> None:
    assert all(command.help for _, command in every_command())


def cost_of(*arguments: object) -> float:
    """Seconds of the time of a quiet processor that a start takes, the least of three."""
    least = float("inf")
    for _ in range(3):
        slower = pace()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "gotlang", *map(str, arguments)], env=environment(), capture_output=True
        )
        assert done.returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        least = min(least, 2 * took / (slower + pace()))
    return least


def test_help_and_check_answer_at_once() -> None:
    subprocess.run([sys.executable, ROOT / "grammars" / "build_tables.py"], check=True)  # as the build does
    assert cost_of("--help") < 0.15
    assert cost_of("check", SORT128) < 0.5


def test_help_loads_no_command(folder: Path) -> None:
    code = (
        "import sys\nfrom gotlang.cli.main import exit_code\nexit_code(['--help'])\n"
        "print([m for m in sys.modules if m.startswith('gotlang.')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    loaded = set(done.stderr.translate(str.maketrans("[]',", "    ")).split())
    assert loaded and not loaded & {f"gotlang.cli.{name}" for name in COMMANDS}


def test_names_that_are_spelt_twice_are_the_same() -> None:
    from gotlang.runtime.context import DEFAULT_CONCURRENCY as CONCURRENCY
    from gotlang.runtime.engine import SCHEDULERS

    assert tuple(SCHEDULERS) == SCHEDULES == variations.SCHEDULES
    assert CONCURRENCY == DEFAULT_CONCURRENCY
    assert set(SHARED) <= {o.removeprefix("--") for p in dict(every_command())["run"].params for o in p.opts}


PLAIN = (
    ["a.got"],
    ["a.got", "--input", "x=1", "--input=y= 2", "--row", "3", "--data", "d.csv", "--map", "x=y"],
    ["a.got", "--allow-python", "--quiet", "--model", "openai:x", "--seed", "-3", "--prefer", "cost"],
    ["--max-calls", "5", "a.got", "--wave=2", "--schedule", "depth-first", "--stream", "--no-cache"],
    [
        "a.got",
        "--max-usd",
        "$2.5",
        "--concurrency",
        "none",
        "--concurrency",
        "7",
        "--optimize=0",
        "--rpm=1e3",
    ],
    ["a.got", "--answer", "q=1", "--set", "a=2", "--python-key", "K", "--partial", "--as", ""],
)
"""Arguments of a run that need no click."""


@pytest.mark.parametrize("arguments", PLAIN)
def test_plain_arguments_are_read_as_click_reads_them(arguments: list[str], folder: Path) -> None:
    found = run_command.plainly(arguments)
    assert found is not None
    made = click_command(run_command).make_context("run", list(arguments), parent=click.Context(group))
    types = [{name: type(value) for name, value in each.items()} for each in (found, made.params)]
    assert (found, types[0]) == (made.params, types[1])


LEFT = (
    *([], ["-"], ["a.got", "b.got"], ["a.got", "--inp", "x=1"], ["a.got", "--row", "-1"], ["--", "a.got"]),
    *(["a.got", "--input"], ["a.got", "--input", "x"], ["a.got", "--quiet=1"], ["a.got", "--prefer", "all"]),
    *(["a.got", "--json"], ["a.got", "--resume", "last"], ["a.got", "--otel"], ["a.got", "--help"]),
)
"""Arguments of a run of which click knows more."""


def test_a_variable_of_an_option_is_left_to_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOTC_ALLOW_PYTHON", "1")
    assert run_command.plainly(["a.got"]) is None
    assert run_command.plainly(["a.got", "--allow-python"]) is not None


@pytest.mark.parametrize("arguments", LEFT)
def test_other_arguments_are_left_to_click(arguments: list[str]) -> None:
    assert run_command.plainly(arguments) is None


# ---------------------------------------------------------------- defaults

RUN = ("run", "vote.got", "--input", "question=why", "--json")


def calls(gotc: Gotc, *more: str) -> int:
    done = gotc(*RUN, "--no-cache", *more)
    assert done.code == 0, done.err
    found: int = done.json()["ledger"]["none"]["calls"]
    return found


def test_flags_beat_the_environment_beats_files(
    gotc: Gotc, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert calls(gotc) == 3
    (folder / "pyproject.toml").write_text('[tool.gotc.run]\nset = ["tries=4"]\n')
    assert calls(gotc) == 4
    (folder / "gotc.toml").write_text('[run]\nset = ["tries=5"]\n')
    assert calls(gotc) == 5
    monkeypatch.setenv("GOTC_RUN_SET", "tries=6")
    assert calls(gotc) == 6
    assert calls(gotc, "--set", "tries=7") == 7


def test_a_file_sets_options_of_all_commands_at_once(gotc: Gotc, folder: Path) -> None:
    (folder / "gotc.toml").write_text("max-calls = 1\nseed = 4\n[cache.stats]\njson = true\n")
    done = gotc(*RUN)
    assert (done.code, done.json()["seed"], done.json()["spent"]["calls"]) == (3, 4, 1)
    assert gotc("check", "vote.got").code == 0  # has no such option, and does not mind
    assert gotc("cache", "stats").json()["total"]["samples"] == 1


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("max-usd = 'much'", "max-usd"),
        ("budjet = 3", "budjet"),
        ("[rum]\nseed = 1", "did you mean `run`"),
        ("[cache.stats]\nsjon = true", "did you mean `json`"),
        ("max-calls = 1e999", "`max-calls` cannot have such a value"),
        ("seed = 2.7", "`seed` cannot have such a value"),
        ("max-calls = true", "`max-calls` cannot have such a value"),
    ],
)
def test_a_wrong_file_is_an_error(gotc: Gotc, folder: Path, text: str, word: str) -> None:
    (folder / "gotc.toml").write_text(text)
    command = ("cache", "stats") if "cache" in text else RUN
    done = gotc(*command)
    assert done.code == 2
    assert word in done.err


# ---------------------------------------------------------------- mistakes of ours, and readers that go away


def test_a_mistake_of_ours_is_a_short_report(
    gotc: Gotc, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import gotlang.cli.programs

    monkeypatch.setattr(gotlang.cli.programs, "source", lambda path: 1 / 0)
    done = gotc("check", "vote.got")
    assert done.code == 70
    assert __version__ in done.err
    assert "GOTC_TRACEBACK=1" in done.err
    assert "Traceback" not in done.err
    monkeypatch.setenv("GOTC_TRACEBACK", "1")
    assert "Traceback" in gotc("check", "vote.got").err


def test_ctrl_c_anywhere_is_130(gotc: Gotc, monkeypatch: pytest.MonkeyPatch) -> None:
    import gotlang.cli.programs

    def pressed(path: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(gotlang.cli.programs, "source", pressed)
    done = gotc("check", "vote.got")
    assert (done.code, "Traceback" in done.err) == (130, False)


def test_a_reader_that_goes_away_ends_it_quietly(folder: Path) -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "gotlang", "explain", "all"],
        env=environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    os.close(reading)
    _, err = process.communicate(timeout=60)
    assert err == ""
    assert process.returncode != 0


@pytest.mark.skipif(os.name != "posix", reason="a shell opens and closes streams")
@pytest.mark.parametrize(
    ("streams", "code", "words"),
    [
        (">&-", 0, ""),
        (">&- 2>&-", 0, ""),
        ("2>&- | head -c 1 >&2", None, ""),
        pytest.param(
            ">/dev/full",
            1,
            "cannot write the output: No space left on device",
            marks=pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full"),
        ),
    ],
)
def test_streams_that_are_closed_or_full_are_no_bug(streams: str, code: int | None, words: str) -> None:
    done = subprocess.run(
        f"'{sys.executable}' -m gotlang explain all {streams}",
        shell=True,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert words in done.stderr
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert code is None or done.returncode == code


def test_a_closed_standard_input_is_an_empty_one(tmp_path: Path) -> None:
    vote(tmp_path)
    run = f"'{sys.executable}' -m gotlang run vote.got --model simulated --input question=why"
    for streams in ("<&-", "<&- 2>&-"):
        shell = {"shell": True, "cwd": tmp_path, "env": environment(), "capture_output": True}
        done = subprocess.run(f"{run} {streams}", **shell, timeout=60)
        assert done.returncode == 0 and done.stdout.strip().isdigit(), done.stderr


def test_ctrl_c_in_an_import_ends_the_process_without_a_traceback() -> None:
    program = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, *rest):
        if name == "msgspec":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from gotlang.__main__ import start
start()
"""
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def test_no_arguments_show_the_help(gotc: Gotc) -> None:
    done = gotc()
    assert (done.code, done.out) == (2, "")
    assert "Commands:" in done.err
    assert exit_code(["run", "--help"]) == 0


def test_what_goes_to_one_log_is_in_order(tmp_path: Path) -> None:
    (tmp_path / "wrong.got").write_text("scheme s() -> int:\n    Pool() tires\n")
    done = subprocess.run(
        [sys.executable, "-m", "gotlang", "check", "wrong.got"],
        cwd=tmp_path,
        env=environment(PYTHONUNBUFFERED=""),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.stdout.startswith("error[GOT0103]"), done.stdout
    assert done.stdout.endswith("1 file: 1 error\n"), done.stdout


def test_a_name_that_no_file_can_have_is_one_message(gotc: Gotc, folder: Path) -> None:
    for words in (
        ("run", "vote.got", "--input", "question=why", "--record", "x" * 3000),
        ("graph", "x" * 3000),
    ):
        done = gotc(*words)
        assert (done.code, done.out) == (2, ""), done.err
        assert "no file can have such a name: xxxx" in done.err, done.err

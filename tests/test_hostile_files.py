"""Untrusted files: every field of each kind is replaced, and commands that read it report the error.

No bug (exit code 70), no traceback, and no control character reaches the terminal raw.

LAWS=1 python -m pytest tests/test_hostile_files.py     # every change of every field, and not a share of them
"""

from __future__ import annotations

import copy
import io
import json
import os
import random
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from support.laws import NEW
from support.studies import guess_study

from gotlang.cli.main import exit_code
from gotlang.models.batches import PendingBatches, ProviderBatch
from gotlang.models.capabilities import CapabilityStore
from gotlang.records import to_json

OLD = Path(__file__).with_name("old")
RUN = "06ebdf8b"
SHARE, LEAST = 12, 40
"""Of how many changes one is tried, and how many at least."""
DEEP: Any = 1
for _ in range(300):
    DEEP = [DEEP]
EVIL = "x\x1b[2J\x07\x00\x9b31m\u202e\ud800"
VALUES: list[Any] = [
    None, True, -1, 7, 2**40, 2**70, -1e308, 1e308, "", "x", EVIL, [], {}, [EVIL], {EVIL: EVIL}, DEEP,
    [[1, 2]], {"calls": -1}, [None, "x"], "nan", float("nan"), float("inf"),
]  # fmt: skip
GONE = object()


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all parts of a document."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from nodes(part, (*path, name))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return None if new is GONE else new
    whole = copy.deepcopy(value)
    part = whole
    for name in path[:-1]:
        part = part[name]
    if new is GONE:
        del part[path[-1]]
    else:
        part[path[-1]] = new
    return whole


def changes(value: Any) -> Iterator[Any]:
    """A document with each of its parts replaced or removed, and with an unknown part."""
    all = [(path, new) for path in nodes(value) for new in (GONE, *VALUES)]
    some = min(len(all), max(LEAST, len(all) // SHARE))
    for path, new in all if NEW else random.Random(7).sample(all, some):
        yield changed(value, path, new)


def run(*arguments: str) -> tuple[int, str]:
    """`gotc` in this process: its exit code, and all that it printed."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = exit_code(arguments)
    printed = ""
    for stream in (out, err):
        stream.flush()
        printed += stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
    return code, printed


def check(*arguments: str) -> int:
    code, printed = run(*arguments)
    assert code in (0, 1, 2, 3, 4, 5), printed
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", printed), repr(printed)
    assert "Traceback" not in printed
    return code


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program, its history and a cache."""
    guess_study(tmp_path, "train 4, test 2\nminimize error(result, target)\ntrials 3", rows=8)
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "GOTC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "argv", ["gotc"])
    (tmp_path / ".gotc" / "runs").mkdir(parents=True)
    return tmp_path


def dumped(value: Any) -> str:
    return json.dumps(value)


def each(kind: str, value: Any, write: Callable[[Any], object], *commands: tuple[str, ...]) -> None:
    """Every change of a document, given to every command; at least one of them is refused."""
    codes = set()
    for document in changes(value):
        write(document)
        for command in commands:
            try:
                codes.add(check(*command))
            except BaseException:
                print(f"{kind}: {dumped(document)[:2000]}", command)
                raise
    assert {0, 2} <= codes or kind in ("endpoints", "config")


def test_a_record_of_the_history(folder: Path) -> None:
    path = folder / ".gotc" / "runs" / f"{RUN}.json"
    (path.parent / f"{RUN}.graph.jsonl").write_bytes((OLD / f"{RUN}.graph.jsonl").read_bytes())
    record = json.loads((OLD / path.name).read_text())
    record |= {"truth": 3, "cache": None, "resumed": "abc", "error": "no", "state": "running"}
    record |= {"spent": {"calls": 1, "usd": 0.1, "uncertain_calls": 1, "uncertain_usd": 0.1, "free_calls": 2}}
    record["document"] |= {"partial": "why", "not_valid": "why"}
    each(
        "history",
        record,
        lambda new: path.write_text(dumped(new)),
        ("runs",),
        ("runs", "--json"),
        ("show", RUN),
        ("graph", RUN),
    )


def test_a_run_that_is_repeated(folder: Path) -> None:
    path = folder / ".gotc" / "runs" / f"{RUN}.json"
    record = json.loads((OLD / path.name).read_text())
    record["path"] = str(folder / "guess.got")
    for settings in changes(record["settings"]):
        path.write_text(dumped({**record, "settings": settings}))
        check("run", "--resume", RUN, "--model", "simulated", "--allow-python", "--no-cache")
    for change in changes({"inputs": {"target": 40}, "truth": 1, "scheme": "near"}):
        path.write_text(dumped({**record, **(change if isinstance(change, dict) else {})}))
        check("run", "--resume", RUN, "--model", "simulated", "--allow-python", "--no-cache")


def test_a_graph_of_the_history(folder: Path) -> None:
    runs = folder / ".gotc" / "runs"
    (runs / f"{RUN}.json").write_bytes((OLD / f"{RUN}.json").read_bytes())
    lines = [json.loads(line) for line in (OLD / f"{RUN}.graph.jsonl").read_text().splitlines()]
    lines[1] |= {"failed": [[0, "no"], [None, "no"]], "within": "scheme near", "block": "foreach x"}
    lines[2]["thoughts"][0] |= {"valid": True, "logprob": -1.0}
    each(
        "graph",
        lines,
        lambda new: (runs / f"{RUN}.graph.jsonl").write_text(
            "".join(dumped(line) + "\n" for line in (new if isinstance(new, list) else [new]))
        ),
        ("show", RUN, "--all"),
        ("show", RUN, "1", "--json"),
        ("graph", RUN),
        ("graph", RUN, "--view", "reasoning", "--format", "svg"),
    )


def test_a_damaged_record_is_left_out_and_refused(folder: Path) -> None:
    runs = folder / ".gotc" / "runs"
    (runs / f"{RUN}.json").write_bytes((OLD / f"{RUN}.json").read_bytes())
    (runs / "bad.json").write_text('{"run": "bad", "state": "\\u001b[2J"}')
    code, printed = run("runs")
    assert code == 0
    assert "run bad is left out: its record is damaged: " in printed
    assert RUN in printed
    code, printed = run("show", "bad")
    assert code == 2
    assert "the record of run bad is damaged" in printed
    assert "delete .gotc/runs/bad.json" in printed
    assert run("show", "last")[0] == 0


def test_a_tuned_file(folder: Path) -> None:
    document = json.loads((OLD / "near.tuned.json").read_text())
    document["prompts"] = {
        "guess": {"instruction": "{{ target }}", "examples": [{"inputs": {"target": 1}, "output": 2}]}
    }
    document["settings"] = {"temperature": 0.5}
    del document["held_out"], document["provenance"]
    each(
        "tuned",
        document,
        lambda new: (folder / "t.json").write_text(dumped(new)),
        ("prompts", "guess.got", "--tuned", "t.json", "--allow-python"),
    )


def test_a_tuned_file_with_unknown_settings_is_refused(folder: Path) -> None:
    document = json.loads((OLD / "near.tuned.json").read_text())
    document["settings"] = {"max_tolkens": 5, "\x1b[2J": 1}
    (folder / "t.json").write_text(json.dumps(document))
    code, printed = run("prompts", "guess.got", "--tuned", "t.json", "--allow-python")
    assert code == 2
    assert "t.json has unknown settings: \\x1b[2J, max_tolkens" in printed


def test_a_recording(folder: Path) -> None:
    lines = [json.loads(line) for line in (OLD / "c.jsonl").read_text().splitlines()]
    each(
        "recording",
        lines,
        lambda new: (folder / "c.jsonl").write_text(
            "".join(dumped(line) + "\n" for line in (new if isinstance(new, list) else [new]))
        ),
        ("run", "guess.got", "--input", "target=40", "--model", "replay:c.jsonl", "--no-cache"),
        ("cache", "import", "c.jsonl", "--cache", "other.sqlite"),
    )


def test_prices(folder: Path) -> None:
    each(
        "prices",
        {"m": {"input_per_million": 1, "output_per_million": 2, "cached_input_per_million": 0.5}},
        lambda new: (folder / "p.json").write_text(dumped(new)),
        ("explain", "guess.got", "--prices", "p.json", "--model", "openai:m"),
    )


def test_data(folder: Path) -> None:
    rows = [{"target": 40, "truth": 40}, {"target": 41, "truth": 41}]
    each(
        "data",
        rows,
        lambda new: (folder / "d.json").write_text(dumped(new)),
        ("eval", "guess.got", "--data", "d.json", "--model", "simulated", "--allow-python", "--no-cache"),
    )


def test_inputs(folder: Path) -> None:
    each(
        "inputs",
        {"target": 40},
        lambda new: (folder / "i.json").write_text(dumped(new)),
        ("run", "guess.got", "--inputs", "i.json", "--model", "simulated", "--allow-python", "--no-cache"),
    )


def test_what_endpoints_support(folder: Path) -> None:
    path = folder / ".gotc" / "endpoints.json"
    learned = {"endpoint": "e", "model": "m", "refused": ["n"], "good": 1, "bad": 2, "at": 1.9e9}
    for document in changes({"format": 1, "learned": [learned]}):
        path.write_text(dumped(document))
        CapabilityStore(path).all()
    check("models", "--base-url", "http://127.0.0.1:9")


def test_batches_under_way(folder: Path) -> None:
    path = folder / "batches" / "abc.json"
    path.parent.mkdir()
    batch = json.loads(to_json(ProviderBatch("abc", "e", ("line",), 2e9, "id")))
    for document in changes(batch):
        path.write_text(dumped(document))
        PendingBatches(path.parent, "e").find("line")


def test_configuration(folder: Path) -> None:
    values = [
        "true",
        "-1",
        "7",
        "1e308",
        '""',
        '"x"',
        r'"\u001b[2J\u009b"',
        "[]",
        "{}",
        "[[1]]",
        "nan",
        r'"\u0000"',
    ]
    names = [
        "model",
        "seed",
        "max-usd",
        "concurrency",
        "cache",
        "prices",
        "timeout",
        "set",
        "tuned",
        "record",
        "x",
    ]
    names += ["data", "input", "no-cache", "json", "otel", "trace", "schedule", "base-url"]
    tables, chance = [f"{table}{name} = " for name in names for table in ("", "[run]\n")], random.Random(7)
    for table in tables:
        for value in values if NEW else chance.sample(values, 3):
            (folder / "gotc.toml").write_text(f"{table}{value}\n")
            check("run", "guess.got", "--allow-python", "--input", "target=40")
    for text in (
        "run = 3",
        "[run.x]\ny = 1",
        "run = [1]",
        "\x00",
        "[run]\n\x1b = 1",
        '"\\u001b" = 1',
        "[" * 5000,
    ):
        (folder / "gotc.toml").write_text(text)
        check("run", "guess.got", "--allow-python", "--input", "target=40")


@pytest.mark.parametrize("name", ["\\u0000", "a\\u0000b.got", "\\ud800.got", "\\u001b[2J.got"])
@pytest.mark.parametrize(
    "program",
    [
        'import "{}"\n',
        'import python "{}": f\n',
        'simulate with "{}"\n',
        'corpus c = "{}"\n',
        'study s:\n    program "guess.got"\n    data "{}"\n    minimize cost\n',
        'study s:\n    program "{}"\n    data "numbers.csv"\n    minimize cost\n',
        'study s:\n    program "guess.got"\n    data "numbers.csv" (target = Target)\n    minimize cost\n'
        '    storage "{}"\n    trials 1\n',
    ],
)
def test_names_that_no_file_can_have(folder: Path, program: str, name: str) -> None:
    (folder / "evil.got").write_text(program.replace("{}", name))
    codes = [check("check", "evil.got"), check("fmt", "--check", "evil.got"), check("graph", "evil.got")]
    codes.append(check("tune", "evil.got", "--model", "simulated", "--allow-python"))
    assert 2 in codes or 1 in codes


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Reading a file without an end fails soon."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**29, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and devices")
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "guess.got", "--inputs", "/dev/zero"),
        ("run", "guess.got", "--input", "target=@/dev/full"),
        ("run", "guess.got", "--tuned", "/dev/zero"),
        ("run", "guess.got", "--answers", "/dev/zero", "--input", "target=40"),
        ("run", "guess.got", "--edited", "/dev/zero", "--input", "target=40"),
        ("run", "guess.got", "--model", "replay:/dev/zero", "--input", "target=40"),
        ("explain", "guess.got", "--prices", "/dev/zero", "--model", "openai:m"),
        ("eval", "guess.got", "--data", "zero.csv"),
        ("eval", "guess.got", "--data", "zero.jsonl"),
        ("eval", "guess.got", "--data", "zero.json"),
        ("cache", "import", "/dev/zero"),
    ],
    ids=lambda found: " ".join(found),
)
def test_a_file_without_an_end(folder: Path, little_memory: None, arguments: tuple[str, ...]) -> None:
    for suffix in ("csv", "jsonl", "json"):
        (folder / f"zero.{suffix}").symlink_to("/dev/zero")
    code, printed = run(*arguments)
    assert code == 2 and ("it is larger than 67,108,864 bytes" in printed or "it is a device" in printed)


def test_a_pipe_among_the_files_of_the_history(folder: Path) -> None:
    for name in ("06ebdf8b.json", "06ebdf8b.live.jsonl", "06ebdf8b.graph.jsonl"):
        os.mkfifo(folder / ".gotc" / "runs" / name)
    signal.alarm(20)  # kills a process that waits for the other end
    assert [check("runs"), check("show", "06ebdf8b"), check("graph", "06ebdf8b")] == [0, 2, 2]
    signal.alarm(0)


def test_names_of_files_are_escaped(folder: Path) -> None:
    for command in ("check", "fmt", "ir", "run", "graph", "explain", "prompts"):
        assert check(command, "a\x1b[2J\x9b.got") == 2
    (folder / "a\x1b[2J.got").write_text("scheme x")
    assert check("check", "a\x1b[2J.got") == 2
    assert r"\x1b[2J" in run("check", "a\x1b[2J.got")[1]

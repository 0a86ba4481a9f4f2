"""Sandbox mode: each sentence of docs/security.md about it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.gotc import start
from support.openai_server import OpenAIServer, stalled

from gotlang import SandboxError, SandboxLimits, UsageError, run_in_sandbox

ASK = 'prompt ask(q: str) -> str:\n    "{{ q }}"\n\nscheme s(q: str) -> str:\n    Generate() ask(q)\n'
MANY = """
scheme s(n: int) -> list[list[int]]:
    Pool() [[1000000 + i * j for i in range(1000)] for j in range(n)]
"""
MODEL = ("--model", "openai:m")
RUN = ("run", "a.got", "--input", "q=why", "--sandbox", *MODEL)
MANY_RUN = ("run", "many.got", "--input", "n=900", "--sandbox", "--sandbox-limit")


def gotc(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a process that no other test has run in: limits stay."""
    process = start(*arguments, cwd=cwd, **environment)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.got").write_text(ASK)
    (tmp_path / "many.got").write_text(MANY)
    return tmp_path


def test_it_returns_the_result_and_leaves_the_folder_unchanged(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    with OpenAIServer(lambda body, index: "42", key="key") as server:
        done = gotc(*RUN, "--base-url", server.url, cwd=folder, OPENAI_API_KEY="key")
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
    assert sorted(folder.rglob("*")) == before


def test_it_writes_the_files_that_the_command_line_names(folder: Path) -> None:
    names = ("cache.sqlite", "record.jsonl", "trace.jsonl")
    files = [part for name in names for part in (f"--{name.partition('.')[0]}", f"out/{name}")]
    with OpenAIServer(lambda body, index: "42") as server:
        for _ in range(2):
            done = gotc(*RUN, *files, "--base-url", server.url, cwd=folder, OPENAI_API_KEY="key")
            assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
    assert len(server.requests) == 1
    assert set(names) <= {path.name for path in (folder / "out").iterdir()}


@pytest.mark.parametrize("text", ['import python "m.py": f -> int\n', 'simulate with "m.py"\n'])
def test_no_python_of_the_program_runs(folder: Path, text: str) -> None:
    (folder / "m.py").write_text('open("ran", "w")\ndef f():\n    return 1\ndef ask(rng, q):\n    return q\n')
    (folder / "p.got").write_text(text + ASK)
    model = () if "simulate" in text else MODEL
    done = gotc("run", "p.got", "--input", "q=x", "--sandbox", *model, cwd=folder, OPENAI_API_KEY="key")
    assert done.returncode == 2
    assert "m.py" in done.stderr
    assert not (folder / "ran").exists()


def test_no_configuration_is_read(folder: Path) -> None:
    (folder / "gotc.toml").write_text('base-url = "http://127.0.0.1:9/v1"\nnonsense = 1\n')
    with OpenAIServer(lambda body, index: "42") as server:
        done = gotc(*RUN, "--base-url", server.url, cwd=folder, OPENAI_API_KEY="key")
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("cpu=1", "more than 1 s of processor time"),
        ("time=1", "more than 1 s"),
        ("output=1", "more than 1 MB of output"),
    ],
)
def test_a_limit_ends_it_with_an_exit_code_of_its_own(folder: Path, limit: str, words: str) -> None:
    done = gotc(*MANY_RUN, limit, "--json", cwd=folder)
    assert done.returncode == 7, (done.stdout[-500:], done.stderr[-500:])
    assert words in done.stderr
    assert words in json.loads(done.stdout)["error"]["message"]


def test_memory_has_a_limit(folder: Path) -> None:
    def ran(n: int) -> subprocess.CompletedProcess[str]:
        limits = ("--sandbox-limit", "memory=80", "--sandbox-limit", "output=50")
        return gotc("run", "many.got", "--sandbox", *limits, "--input", f"n={n}", cwd=folder)

    assert ran(1).returncode == 0
    done = ran(900)
    assert done.returncode == 7
    assert "more than 80 MB of memory" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--resume", "x"), "--resume does not go with --sandbox"),
        (("--otel",), "--otel does not go with --sandbox"),
        (("--cache", "postgresql://127.0.0.1/x"), "no cache on a server"),
        (("--sandbox-limit", "cpu=0"), "`cpu` is below 1"),
        (("--sandbox-limit", "cpus=1"), "one of cpu, memory, output, time"),
    ],
)
def test_options_that_reach_beyond_it_are_refused(folder: Path, options: tuple[str, ...], words: str) -> None:
    done = gotc(*RUN, *options, cwd=folder, OPENAI_API_KEY="key")
    assert done.returncode == 2
    assert words in done.stderr


_RESTRICTED = """
import os, socket, sqlite3, subprocess, sys
from pathlib import Path
from gotlang.sandbox import SandboxLimits, restrict
restrict(SandboxLimits(), hosts=["127.0.0.1"], writable=[Path("out/file")], tell=print)
{}
"""


@pytest.mark.parametrize(
    "action",
    [
        "socket.create_connection(('127.0.0.2', 9))",
        "socket.getaddrinfo('elsewhere.example', 80)",
        "socket.socket(socket.AF_UNIX).connect('/run/x.sock')",
        "socket.socket().bind(('127.0.0.1', 0))",
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.2', 9))",
        "subprocess.run(['true'])",
        "os.system('true')",
        "os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.execv('/bin/true', ['true'])",
        "open('elsewhere', 'w')",
        "os.open('elsewhere', os.O_RDWR)",
        "open('out/link/file', 'w')",
        "os.rename('here', 'out/here')",
        "os.remove('here')",
        "os.mkdir('elsewhere')",
        "os.symlink('here', 'elsewhere')",
        "sqlite3.connect('elsewhere')",
    ],
)
def test_a_restricted_process_is_refused(tmp_path: Path, action: str) -> None:
    (tmp_path / "here").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link").symlink_to(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    command = [sys.executable, "-c", _RESTRICTED.format(action)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].startswith("PermissionError: [Errno 1] the sandbox does not allow ")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_restricted_process_may_do_what_it_needs(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        port = server.url.split(":")[2].split("/")[0]
        action = f"socket.create_connection(('127.0.0.1', {port})); Path('out').mkdir(); open('out/a', 'w')"
        command = [sys.executable, "-c", _RESTRICTED.format(f"open('{__file__}'); {action}; print('done')")]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


def test_the_function_runs_a_text_in_an_empty_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with OpenAIServer(lambda body, index: "42", key="key") as server:
        found = run_in_sandbox(ASK, {"q": "why"}, model="openai:m", base_url=server.url, max_calls=1)
    assert found["result"] == "42"
    assert server.requests[0].body["messages"][0]["content"] == "why"


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        ("scheme s(", "error", 2),
        ('import "../../etc/passwd"\n' + ASK, "error", 2),
        ('import python "os.py": getcwd -> str\n' + ASK, "1 error", 2),
        (ASK, "no connection", 1),
    ],
)
def test_the_function_says_why_there_is_no_result(
    text: str, words: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with pytest.raises(SandboxError) as caught:
        run_in_sandbox(text, {"q": "x"}, model="openai:m", base_url="http://127.0.0.1:9/v1", max_calls=1)
    assert caught.value.document is not None
    assert words in caught.value.message
    assert caught.value.exit_code == code


def test_the_function_reports_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with pytest.raises(SandboxError, match="processor time") as caught:
        run_in_sandbox(MANY, {"n": 900}, model="openai:m", limits=SandboxLimits(cpu=1))
    assert caught.value.exit_code == 7
    with pytest.raises(UsageError, match="below 1"):
        SandboxLimits(memory=0)


def test_its_environment_has_the_key_of_its_endpoint_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "PGPASSWORD", "GITHUB_TOKEN", "GOTC_RUN_OTEL"):
        monkeypatch.setenv(name, f"planted-{name}")
    with OpenAIServer(lambda body, index: "42", faults=[stalled(1.0)]) as server:
        options = {"model": "openai:m", "base_url": server.url}
        thread = threading.Thread(target=run_in_sandbox, args=(ASK, {"q": "x"}), kwargs=options)
        thread.start()
        while not server.requests:
            time.sleep(0.01)
        found = [
            (path / "environ").read_bytes()
            for path in Path("/proc").glob("[0-9]*")
            if path.joinpath("stat").read_text().rpartition(")")[2].split()[1] == str(os.getpid())
            and b"--sandbox" in (path / "cmdline").read_bytes()
        ]
        thread.join()
    assert len(found) == 1
    assert b"planted-OPENAI_API_KEY" in found[0]
    assert found[0].count(b"planted-") == 1

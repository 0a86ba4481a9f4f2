"""A stranger's folder: no key goes where it says, none of its Python runs and nothing reaches out of it,
until the user trusts it."""

from __future__ import annotations

import json
import os
import socketserver
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.gotc import document, gotc
from support.openai_server import OpenAIServer

from gotlang import trust
from gotlang.models.endpoint import key_variable_of

KEY = "sk-planted-4f9c2b7e81d3a6"
PLAIN = """\
param tries = 2 in 1..3

prompt answer(question: str) -> int:
    max_tokens 20
    "{{ question }}"

scheme vote(question: str) -> int:
    Generate(k=tries) answer(question)
    Vote()
    GroundTruth() it == truth
"""
"""A program without Python."""
STUDY = """
study more:
    data "data.csv" (question = question), train 2, test 2
    minimize cost
    trials 2
    budget 1.0
"""
PRICES = '{"small": {"input_per_million": 0.15, "output_per_million": 0.6}}'
MARK = "import os, pathlib\npathlib.Path(os.environ['MARKER']).write_text(repr(dict(os.environ)))\n"
"""Python that tells that it ran, and what it found in its environment."""
SIMULATED = f'simulate with "sim.py"\n{PLAIN}'
CALL = "\n    Call twice(it)"
IMPORTING = f'import python "tools.py": twice -> int\n{PLAIN.replace("Vote()", "Vote()" + CALL)}'
SIM = f"{MARK}\ndef answer(rng, question):\n    return '7'\n"
TOOLS = f"{MARK}\ndef twice(number: int) -> int:\n    return 2 * number\n"

VERBS: dict[str, tuple[str, ...]] = {
    "run": ("run", "vote.got", "--input", "question=why"),
    "eval": ("eval", "vote.got", "--data", "data.csv"),
    "compare": ("compare", "vote.got", "--data", "data.csv", "--schemes", "vote,single"),
    "tune": ("tune", "vote.got"),
}
CONFIGS = {"gotc.toml": "{}", "pyproject.toml": "[tool.gotc]\n{}"}


@dataclass
class Folder:
    """A stranger's project, and a user with an empty home."""

    path: Path
    home: Path

    def gotc(self, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
        home = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config")}
        return gotc(*words, cwd=self.path, **{**home, "MARKER": str(self.home / "ran"), **more})

    def configure(self, text: str, file: str = "gotc.toml") -> None:
        (self.path / file).write_text(CONFIGS[file].format(text))

    def own(self, text: str) -> None:
        """The user's own configuration."""
        path = self.home / "config" / "gotc" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @property
    def found(self) -> str | None:
        """The environment that the stranger's Python saw; None if it never ran."""
        marker = self.home / "ran"
        return marker.read_text() if marker.exists() else None


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    (project / "vote.got").write_text(PLAIN + STUDY)
    (project / "prices.json").write_text(PRICES)
    (project / "data.csv").write_text("question,truth\n" + "".join(f"{n},7\n" for n in range(4)))
    (project / "sim.py").write_text(SIM)
    (project / "tools.py").write_text(TOOLS)
    return Folder(project, home)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda body, index: "7") as opened:
        yield opened


def keys_sent(server: OpenAIServer) -> set[str]:
    """What the server got as keys."""
    assert server.requests
    return {request.headers.get("authorization", "") for request in server.requests}


# ------------------------------------------------------------------ keys

NO_KEY = "Bearer no-key"


@pytest.mark.parametrize("file", CONFIGS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_key_is_not_sent_to_an_address_from_a_project_file(
    folder: Folder, server: OpenAIServer, verb: str, file: str
) -> None:
    folder.configure(f'model = "openai:small"\nprices = "prices.json"\nbase-url = "{server.url}"\n', file)
    done = folder.gotc(*VERBS[verb], OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert keys_sent(server) == {NO_KEY}
    assert f"{server.url} (named by {file}, gets no key)" in done.stderr
    found = document(folder.gotc(*VERBS[verb], "--json", OPENAI_API_KEY=KEY))
    assert found["endpoints"] == [{"url": server.url, "named_by": file, "key": False}]
    assert keys_sent(server) == {NO_KEY}

    granted = document(folder.gotc("trust", "--json"))
    assert granted["settings"] == [f"base-url = {server.url}"]
    server.requests.clear()
    more = () if verb == "tune" else ("--set", "tries=3")
    found = document(folder.gotc(*VERBS[verb], *more, "--seed", 5, "--json", OPENAI_API_KEY=KEY))
    assert keys_sent(server) == {f"Bearer {KEY}"}
    assert found["endpoints"] == [{"url": server.url, "named_by": None, "key": True}]


@pytest.mark.parametrize("file", CONFIGS)
def test_a_key_is_not_shown_to_it_by_the_list_of_models_either(folder: Folder, file: str) -> None:
    asked: list[str | None] = []
    with OpenAIServer(lambda body, index: "7", models=["small"]) as server:
        folder.configure(f'base-url = "{server.url}"\n', file)
        found = document(folder.gotc("models", "--json", OPENAI_API_KEY=KEY), 0)["endpoint"]
        shown = folder.gotc("models", OPENAI_API_KEY=KEY)
        asked = [request.headers.get("authorization") for request in server.requests]
    assert (found["url"], found["named_by"], found["key"]) == (server.url, file, False)
    assert set(asked) <= {NO_KEY}
    assert f"not sent, since {file} named the address" in shown.stdout


def test_user_settings_take_precedence_over_project_settings(folder: Folder, server: OpenAIServer) -> None:
    """By flag, in the environment, or in their own configuration."""
    with OpenAIServer(lambda body, index: "8") as other:
        folder.configure(f'model = "openai:small"\nbase-url = "{other.url}"\n')
        assert folder.gotc(*VERBS["run"], "--base-url", server.url, OPENAI_API_KEY=KEY).returncode == 0
        for variable in ("OPENAI_BASE_URL", "GOTC_RUN_BASE_URL"):
            more = {"OPENAI_API_KEY": KEY, variable: server.url}
            assert folder.gotc(*VERBS["run"], "--seed", len(variable), **more).returncode == 0
        folder.own(f'base-url = "{server.url}"\n')
        done = folder.gotc(*VERBS["run"], "--seed", 3, OPENAI_API_KEY=KEY)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 4
        assert keys_sent(server) == {f"Bearer {KEY}"}
        assert not other.requests
        # Once it is trusted, a project knows better than what the user says of all projects.
        folder.gotc("trust")
        assert folder.gotc(*VERBS["run"], "--seed", 4, OPENAI_API_KEY=KEY).returncode == 0
        assert keys_sent(other) == {f"Bearer {KEY}"}


def test_an_edit_of_the_address_needs_trust_again(folder: Folder, server: OpenAIServer) -> None:
    folder.configure('model = "openai:small"\nbase-url = "http://127.0.0.1:9/v1"\n')
    assert folder.gotc("trust").returncode == 0
    folder.configure(f'model = "openai:small"\nbase-url = "{server.url}"\nseed = 4\n')
    assert folder.gotc(*VERBS["run"], OPENAI_API_KEY=KEY).returncode == 0
    assert keys_sent(server) == {NO_KEY}
    assert folder.gotc("trust").returncode == 0
    # Other edits do not.
    folder.configure(f'model = "openai:small"\nbase-url = "{server.url}"\nseed = 5\n')
    server.requests.clear()
    assert folder.gotc(*VERBS["run"], OPENAI_API_KEY=KEY).returncode == 0
    assert keys_sent(server) == {f"Bearer {KEY}"}
    assert folder.gotc("trust", "--revoke", ".").returncode == 0
    server.requests.clear()
    assert folder.gotc(*VERBS["run"], "--seed", 6, OPENAI_API_KEY=KEY).returncode == 0
    assert keys_sent(server) == {NO_KEY}


def test_a_host_may_have_a_key_of_its_own(folder: Folder, server: OpenAIServer) -> None:
    folder.configure(f'model = "openai:small"\nbase-url = "{server.url}"\n')
    port = server.url.rsplit(":", 1)[1].removesuffix("/v1")
    keys = {"OPENAI_API_KEY": KEY, f"GOTC_KEY_127_0_0_1_{port}": "own-key", "GOTC_KEY_127_0_0_1": "no"}
    done = document(folder.gotc(*VERBS["run"], "--json", **keys))
    assert keys_sent(server) == {"Bearer own-key"}
    assert done["endpoints"] == [{"url": server.url, "named_by": "gotc.toml", "key": True}]
    server.requests.clear()
    folder.gotc(*VERBS["run"], "--seed", 1, "--base-url", server.url, **keys)
    assert keys_sent(server) == {"Bearer own-key"}


HOSTS = st.lists(st.from_regex(r"[a-z0-9]([a-z0-9-]{0,4}[a-z0-9])?", fullmatch=True), min_size=1, max_size=4)


@given(HOSTS, HOSTS)
def test_no_two_hosts_share_a_key_variable(some: list[str], others: list[str]) -> None:
    """Whoever has `lab-example.org` is not `lab.example.org`."""
    one, another = ".".join(some), ".".join(others)
    assert (key_variable_of(one, None) == key_variable_of(another, None)) == (one == another)


def test_hosts_that_differ_in_a_hyphen_have_two_keys() -> None:
    names = [key_variable_of(host, None) for host in ("a.b-c.org", "a-b.c.org", "a.b.c.org", "a--b.c.org")]
    assert len(set(names)) == 4
    assert names[0] == "GOTC_KEY_A_B__C_ORG"
    assert not any(
        key_variable_of(host, 80) for host in ("a_b.org", "::1", "-a.org", "a..b", "bücher.de", "")
    )


def test_the_providers_own_host_without_tls_gets_no_key(folder: Folder) -> None:
    folder.configure('model = "openai:small"\nbase-url = "http://api.openai.com/v1"\n')
    done = folder.gotc(*VERBS["run"], "--no-retry", OPENAI_API_KEY=KEY)
    assert done.returncode == 2
    assert "no key goes to http://api.openai.com/v1, which gotc.toml names" in done.stderr


def test_who_refuses_the_missing_key_is_told_why_there_is_none(folder: Folder) -> None:
    with OpenAIServer(key=KEY) as server:
        folder.configure(f'model = "openai:small"\nbase-url = "{server.url}"\n')
        done = folder.gotc(*VERBS["run"], "--no-retry", OPENAI_API_KEY=KEY)
    assert done.returncode == 1
    assert "no key was sent, since gotc.toml named the address: `gotc trust .`" in done.stderr
    assert KEY not in done.stderr


# ------------------------------------------------------------------ what reaches out of a project

ELSEWHERE = ("{outside}/victim", "../outside/victim", "link/victim")
REACHING = [
    *((verb, "cache", "postgresql://user:hidden@127.0.0.1:9/x") for verb in VERBS),
    *((verb, "cache", path) for verb in VERBS for path in ELSEWHERE),
    *(("run", name, path) for name in ("record", "trace") for path in ELSEWHERE),
    *((verb, "html", path) for verb in ("eval", "compare") for path in ELSEWHERE),
    *(("tune", name, path) for name in ("out", "report", "storage") for path in ELSEWHERE),
    ("tune", "storage", "postgresql://user:hidden@127.0.0.1:9/x"),
    ("tune", "storage", "sqlite:////abs/x.db"),
    ("tune", "storage", "sqlite:///file:x.db?uri=true"),
    ("run", "otel", "http://127.0.0.1:9"),
    ("run", "otel", "http:\t//127.0.0.1:9"),
    *(("run", name, path) for name in ("data", "inputs", "tuned", "prices") for path in ELSEWHERE),
    ("run", "model", "replay:{outside}/victim"),
    ("run", "model", "local:../outside/victim"),
    ("run", "record", "\0"),
]


@pytest.mark.parametrize(("verb", "name", "value"), REACHING)
def test_settings_that_point_outside_the_project_are_refused(
    folder: Folder, verb: str, name: str, value: str
) -> None:
    outside = folder.path.parent / "outside"
    outside.mkdir()
    (outside / "victim").write_text("mine")
    (folder.path / "link").symlink_to(outside)
    text = json.dumps(value.format(outside=outside))
    command = (*VERBS[verb], *(() if verb == "tune" or name == "model" else ("--model", "simulated")))
    for file, body in (
        ("gotc.toml", f"[{verb}]\n{name} = {text}"),
        ("pyproject.toml", f"[tool.gotc.{verb}]\n{name} = {text}"),
    ):
        (folder.path / file).write_text(body)
        done = folder.gotc(*command)
        assert done.returncode == 2, done.stderr
        assert f"error: {file} sets `{name} = " in done.stderr
        assert "gotc trust" in done.stderr
        assert "hidden" not in done.stderr
        assert len(done.stderr.splitlines()) == 2
        found = document(folder.gotc(*command, *(("--json",))), 2)
        assert found["error"]["kind"] == "NotTrusted"
        (folder.path / file).unlink()
    assert {path.name for path in outside.iterdir()} == {"victim"}
    assert (outside / "victim").read_text() == "mine"
    assert not (folder.path / ".gotc").exists()


def test_inputs_from_files_elsewhere_are_not_read(folder: Folder, server: OpenAIServer) -> None:
    secret = folder.home / "secret.txt"
    secret.write_text("what nobody may know")
    (folder.path / "gotc.toml").write_text(
        f'model = "openai:small"\nbase-url = "{server.url}"\n[run]\ninput = ["question=@{secret}"]\n'
    )
    done = folder.gotc("run", "vote.got")
    assert done.returncode == 2
    assert "gotc.toml sets `input = question=@" in done.stderr
    assert not server.requests


@pytest.mark.parametrize(
    "storage", ["postgresql://u:hidden@127.0.0.1:9/x", "../x/s.journal", "sqlite:////abs/o.db"]
)
def test_a_study_s_storage_elsewhere_is_refused(folder: Folder, storage: str) -> None:
    path = folder.path / "vote.got"
    path.write_text(path.read_text() + f'    storage "{storage}"\n')
    done = folder.gotc(*VERBS["tune"], "--model", "simulated")
    assert done.returncode == 2
    assert "error: vote.got has the storage = " in done.stderr
    assert "hidden" not in done.stderr
    assert not (folder.path.parent / "x").exists()
    shown = document(folder.gotc("trust", "--json"))["settings"]
    assert len(shown) == 1
    assert shown[0].startswith("storage = ")
    assert "hidden" not in shown[0]
    after = folder.gotc(*VERBS["tune"], "--model", "simulated", "--no-retry")
    assert "outside its project" not in after.stderr


@pytest.mark.parametrize(
    "spec", ["local:weights.gguf", "local:{outside}/w.gguf", "replay:../outside/r.jsonl"]
)
def test_a_file_that_a_program_names_as_its_model_is_refused(
    folder: Folder, server: OpenAIServer, spec: str
) -> None:
    """Weights are read by code that was not written against strangers; recordings elsewhere are others'."""
    outside = folder.path.parent / "outside"
    outside.mkdir()
    for path in (outside / "w.gguf", outside / "r.jsonl", folder.path / "weights.gguf"):
        path.write_bytes(b"nothing of the kind")
    spec = spec.format(outside=outside)
    (folder.path / "vote.got").write_text(
        PLAIN.replace("max_tokens 20", f'max_tokens 20\n    model "{spec}"')
    )
    command = (*VERBS["run"], "--model", "openai:small", "--base-url", server.url)
    done = folder.gotc(*command)
    assert done.returncode == 2, done.stderr
    assert f"the program names the model {spec}, a file that needs your trust" in done.stderr
    assert "gotc trust" in done.stderr
    (shown,) = document(folder.gotc("trust", "--json"))["settings"]
    assert shown.startswith("model = /")
    assert "needs your trust" not in folder.gotc(*command).stderr
    assert folder.gotc("trust", "--revoke", ".").returncode == 0
    # The user's own word, for this run.
    assert "needs your trust" not in folder.gotc(*VERBS["run"], "--model", spec).stderr
    assert not server.requests


def test_a_recording_in_the_project_may_be_named(folder: Folder, server: OpenAIServer) -> None:
    (folder.path / "vote.got").write_text(PLAIN)
    command = (*VERBS["run"], "--model", "openai:small", "--base-url", server.url, "--no-cache")
    assert folder.gotc(*command, "--record", "r.jsonl").returncode == 0
    text = PLAIN.replace("max_tokens 20", 'max_tokens 20\n    model "replay:r.jsonl"')
    (folder.path / "vote.got").write_text(text)
    server.requests.clear()
    done = folder.gotc(*command)
    assert done.returncode == 0, done.stderr
    assert not server.requests


def test_what_is_harmless_is_used(folder: Folder) -> None:
    (folder.path / "vote.got").write_text(SIMULATED)
    folder.configure(
        'model = "simulated"\ncache = ".gotc/other.sqlite"\nmax-calls = 1\n'
        '[run]\nrecord = "made/record.jsonl"\ntrace = "trace.jsonl"\nset = ["tries=3"]\n'
    )
    done = folder.gotc(*VERBS["run"], "--allow-python")
    assert done.returncode == 3, done.stderr
    for name in (".gotc/other.sqlite", "made/record.jsonl", "trace.jsonl"):
        assert (folder.path / name).exists()


def test_trust_of_a_setting_ends_with_its_value(folder: Folder) -> None:
    """And the command line goes before all files."""
    (folder.path / "vote.got").write_text(SIMULATED)
    command = (*VERBS["run"], "--allow-python", "--no-cache", "--quiet")
    folder.configure('[run]\nrecord = "../record.jsonl"\n')
    assert folder.gotc(*command).returncode == 2
    assert folder.gotc(*command, "--record", "here.jsonl").returncode == 0
    assert folder.gotc(*command, "--isolated").returncode == 0
    assert folder.gotc(*command, GOTC_ISOLATED="1").returncode == 0
    assert folder.gotc("trust", "--only", "python").returncode == 0
    assert folder.gotc(*command).returncode == 2
    assert folder.gotc("trust", "--only", "settings").returncode == 0
    assert folder.gotc(*command).returncode == 0
    assert (folder.path.parent / "record.jsonl").exists()
    folder.configure('[run]\nrecord = "../other.jsonl"\n')
    assert folder.gotc(*command).returncode == 2


@pytest.mark.parametrize("name", ["loop", "x" * 3000])
def test_what_no_folder_can_be_is_one_message(folder: Folder, name: str) -> None:
    (folder.path / "loop").symlink_to("loop")
    done = folder.gotc("trust", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no folder")


def test_isolated_commands_ignore_even_what_does_not_parse(folder: Folder) -> None:
    folder.configure("model = = 3")
    (folder.path / "vote.got").write_text(SIMULATED)
    for words in (
        ("check", "vote.got"),
        ("explain", "vote.got"),
        ("cache", "stats"),
        (*VERBS["run"], "--allow-python"),
    ):
        assert "does not parse" in folder.gotc(*words).stderr
        assert "does not parse" not in folder.gotc(*words, "--isolated").stderr


def test_a_project_does_not_raise_the_user_s_own_limits(folder: Folder) -> None:
    (folder.path / "vote.got").write_text(SIMULATED)
    folder.own("max-calls = 1\nmax-usd = 5\nallow-python = true\nno-python = false\n")
    folder.configure('max-calls = 100\nmax-usd = "$100"\n')
    done = folder.gotc(*VERBS["run"])
    assert "1 of 1 calls made" in done.stderr
    folder.configure("max-calls = 0\n")
    assert "0 of 0 calls made" in folder.gotc(*VERBS["run"]).stderr
    folder.own("no-python = true\n")
    folder.configure("no-python = false\n")
    assert "`--no-python` forbids" in folder.gotc(*VERBS["run"]).stderr


def test_an_untrusted_history_gets_neither_keys_nor_files(folder: Folder, server: OpenAIServer) -> None:
    (folder.path / "vote.got").write_text(PLAIN)
    ordered = (*VERBS["run"], "--model", "openai:small", "--base-url", server.url)
    assert folder.gotc(*ordered, OPENAI_API_KEY=KEY).returncode == 0
    (record,) = (folder.path / ".gotc" / "runs").glob("*.json")
    name = record.stem
    server.requests.clear()
    done = folder.gotc("run", "--resume", name, "--no-cache", OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert keys_sent(server) == {NO_KEY}
    assert f"named by run {name}, gets no key" in done.stderr
    again = max(
        (folder.path / ".gotc" / "runs").glob("*.json"), key=lambda path: path.stat().st_mtime_ns
    ).stem
    assert again != name
    done = folder.gotc("run", "--resume", again, "--seed", 3, OPENAI_API_KEY=KEY)
    assert f"{server.url} (named by run {again}, gets no key)" in done.stderr
    done = folder.gotc("run", "--resume", again, "--seed", 4, "--base-url", server.url, OPENAI_API_KEY=KEY)
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    content = record.read_text()
    for changed in ('"cache":"postgresql://127.0.0.1:9/x"', '"cache":"/abs/victim.sqlite"'):
        assert '"cache":".gotc/cache.sqlite"' in content
        record.write_text(content.replace('"cache":".gotc/cache.sqlite"', changed))
        done = folder.gotc("run", "--resume", name, OPENAI_API_KEY=KEY)
        assert done.returncode == 2
        assert f"run {name} sets `cache = " in done.stderr


# ------------------------------------------------------------------ Python

RUNS: list[tuple[str, tuple[str, ...]]] = [
    (program, (*VERBS[verb], "--no-cache", *more))
    for program, more in ((SIMULATED, ()), (IMPORTING, ("--model", "simulated")))
    for verb in VERBS
]


@pytest.mark.parametrize(
    ("program", "command"), RUNS, ids=lambda value: value[0] if isinstance(value, tuple) else ""
)
def test_untrusted_python_does_not_run(folder: Folder, program: str, command: tuple[str, ...]) -> None:
    simulator = "" if program == SIMULATED else 'simulate with "sim.py"\n'
    (folder.path / "vote.got").write_text(simulator + program + STUDY)
    done = folder.gotc(*command)
    assert done.returncode == 2, done.stdout
    assert folder.found is None
    (line, help) = done.stderr.splitlines()[-2:]
    file = "sim.py" if program == SIMULATED else "tools.py"
    assert line.startswith("error: this program ")
    assert line.endswith(f"`{file}`, Python in a folder that is not trusted: {folder.path / file}")
    assert "`gotc trust .`" in help
    assert "`--allow-python`" in help
    assert document(folder.gotc(*command, "--json"), 2)["error"]["kind"] == "NotTrusted"
    assert folder.gotc(*command, "--no-python", "--allow-python").returncode == 2
    assert folder.found is None
    assert folder.gotc(*command, GOTC_ALLOW_PYTHON="1").returncode == 0
    assert folder.found is not None


LOOKS: list[tuple[str, ...]] = [
    ("check", "vote.got"),
    ("fmt", "--check", "vote.got"),
    ("ir", "vote.got"),
    ("graph", "vote.got", "--out", "-", "--format", "dot"),
    ("prompts", "vote.got"),
    ("explain", "vote.got"),
    ("explain", "vote.got", "--input", "question=why"),
    ("explain", "vote.got", "--data", "data.csv"),
    ("trust", "--dry-run"),
    ("trust",),
    ("models", "--offline"),
    ("runs",),
]


@pytest.mark.parametrize(
    "program", [SIMULATED, f'simulate with "sim.py"\n{IMPORTING}'], ids=["simulated", "imports"]
)
@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_inspecting_a_program_runs_no_python(folder: Folder, program: str, words: tuple[str, ...]) -> None:
    (folder.path / "vote.got").write_text(program)
    done = folder.gotc(*words)
    assert done.returncode == (1 if "fmt" in words else 0), done.stderr
    assert folder.found is None


def test_prompts_that_python_would_make_are_refused(folder: Folder) -> None:
    (folder.path / "vote.got").write_text(IMPORTING)
    words = ("prompts", "vote.got", "--input", "question=why")
    done = folder.gotc(*words)
    assert done.returncode == 2
    assert "not trusted" in done.stderr
    assert folder.found is None
    assert folder.gotc(*words, "--allow-python").returncode == 0
    assert folder.found is not None


def test_an_estimate_says_what_it_does_not_know(folder: Folder) -> None:
    (folder.path / "vote.got").write_text(SIMULATED)
    words = ("explain", "vote.got", "--input", "question=why")
    done = folder.gotc(*words)
    assert "expected values are missing: this program is simulated by `sim.py`" in done.stdout
    assert "about" not in done.stdout.partition("with tries")[0]
    found = document(folder.gotc(*words, "--json"))
    assert found["output_tokens"]["expected"] is None
    assert found["usd"]["expected"] is None
    assert "gotc trust ." in found["not_expected"]
    known = document(folder.gotc(*words, "--json", "--allow-python"))
    assert known["not_expected"] is None
    assert known["output_tokens"]["expected"] > 0
    assert folder.found is not None


def test_trust_of_python_is_by_path_and_survives_edits(folder: Folder, tmp_path: Path) -> None:
    (folder.path / "vote.got").write_text(SIMULATED)
    command = (*VERBS["run"], "--no-cache", "--quiet")
    assert folder.gotc("trust", folder.path.name, MARKER="").returncode == 2  # there is no such folder here
    found = document(folder.gotc("trust", "--json"))
    assert found == {
        "format_version": 2,
        "folder": str(folder.path),
        "trusted": True,
        "python": ["sim.py", "tools.py"],
        "settings": [],
    }
    assert folder.gotc(*command).returncode == 0
    (folder.path / "sim.py").write_text(SIM + "# edited\n")
    assert folder.gotc(*command).returncode == 0
    below = folder.path / "below"
    below.mkdir()
    for name in ("vote.got", "sim.py"):
        (below / name).write_text((folder.path / name).read_text())
    assert folder.gotc("run", "below/vote.got", *command[2:]).returncode == 0
    # A copy elsewhere is another folder, and so is what a link from a trusted folder leads to.
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("vote.got", "sim.py"):
        (copy / name).write_text((folder.path / name).read_text())
    (folder.path / "link").symlink_to(copy)
    for path in (copy / "vote.got", Path("link/vote.got")):
        done = folder.gotc("run", path, *command[2:])
        assert done.returncode == 2
        assert f"not trusted: {copy / 'sim.py'}" in done.stderr
    assert [one["folder"] for one in document(folder.gotc("trust", "--list", "--json"))["trusted"]] == [
        str(folder.path)
    ]
    assert folder.gotc("trust", "--revoke").returncode == 0
    assert folder.gotc(*command).returncode == 2
    assert folder.gotc("trust", "--revoke").returncode == 2
    assert folder.gotc("trust", "--list").stdout == "nothing is trusted\n"


@pytest.mark.parametrize("file", CONFIGS)
@pytest.mark.parametrize("line", ["allow-python = true", 'python-key = ["OPENAI_API_KEY"]'])
def test_a_project_cannot_allow_its_own_python(folder: Folder, file: str, line: str) -> None:
    (folder.path / "vote.got").write_text(SIMULATED)
    folder.configure(line, file)
    done = folder.gotc(*VERBS["run"])
    assert done.returncode == 2
    assert "which only the user can allow" in done.stderr
    assert folder.found is None
    folder.configure("", file)
    folder.own("allow-python = true\n")
    assert folder.gotc(*VERBS["run"]).returncode == 0
    assert folder.found is not None


SECRETS = {
    name: f"planted-{name.lower()}"
    for name in (
        *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY"),
        *("PGPASSWORD", "MY_SECRET", "DB_PASSWORD", "GOTC_KEY_LLM_ORG", "SOMEAPIKEY", "lower_token"),
    )
} | {"DATABASE_URL": "postgresql://user:planted-url@host/x"}


@pytest.mark.parametrize("program", [SIMULATED, IMPORTING], ids=["simulated", "imports"])
def test_python_of_a_program_sees_no_keys(folder: Folder, server: OpenAIServer, program: str) -> None:
    """And yet the endpoint gets its own."""
    (folder.path / "vote.got").write_text(program)
    asked = () if program == SIMULATED else ("--model", "openai:small", "--base-url", server.url)
    done = folder.gotc(*VERBS["run"], *asked, "--allow-python", "--no-cache", HARMLESS="told", **SECRETS)
    assert done.returncode == 0, done.stderr
    assert folder.found is not None
    assert "planted" not in folder.found
    assert "told" in folder.found
    if asked:
        assert keys_sent(server) == {"Bearer planted-openai_api_key"}
    kept = ("--python-key", "HF_TOKEN")
    assert (
        folder.gotc(*VERBS["run"], *asked, "--allow-python", "--no-cache", *kept, **SECRETS).returncode == 0
    )
    assert folder.found.count("planted") == 1
    assert "planted-hf_token" in folder.found


def test_a_plug_in_s_second_model_finds_its_key_while_it_is_hidden(
    folder: Folder, server: OpenAIServer
) -> None:
    """Models are opened when they are first asked, after the program's Python was imported."""
    program = IMPORTING.replace(
        "Generate(k=tries) answer(question)", 'Generate(k=tries, model="other") answer(question)'
    )
    (folder.path / "vote.got").write_text(program)
    asked = ("--model", "openai:small", "--base-url", server.url, "--allow-python")
    done = folder.gotc(*VERBS["run"], *asked, OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert {request.body["model"] for request in server.requests} == {"other"}
    assert keys_sent(server) == {f"Bearer {KEY}"}


ACCOUNT = {
    "OPENAI_ORG_ID": "planted-org",
    "OPENAI_PROJECT_ID": "planted-project",
    "OPENAI_CUSTOM_HEADERS": "X-Gateway: planted-gateway\nX-Other: planted:other",
}


def test_the_user_s_account_goes_where_the_key_goes(folder: Folder, server: OpenAIServer) -> None:
    (folder.path / "vote.got").write_text(IMPORTING)
    folder.configure(f'base-url = "{server.url}"\n')
    asked = (*VERBS["run"], "--model", "openai:small", "--allow-python", "--no-cache")
    assert folder.gotc(*asked, OPENAI_API_KEY=KEY, **ACCOUNT).returncode == 0
    assert "planted" not in str([request.headers for request in server.requests])
    server.requests.clear()
    assert folder.gotc(*asked, "--base-url", server.url, OPENAI_API_KEY=KEY, **ACCOUNT).returncode == 0
    sent = server.requests[0].headers
    names = ("openai-organization", "openai-project", "x-gateway", "x-other")
    assert [sent[name] for name in names] == [
        "planted-org",
        "planted-project",
        "planted-gateway",
        "planted:other",
    ]
    assert "gateway" not in (folder.found or "gateway")


@contextmanager
def database() -> Iterator[tuple[int, list[bytes]]]:
    """A fake PostgreSQL server that asks for a password and rejects it: its port, and the passwords."""
    given: list[bytes] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.rfile.read(int.from_bytes(self.rfile.read(4), "big") - 4)
            self.wfile.write(b"R" + (8).to_bytes(4, "big") + (3).to_bytes(4, "big"))
            if self.rfile.read(1) == b"p":
                given.append(self.rfile.read(int.from_bytes(self.rfile.read(4), "big") - 4).rstrip(b"\0"))
            words = b"SFATAL\0C28P01\0Mno\0\0"
            self.wfile.write(b"E" + (len(words) + 4).to_bytes(4, "big") + words)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as opened:
        threading.Thread(target=opened.serve_forever, args=(0.02,), daemon=True).start()
        yield opened.server_address[1], given
        opened.shutdown()


@pytest.mark.parametrize(("verb", "option"), [("run", "--cache"), ("tune", "--storage")])
def test_a_database_gets_its_password_while_it_is_hidden(folder: Folder, verb: str, option: str) -> None:
    pytest.importorskip("psycopg")
    (folder.path / "vote.got").write_text(SIMULATED + STUDY)
    with database() as (port, given):
        address = f"postgresql://user@127.0.0.1:{port}/x?sslmode=disable&gssencmode=disable"
        done = folder.gotc(*VERBS[verb], option, address, "--allow-python", PGPASSWORD="planted-password")
    assert done.returncode == 2, done.stderr
    assert set(given) == {b"planted-password"}
    assert "planted" not in (folder.found or "planted") + done.stderr


def test_the_host_s_environment_comes_back(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    import gotlang
    from gotlang import Options

    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.home / "config"))
    monkeypatch.setenv("MARKER", str(folder.home / "ran"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    path = folder.path / "vote.got"
    path.write_text(SIMULATED)
    before = dict(os.environ)
    options = Options(model="simulated", cache=None)
    with pytest.raises(gotlang.errors.NotTrusted, match="not trusted") as caught:
        gotlang.run(path, question="why", options=options)
    assert caught.value.exit_code == 2
    assert dict(os.environ) == before
    assert gotlang.load(path).explain(question="why", options=options).not_expected is not None
    trust.grant(folder.path)
    assert gotlang.run(path, question="why", options=options).value == 7
    assert folder.found is not None
    assert KEY not in folder.found
    assert dict(os.environ) == before
    monkeypatch.setenv("GOTC_ALLOW_PYTHON", "1")
    assert Options().python is True
    with pytest.raises(gotlang.errors.UsageError, match="forbids"):
        gotlang.run(path, question="why", options=Options(model="simulated", cache=None, python=False))


def test_functions_of_the_host_need_no_trust(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    import gotlang
    from gotlang import Options

    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.home / "config"))
    text = "scheme half(number: int) -> int:\n    x = number\n    return halved(x)\n"
    program = gotlang.compile(text, functions=["halved -> int"])
    found = program.run(number=8, options=Options(cache=None, functions={"halved": lambda n: n // 2}))
    assert found.value == 4


# ------------------------------------------------------------------ where trust is kept


def test_init_trusts_what_it_makes(folder: Folder) -> None:
    done = folder.gotc("init", "new", "--template", "classify")
    assert "trusted new, so" in done.stdout
    assert folder.gotc("run", "new/classify.got", "--input", "ticket=why").returncode == 0
    (folder.path / "other.got").write_text(SIMULATED)
    done = folder.gotc("init", ".", "--template", "tree")
    assert "trusted puzzle.py" in done.stdout and "trusted simulator.py" in done.stdout
    assert folder.gotc("run", "tree.got", "--input", "start=2", "--input", "target=9").returncode == 0
    # What was there before is as it was.
    assert folder.gotc("run", "other.got", "--input", "question=why").returncode == 2
    assert folder.found is None


def test_grants_are_the_user_s_alone(folder: Folder) -> None:
    assert folder.gotc("trust").returncode == 0
    (path,) = (folder.home / "config" / "gotc" / "trust").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", ["", "{", "[]", '{"folder": 3}', "\x00"])
def test_a_damaged_grant_grants_nothing(folder: Folder, content: str) -> None:
    (folder.path / "vote.got").write_text(SIMULATED)
    assert folder.gotc("trust").returncode == 0
    (path,) = (folder.home / "config" / "gotc" / "trust").iterdir()
    path.write_text(content)
    assert folder.gotc(*VERBS["run"]).returncode == 2
    assert folder.gotc("trust", "--list").stdout == "nothing is trusted\n"
    assert folder.gotc("trust").returncode == 0
    assert folder.gotc(*VERBS["run"]).returncode == 0


def test_a_grant_of_one_folder_put_in_the_place_of_another_grants_nothing(folder: Folder) -> None:
    (folder.path / "vote.got").write_text(SIMULATED)
    elsewhere = folder.path.parent / "elsewhere"
    elsewhere.mkdir()
    assert folder.gotc("trust", elsewhere).returncode == 0
    (other,) = (folder.home / "config" / "gotc" / "trust").iterdir()
    assert folder.gotc("trust").returncode == 0
    (own,) = {*other.parent.iterdir()} - {other}
    other.replace(own)
    assert folder.gotc(*VERBS["run"]).returncode == 2


def test_a_folder_of_configuration_that_is_relative_is_none(folder: Folder) -> None:
    """The project could have one."""
    fake = folder.path / "config" / "gotc"
    fake.mkdir(parents=True)
    (fake / "config.toml").write_text("allow-python = true\n")
    (folder.path / "vote.got").write_text(SIMULATED)
    assert folder.gotc(*VERBS["run"], XDG_CONFIG_HOME="config").returncode == 2
    assert folder.found is None


def test_a_dry_run_grants_nothing(folder: Folder) -> None:
    folder.configure('base-url = "http://user:hidden@127.0.0.1:9/v1"\n[eval]\nhtml = "../page.html"\n')
    done = folder.gotc("trust", "--dry-run")
    lines = ["base-url = http://***@127.0.0.1:9/v1", f"html = {folder.path.parent / 'page.html'}"]
    assert [line.strip() for line in done.stdout.splitlines()] == [
        f"would be trusted: {folder.path}",
        "its Python runs: 2 files now: sim.py, tools.py",
        *lines,
    ]
    assert folder.gotc("trust", "--list").stdout == "nothing is trusted\n"
    assert folder.gotc("trust").stdout == done.stdout.replace("would be trusted", "trusted")
    listed: dict[str, Any] = document(folder.gotc("trust", "--list", "--json"))
    assert listed["trusted"] == [{"folder": str(folder.path), "python": True, "settings": lines}]
    assert "hidden" not in next((folder.home / "config" / "gotc" / "trust").iterdir()).read_text()


def test_what_cannot_be_stored_is_said(folder: Folder) -> None:
    (folder.home / "config").write_text("a file")
    done = folder.gotc("trust")
    assert done.returncode == 2
    assert "cannot store what is trusted" in done.stderr
    done = folder.gotc("init", "new")
    assert done.returncode == 0
    assert "run it with `--allow-python`" in done.stdout

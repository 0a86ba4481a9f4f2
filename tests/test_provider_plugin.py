"""A provider that speaks another protocol is one file and an entry point: that of Anthropic's, installed as a
plug-in of another name."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.gotc import ROOT, document, gotc, vote
from support.openai_server import Fault, OpenAIServer, limited, status

EXAMPLE = ROOT / "gotlang" / "models" / "anthropic.py"
KEY = "sk-ant-planted-0123456789abcdef"
MODEL = "claude:claude-haiku-4-5"
RUN = ("run", "vote.got", "--input", "question=why", "--model", MODEL, "--no-cache")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages with the example in it, as pip would leave it."""
    folder = tmp_path / "site"
    info = folder / "gotc_claude-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(EXAMPLE, folder / "gotc_claude.py")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gotc-claude\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gotlang.models]\nclaude = gotc_claude:AnthropicModel\n")
    vote(tmp_path)
    return folder


def run(
    site: Path, server: OpenAIServer | None, *arguments: str, key: str = KEY
) -> subprocess.CompletedProcess[str]:
    url = () if server is None else ("--base-url", server.root)
    path = f"{ROOT}:{site}"
    return gotc(*arguments, *url, cwd=site.parent, PYTHONPATH=path, ANTHROPIC_API_KEY=key)


def messages_server(*faults: Fault) -> OpenAIServer:
    models = ("claude-haiku-4-5", "claude-sonnet-4-5", "claude-of-tomorrow")
    return OpenAIServer(lambda body, index: "7", key=KEY, models=models, faults=faults)


def bodies(server: OpenAIServer) -> list[dict[str, Any]]:
    return [seen.body for seen in server.requests if seen.body]


def test_it_runs_and_is_limited_and_priced(site: Path) -> None:
    with messages_server() as server:
        found = document(run(site, server, *RUN, "--json", "--model-concurrency", f"{MODEL}=2"))
        shown = run(site, server, *RUN)
    assert found["result"] == 7
    assert found["model"] == MODEL
    sent = bodies(server)
    assert sent[0] == {
        "model": "claude-haiku-4-5",
        "max_tokens": 20,
        "messages": [{"role": "user", "content": "why"}],
        "temperature": 0.8,
    }
    calls = len(sent) // 2
    assert found["spent"]["calls"] == calls >= 2
    # $1 and $5 per million tokens are genai-prices' figures, wherever the endpoint is.
    assert found["spent"]["usd"] == pytest.approx(calls * (4 * 1 + 1 * 5) / 1e6)
    assert "$0.000027" in shown.stderr


def test_what_is_busy_is_tried_again(site: Path) -> None:
    with messages_server(limited({"retry-after": "0.05"}), status(529, "Overloaded")) as server:
        found = document(run(site, server, *RUN, "--json"))
    assert found["result"] == 7
    assert found["spent"]["requests"] == len(bodies(server)) == found["spent"]["calls"] + 2


def test_a_wrong_key_is_an_error_that_does_not_show_it(site: Path) -> None:
    wrong = "sk-ant-wrong-fedcba9876543210"
    with messages_server() as server:
        done = run(site, server, *RUN, key=wrong)
    assert done.returncode == 1
    assert "HTTP 401: Incorrect API key provided: ***" in done.stderr
    assert "ANTHROPIC_API_KEY, which is set, but was refused" in done.stderr
    assert wrong not in done.stdout + done.stderr
    missing = run(site, None, *RUN, key="")
    assert missing.returncode == 2
    assert "ANTHROPIC_API_KEY is not set" in missing.stderr


def test_settings_that_the_api_does_not_have_are_noted(site: Path) -> None:
    program = site.parent / "vote.got"
    program.write_text(program.read_text().replace("    max_tokens", "    logprobs true\n    max_tokens"))
    with messages_server() as server:
        found = document(run(site, server, *RUN, "--json"))
    assert found["notes"] == [
        "the endpoint refuses `logprobs`: it was left out",
        "log-probabilities were requested but not returned",
    ]


def test_estimates_and_the_list_of_models_know_it(site: Path) -> None:
    estimate = run(site, None, "explain", "vote.got", "--input", "question=why", "--model", MODEL)
    assert estimate.returncode == 0, estimate.stderr
    assert "no known price" not in estimate.stdout
    with messages_server() as server:
        listed = run(site, server, "models", "--provider", "claude")
    assert listed.returncode == 0, listed.stderr
    assert "claude:claude-haiku-4-5  $1 in, $5 out per million tokens" in listed.stdout
    assert "claude:claude-of-tomorrow  price unknown" in listed.stdout
    assert "claude  Anthropic's Messages API: `anthropic:MODEL`" in listed.stdout


def test_a_prompt_s_model_is_of_the_run_s_provider(site: Path) -> None:
    program = site.parent / "vote.got"
    named = '    model "claude-sonnet-4-5"\n    max_tokens'
    program.write_text(program.read_text().replace("    max_tokens", named))
    with messages_server() as server:
        limit = ("--model-concurrency", "claude:claude-sonnet-4-5=1")
        found = document(run(site, server, *RUN, "--json", *limit))
        refused = run(site, server, *RUN, "--model-concurrency", "claude:claude-opus=1")
    assert found["result"] == 7
    assert {body["model"] for body in bodies(server)} == {"claude-sonnet-4-5"}
    assert refused.returncode == 2
    assert "the program does not use the model `claude-opus`" in refused.stderr


def test_a_plug_in_that_does_not_load_is_named(site: Path) -> None:
    (site / "gotc_claude.py").write_text("import no_such_module\n")
    done = run(site, None, *RUN)
    assert done.returncode == 2
    assert "`claude` (gotc_claude:AnthropicModel) cannot be loaded: ModuleNotFoundError" in done.stderr
    assert run(site, None, "models", "--offline").returncode == 0

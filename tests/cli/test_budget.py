"""`--budget NAME`: a budget that the runs on a cache share, and the command that shows it."""

from __future__ import annotations

from pathlib import Path

from support.gotc import document, gotc, vote
from support.openai_server import OpenAIServer, gateway

BUDGET = ("--budget", "team")


def run(server: OpenAIServer, question: str, *more: str) -> tuple[str, ...]:
    model = ("--model", "openai:m", "--base-url", server.url, "--json")
    return ("run", "vote.got", "--input", f"question={question}", *model, *BUDGET, *more)


def test_runs_share_a_budget_and_its_limit_is_changed_for_all(tmp_path: Path) -> None:
    vote(tmp_path)
    with OpenAIServer(lambda body, index: "7", faults=[None, gateway(500)]) as server:
        assert document(gotc(*run(server, "a", "--max-calls", "8"), cwd=tmp_path))["spent"]["calls"] == 3
        # The second run's first request is charged and lost: its 3 calls are uncertain, and 2 are left.
        stopped = document(gotc(*run(server, "b"), cwd=tmp_path), 3)
        assert "the budget `team` does not allow the next request: " in stopped["partial"]
        (team,) = document(gotc("budget", "list", "--json", cwd=tmp_path))["budgets"]
        assert (team["name"], team["max_usd"], team["max_calls"]) == ("team", None, 8)
        assert (team["charged"]["calls"], team["uncertain"]["calls"], team["reserved"]["calls"]) == (3, 3, 0)
        other = gotc(*run(server, "c", "--max-calls", "9"), cwd=tmp_path)
        assert other.returncode == 2
        assert (
            "the budget `team` has a limit of 8 calls" in other.stderr and "gotc budget set" in other.stderr
        )
        changed = gotc("budget", "set", "team", "--max-calls", "20", cwd=tmp_path)
        assert changed.stderr == "team: 3 of 20 calls charged and 3 uncertain\n"
        assert document(gotc(*run(server, "b", "--max-calls", "20"), cwd=tmp_path))["spent"]["calls"] == 3
        assert gotc("budget", "list", cwd=tmp_path).stdout == "team: 6 of 20 calls charged and 3 uncertain\n"
        assert gotc("budget", "remove", "team", cwd=tmp_path).returncode == 0
        gone = gotc("budget", "remove", "team", cwd=tmp_path)
        assert (gone.returncode, gone.stdout) == (2, "") and "no budget `team`" in gone.stderr


def test_simulated_dollars_are_counted_apart(tmp_path: Path) -> None:
    vote(tmp_path)
    simulated = (
        "run",
        "vote.got",
        "--input",
        "question=a",
        "--model",
        "simulated",
        "--allow-python",
        *BUDGET,
    )
    assert gotc(*simulated, *BUDGET, "--max-calls", "5", cwd=tmp_path).returncode == 0
    assert gotc("budget", "list", cwd=tmp_path).stdout.startswith("team (simulated): ")

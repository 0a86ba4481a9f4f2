"""A model that is out for a while: a study and its page report it while it lasts, and the study continues by
itself.

Real waits, as in `tests/test_study_endpoint.py`: OUTAGE=200 python -m pytest tests/cli/test_outage.py
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from support.gotc import start
from support.openai_server import Fault, OpenAIServer, Seen, status
from support.studies import guess_study
from support.studio import studio
from support.waiting import sooner

LASTS_S = 11.0 if "OUTAGE" in os.environ else 2.0
PRICES = """
[small]
input_per_million = 1.0
output_per_million = 2.0
"""


def test_an_outage_is_said_while_it_lasts(tmp_path: Path) -> None:
    guess_study(tmp_path, "train 4, test 4\nminimize error(result, target)\ntrials 2")
    (tmp_path / "prices.toml").write_text(PRICES)
    began: list[float] = []
    runs, pages = tmp_path / ".gotc" / "runs", list[str]()

    def out(seen: Seen) -> Fault | None:
        if seen.number >= 3:  # in the midst of the first rows
            began.append(time.monotonic())
            return status(503, "overloaded") if time.monotonic() - began[0] < LASTS_S else None
        return None

    with OpenAIServer(lambda body, index: "7", faults=out) as server, studio(tmp_path) as served:
        some = (
            "tune",
            "study.got",
            "--model",
            "openai:small",
            "--prices",
            "prices.toml",
            "--quiet",
            "--json",
        )
        begin = start if "OUTAGE" in os.environ else sooner
        process = begin(*some, cwd=tmp_path, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="k")
        while process.poll() is None and not any("no response since" in page for page in pages):
            pages += [served.get(f"/studies/{path.stem}").text for path in runs.glob("*.json")]
            time.sleep(0.02)
        printed, told = process.communicate(timeout=180)
        assert process.returncode == 0, told
        lines = [line for line in told.splitlines() if "no response since" in line]
        assert lines and "503" in lines[0] and "Ctrl-C ends the command" in lines[0]
        assert "the model responds again" in told.splitlines()
        assert "no response since" in pages[-1] and "503" in pages[-1]
        (record,) = runs.glob("*.json")
        assert "outage" not in json.loads(record.read_text())["document"]
        document = json.loads(printed)
        charged = server.charged
        paid = (charged.input_tokens + 2 * charged.output_tokens) / 1e6
        assert abs(document["spent"]["usd"] - paid) < 1e-9

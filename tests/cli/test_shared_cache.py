"""Several processes on one data set with one cache between them."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from support.gotc import SORT128, digits, document, gotc, start
from support.openai_server import OpenAIServer
from support.sorter import Sorter

ROWS = 4


def told(found: dict[str, Any]) -> list[Any]:
    """What must not depend on who shares a cache."""
    return [[run[name] for name in ("row", "score", "correct")] for run in found["runs"]]


def asked(server: OpenAIServer) -> Counter[str]:
    """How often each request was made."""
    return Counter(json.dumps(seen.body, sort_keys=True) for seen in server.requests)


def test_four_processes_pay_once_but_for_what_is_under_way(tmp_path: Path) -> None:
    data = digits(tmp_path, ROWS)
    command = ("eval", SORT128, "--data", data, "--map", "numbers=Unsorted", "--parallel", "1", "--json")
    model = ("--model", "openai:small", "--no-early-stop", "--base-url")
    with OpenAIServer(Sorter(by="place")) as server:
        alone = document(gotc(*command, *model, server.url, "--cache", "alone.sqlite", cwd=tmp_path))
    once = asked(server)
    assert set(once.values()) == {1}
    with OpenAIServer(Sorter(by="place"), latency_s=0.05) as server:
        shared = (*command, *model, server.url, "--cache", "shared.sqlite")
        processes = []
        for number in range(4):
            processes.append(start(*shared, cwd=tmp_path))
            until = time.monotonic() + 60
            while len(asked(server)) < len(once) * (number + 1) / 5 and time.monotonic() < until:
                time.sleep(0.1)
        ended = [process.communicate(timeout=120) for process in processes]
        sent = len(server.requests)
        last = document(gotc(*shared, cwd=tmp_path))
    for process, (out, errors) in zip(processes, ended, strict=True):
        assert process.returncode == 0, errors
        assert told(json.loads(out)) == told(alone)
    assert asked(server).keys() == once.keys()
    # Whoever comes later catches up with the first by what is in the cache; then some ask at the same time.
    assert len(once) <= sent < 3 * len(once)
    assert len(server.requests) == sent
    assert last["spent"]["calls"] == 0
    assert told(last) == told(alone)

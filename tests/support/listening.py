"""A process that does what a local model's does, for tests: `python tests/support/listening.py`.

It says where it listens, answers with the seed it was given and the key in its environment, and ends with its
standard input.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, str(Path(__file__).resolve()))


def main() -> None:
    """Serve until standard input ends."""
    tests = Path(__file__).parents[1]
    sys.path[:0] = [str(tests.parent), str(tests)]
    from support.openai_server import OpenAIServer

    def answer(body: dict[str, Any], index: int) -> str:
        return f"{body.get('seed')} key {os.environ.get('OPENAI_API_KEY')}"

    with OpenAIServer(answer, latency_s=0.01) as server:
        print("loading...", flush=True)
        print("listening", server.url.removesuffix("/v1"), flush=True)
        sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()

"""The process that a local model runs in: llama.cpp's own OpenAI-compatible server on a free loopback port.

    python -m gotlang.models.local_server WEIGHTS SLOTS CONTEXT THREADS

It prints `listening URL` when it can be asked, and ends when its standard input does: so it never outlives
whoever started it, however that one ended.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

LISTENING = "listening "


def serve(weights: str, slots: int, context: int, threads: int) -> None:
    """Answer until standard input ends. `context` is in tokens for each of `slots` requests at a time."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    import xllamacpp

    parameters: Any = xllamacpp.CommonParams()
    parameters.model.path = weights
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_parallel = slots
    parameters.n_ctx = slots * context
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.warmup = False
    parameters.verbosity = -1
    server = xllamacpp.Server(parameters)
    print(f"{LISTENING}{server.listening_address}", flush=True)
    threading.Event().wait()


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], *map(int, sys.argv[2:5]))

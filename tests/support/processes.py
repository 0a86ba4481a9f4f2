"""Other processes that run pieces of a test: for caches that several of them share, and for killing them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

PREAMBLE = """
import json, os, random, resource, sys
from support.caches import a_request, an_answer
from gotlang.cache import open_cache
from gotlang.errors import CacheError
path = sys.argv[1]
"""


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that runs `code` with this one's modules."""
    root = Path(__file__).parent.parent
    return subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root.parent}"},
    )


def output_of(process: subprocess.Popen[str]) -> str:
    """What a process printed; it must end well and say nothing on stderr."""
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return out

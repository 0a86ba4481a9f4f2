"""How often laws are tried: a little, the same cases, in every test run; with LAWS new cases in a long one.

LAWS=2000 python -m pytest tests/test_run_failures.py
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

NEW = "LAWS" in os.environ
"""Whether cases are drawn anew."""


def times(usual: int) -> int:
    """`usual`, or what the environment variable LAWS says."""
    return int(os.environ.get("LAWS", usual))


def tried(usual: int) -> settings:
    """A law that is tried so often; how long that takes is no matter."""
    return settings(max_examples=times(usual), deadline=None, suppress_health_check=list(HealthCheck))

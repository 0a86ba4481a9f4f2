"""A Ray cluster of several nodes on this machine, each with its own processes, one of which can be killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from support.caches import no_postgres
from support.gotc import ROOT

why_not = "Ray is not installed" if find_spec("ray") is None else no_postgres
_NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}


@contextmanager
def cluster(nodes: int, **head: Any) -> Iterator[Any]:
    """A `ray.cluster_utils.Cluster` with so many nodes, ended at the end; `address` is where it is.
    `head` are further arguments of its first node."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = str(ROOT)  # a client's workers do not have the paths of its driver
    own = signal.getsignal(signal.SIGTERM)  # Ray sets one of its own, for good
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={**_NODE, **head})
    try:
        for _ in range(nodes - 1):
            found.add_node(**_NODE)
        yield found
    finally:
        found.shutdown()
        signal.signal(signal.SIGTERM, own)


def workers(found: Any) -> dict[int, str]:
    """The processes of workers on a cluster, each with its node's socket."""
    processes = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                command = file.read().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if command.startswith("ray::Worker"):
            processes[int(pid)] = command.strip()
    return processes

"""Engines, which run rows: in this process (`embedded`), or on the nodes of a Ray cluster (`ray`).

`worker` runs on a node, `cluster` distributes rows to workers and collects their results. Both have the same
`Session`: responses, claims and the budget are shared through the cache, as by any processes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gotlang.evaluate.evaluation import Engine
from gotlang.options import Options
from gotlang.program import CheckedProgram
from gotlang.session import Session


@asynccontextmanager
async def opened(program: CheckedProgram, options: Options) -> AsyncIterator[tuple[Session, Engine | None]]:
    """A session, and the engine of its rows: None for this process. Raises UsageError for an unavailable
    engine, and for options that it does not support."""
    if options.engine == "embedded":
        async with Session(program, options) as session:
            yield session, None
    else:
        from gotlang.engine.cluster import on_cluster

        async with on_cluster(program, options) as found:
            yield found

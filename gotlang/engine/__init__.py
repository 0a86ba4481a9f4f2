"""Where rows run: in this process (`embedded`), or on the nodes of a Ray cluster (`ray`).

`worker` is what runs on a node, `cluster` hands rows out to workers and takes their results. Both have the
same `Session`: the answers, the claims and the budget are those beside the cache, as of any processes.
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
    """A session, and what runs its rows: None for this process. Raises UsageError for an engine that cannot
    be had, and for options that do not fit it."""
    if options.engine == "embedded":
        async with Session(program, options) as session:
            yield session, None
    else:
        from gotlang.engine.cluster import on_cluster

        async with on_cluster(program, options) as found:
            yield found

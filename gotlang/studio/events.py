"""Server-sent events: changes that are sent to an open page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from gotlang.records import to_json

EVERY_S: Final = 0.15
"""Seconds between two checks of what is followed."""
_QUIET: Final = 100
"""Number of checks without news after which a comment tests whether the page is still open."""

News = Iterable[tuple[str, Any]]
"""Events: the name of each, and its data."""


def stream(request: Request, look: Callable[[], News | None]) -> Response:
    """Events for a page, until it is closed or the studio ends. `look` is called repeatedly in a thread, and
    returns the events since the last time; None if there will be no more.

    In the page: `follow(address, {name: (data) => ...})` of `served.js`.
    """

    async def written() -> AsyncIterator[str]:
        quiet = 0
        while (news := await asyncio.to_thread(look)) is not None:
            for name, data in news:
                quiet = 0
                yield f"event: {name}\ndata: {to_json(data)}\n\n"
            if request.app.state.studio.ending:
                return
            if (quiet := quiet + 1) % _QUIET == 0:
                yield ": still here\n\n"
            await asyncio.sleep(EVERY_S)
        yield "event: end\ndata: null\n\n"

    return StreamingResponse(written(), media_type="text/event-stream")

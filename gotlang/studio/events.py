"""Server-sent events: what a page is told while it is open, as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from gotlang.records import to_json

EVERY_S: Final = 0.15
"""How often what is followed is looked at."""
_QUIET: Final = 100
"""After so many looks without news a comment finds out whether the page is still there."""

News = Iterable[tuple[str, Any]]
"""Events: the name of each, and its data."""


def stream(request: Request, look: Callable[[], News | None]) -> Response:
    """Events for a page, until it is closed or the studio ends. `look` is called again and again in a thread,
    and gives what is new since the last time; None once there will be nothing more.

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

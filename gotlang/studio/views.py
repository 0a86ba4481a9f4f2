"""Pages as responses: the templates, styles and scripts of `gotlang.report`, by their addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from gotlang.errors import CompileError, GotError, UsageError
from gotlang.records import InvalidRecord, from_json, to_json
from gotlang.report.page import Served, page

T = TypeVar("T")
STYLES: Final = ("colors.css", "page.css", "report.css", "studio.css")
SCRIPTS: Final = ("page.js", "served.js")
"""The common part of every page; `served.js` requests data from the server, and shows its errors."""


@final
@dataclass(frozen=True)
class PageView:
    """A page: its template in `gotlang/report/assets`, and its additional styles and scripts from there."""

    template: str
    styles: Sequence[str] = ()
    scripts: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    def response(self, request: Request, title: str, data: Any, **values: Any) -> Response:
        """The page with `data` for its scripts (as `doc` there), and `values` for its template."""
        links = request.app.state.links
        here = next((link for _, link in links if link == request.url.path), None)
        return HTMLResponse(
            page(
                self.template,
                data,
                styles=(*STYLES, *self.styles),
                scripts=(*SCRIPTS, *self.scripts),
                served=Served(tuple(links), here),
                title=title,
                **self.values,
                **values,
            )
        )


def as_json(content: Any, status: int = 200) -> Response:
    """A JSON document."""
    return Response(to_json(content), status, media_type="application/json")


async def content(request: Request, kind: type[T]) -> T:
    """The body of a request as a record. Raises UsageError for an invalid one."""
    try:
        return from_json(await request.body(), kind)
    except InvalidRecord as error:
        raise UsageError(f"invalid request: {error}") from None


async def missing(request: Request, error: Exception) -> Response:
    """The response to an unknown address."""
    told = UsageError("page not found", help="the page Runs links to all pages")
    response = await refused(request, told)
    response.status_code = 404
    return response


async def refused(request: Request, error: Exception) -> Response:
    """A GotError as a response: JSON for scripts, a page for browsers."""
    assert isinstance(error, GotError)
    found = {"error": error.message, "help": error.help}
    if isinstance(error, CompileError):
        first = next(one for one in error.diagnostics if one.severity == "error")
        found = {"error": f"{error.message}: {first.message}", "help": "`gotc check` shows them"}
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        shown = PageView("refused.html").response(request, "Not found", {}, **found)
        shown.status_code = 404
        return shown
    return as_json(found, 400)

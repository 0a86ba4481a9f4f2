"""Runs: all that was run in the folder, the latest first."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gotlang.studio.views import View

LINK = ("Runs", "/")
_VIEW = View("runs.html")


def runs(request: Request) -> Response:
    """The page."""
    return _VIEW.response(request, "Runs", {})


ROUTES = [Route("/", runs)]

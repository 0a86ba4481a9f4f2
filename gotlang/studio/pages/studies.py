"""A study: its front, constraints, params and prompts, also while it runs."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gotlang.errors import UsageError
from gotlang.report.history import state_now
from gotlang.report.studied import study_view, trials_of
from gotlang.report.study import page_values
from gotlang.studio.records import followed, record_of
from gotlang.studio.site import studio_of
from gotlang.studio.views import PageView

_VIEW: Final = PageView("study.html", ("charts.css", "study.css"), ("study.js",))


def study(request: Request) -> Response:
    """The page."""
    studio, record = studio_of(request), record_of(request, "tune")
    if not record.document:
        raise UsageError("this study has no trials yet", help=record.error)
    view, trials = study_view(record.document), trials_of(studio.history.trials(record.run))
    live = state_now(record) == "running"
    data = {"run": record.run, "live": live}
    return _VIEW.response(request, f"Study {view.study}", data, **page_values(view, trials, live=live))


def events(request: Request) -> Response:
    """Notifications that there is more to see."""
    return followed(request, "tune")


ROUTES = [
    Route("/studies/{name}", study),
    Route("/studies/{name}/events", events),
]

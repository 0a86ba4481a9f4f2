"""Records of evaluations, comparisons and studies, by the names in addresses."""

from __future__ import annotations

import re

from starlette.requests import Request

from gotlang.errors import UsageError
from gotlang.report.history import NAME, RunRecord
from gotlang.studio.site import studio_of


def found_record(request: Request, *kinds: str) -> RunRecord:
    """The record that the path of a request names, of one of these kinds. Raises UsageError if there is
    none."""
    history, name = studio_of(request).history, request.path_params["name"]
    if re.fullmatch(NAME, name) and name != "last" and (history.folder / f"{name}.json").is_file():
        record = history.find(name)
        if record.kind in kinds:
            return record
    raise UsageError("there is no such record", help="the page Runs has all of them")

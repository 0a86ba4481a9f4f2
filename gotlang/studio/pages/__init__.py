"""The pages: one module for each, found by its name here, in the order of the menu.

A module has `ROUTES`, a list of Starlette's routes, and `LINK = ("Runs", "/")`, the word and the address of
its entry in the menu, if it has one. A handler is a function of the request; a plain one runs in a thread, so
it may read files and databases. A handler gets the folder with `studio_of(request)`, writes a page with a
`PageView`, data with `as_json`, and changes while it is open with `events.stream`. A GotError that it raises
is shown on the page.
"""

from __future__ import annotations

from typing import Final

PAGES: Final = ("runs", "run", "comparison", "results", "studies", "playground")

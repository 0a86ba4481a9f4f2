"""The application: the folder that it shows, its pages, the shared assets, and the server."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from typing import Final, final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gotlang.disk import real_path
from gotlang.errors import GotError, UsageError
from gotlang.report.history import History
from gotlang.report.page import asset
from gotlang.studio.guard import Guard
from gotlang.studio.pages import PAGES
from gotlang.studio.processes import Processes
from gotlang.studio.views import missing, refused

_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_MOST_FILES: Final = 500
_DEEPEST: Final = 5
_LIBRARIES: Final = ("node_modules", "site-packages")


@final
@dataclass(slots=True)
class Studio:
    """The common data of all pages. `folder` is the folder whose `.gotc` they show; programs and data are in
    it.

    `processes` are the runs that pages started, `ending` tells streams that the server stops.
    """

    folder: Path
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    ending: bool = False
    processes: Processes = field(init=False)

    def __post_init__(self) -> None:
        self.processes = Processes(self.folder)

    @property
    def history(self) -> History:
        """The runs of the folder."""
        return History(self.folder / ".gotc" / "runs")

    def file(self, name: str) -> Path:
        """A file of the folder by its path in it. Raises UsageError for one outside, also through a link."""
        try:
            path = real_path(self.folder / name)
            if path.is_relative_to(self.folder) and path.is_file():
                return path
        except OSError:
            pass
        raise UsageError(f"file `{name}` not found in {self.folder}")

    def files(self, *suffixes: str) -> list[str]:
        """The files of the folder with these suffixes by their paths in it, nearest first. Hidden ones,
        libraries and deeply nested ones are left out."""
        found: list[Path] = []
        for top, folders, names in os.walk(self.folder):
            inside = Path(top).relative_to(self.folder)
            deep = len(inside.parts) >= _DEEPEST
            folders[:] = (
                [] if deep else sorted(one for one in folders if one[0] not in "._" and one not in _LIBRARIES)
            )
            found += [inside / name for name in sorted(names) if name[0] != "." and name.endswith(suffixes)]
            if len(found) >= _MOST_FILES:
                break
        return [str(path) for path in sorted(found[:_MOST_FILES], key=lambda path: (len(path.parts), path))]


def studio_of(request: Request) -> Studio:
    """The studio of a request."""
    found = request.app.state.studio
    assert isinstance(found, Studio)
    return found


def application(studio: Studio) -> Starlette:
    """All pages of a studio, without the guard."""
    modules = [import_module(f"gotlang.studio.pages.{name}") for name in PAGES]
    routes = [route for module in modules for route in module.ROUTES]
    app = Starlette(
        routes=[*routes, Route("/assets/{name}", _asset)],
        exception_handlers={GotError: refused, 404: missing},
    )
    app.state.studio = studio
    app.state.links = [link for module in modules if (link := getattr(module, "LINK", None))]
    return app


def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _assets():
        return Response("file not found\n", 404, media_type="text/plain")
    return Response(asset(name), media_type=_KINDS[Path(name).suffix])


@cache
def _assets() -> frozenset[str]:
    """The names of our own files that pages load. A request can name no other."""
    folder = resources.files("gotlang.report").joinpath("assets")
    return frozenset(file.name for file in folder.iterdir() if Path(file.name).suffix in _KINDS)


@final
class StudioServer:
    """The server of a studio, on a free or the given port of the loopback address.

    Raises UsageError if the port is taken.
    """

    def __init__(self, studio: Studio, port: int = 0) -> None:
        self._studio = studio
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
            self._socket.listen()
        except OSError as error:
            self._socket.close()
            raise UsageError(f"--port: cannot listen at {port}: {error.strerror}") from None
        self.port: int = self._socket.getsockname()[1]

    @property
    def address(self) -> str:
        """The address with the token, which grants access."""
        return f"http://127.0.0.1:{self.port}/?token={self._studio.token}"

    def run(self) -> None:
        """Serve until the process is interrupted, which raises KeyboardInterrupt."""
        studio = self._studio
        app = Guard(application(studio), studio.token, self.port)
        config = uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            ws="none",
        )

        studio.processes.tidy()
        try:
            _GracefulServer(config, studio).run(sockets=[self._socket])
        finally:
            studio.processes.close()


@final
class _GracefulServer(uvicorn.Server):
    """Tells open streams that the server stops, before it waits for them."""

    def __init__(self, config: uvicorn.Config, studio: Studio) -> None:
        super().__init__(config)
        self._studio = studio

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        self._studio.ending = True
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # no error
        await super().shutdown(sockets)

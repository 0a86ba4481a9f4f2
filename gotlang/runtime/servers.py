"""MCP servers as sources of tools: started, or connected to, for the duration of a session.

They run on an event loop in a thread of its own, since the loop of a run may have simulated time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shlex
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from typing import Any, final

from gotlang.answers.calls import ToolSchema
from gotlang.errors import EvaluationError, UsageError
from gotlang.ir.program import PythonImport
from gotlang.packages import pip_install
from gotlang.types import DYNAMIC

START_S = 60.0
"""Seconds within which a server must list its tools."""


@final
class Servers:
    """The MCP servers of a program. `functions` are the tools that it imports, by name."""

    def __init__(self, imports: Sequence[PythonImport], timeout_s: float) -> None:
        """Start or connect to them. Raises UsageError."""
        self.functions: dict[str, Callable[..., Any]] = {}
        self._timeout_s = timeout_s
        self._ready: Future[None] = Future()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, args=(imports,), daemon=True, name="gotlang mcp")
        self._thread.start()
        try:
            self._ready.result()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop the servers that were started, and close the connections to the others."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end)
        self._thread.join(START_S)

    def _end(self) -> None:
        self._closing.set()
        if not self._ready.done():  # Ctrl-C does not wait for a server that does not respond
            self._opening.cancel()

    def _serve(self, imports: Sequence[PythonImport]) -> None:
        self._closing = asyncio.Event()
        self._opening = self._loop.create_task(self._open(imports))
        try:
            with open(os.devnull, "w") as self._said:
                self._loop.run_until_complete(self._opening)
        finally:
            self._loop.close()

    async def _open(self, imports: Sequence[PythonImport]) -> None:
        try:
            async with AsyncExitStack() as stack:
                for one in imports:
                    await self._connect(one, stack)
                self._ready.set_result(None)
                await self._closing.wait()
        except BaseException as error:
            # A server that ends later is reported to its callers.
            if not self._ready.done():
                self._ready.set_exception(_unreached(imports, error))

    async def _connect(self, one: PythonImport, stack: AsyncExitStack) -> None:
        try:
            from mcp import Client, StdioServerParameters, stdio_client
        except ImportError:
            absent = f"MCP server {one.path}: the package `mcp` is not installed"
            raise UsageError(absent, help=pip_install("mcp")) from None
        logging.getLogger("mcp").addHandler(logging.NullHandler())  # a line that is not a message is skipped
        at: Any = one.path
        if "://" not in one.path:
            command, *words = shlex.split(one.path)
            command = sys.executable if command == "python" else command  # as in `import python`
            # It gets no keys: its environment has only the few variables that every program needs.
            started = StdioServerParameters(command=command, args=words, cwd=one.folder or ".")
            at = stdio_client(started, self._said)
        try:
            async with asyncio.timeout(START_S):
                client = await stack.enter_async_context(Client(at))
                known = await _listed(client)
        except (Exception, BaseExceptionGroup) as error:
            raise _unreached([one], error) from error
        for name in (function.name for function in one.functions):
            if name not in known:
                has = ", ".join(sorted(known)) or "none"
                raise UsageError(f"MCP server {one.path} has no tool `{name}`", help=f"its tools: {has}")
            schema = known[name].input_schema
            self.functions[name] = self._function(
                one.path, client, name, known[name].description or "", schema
            )

    def _function(
        self, server: str, client: Any, name: str, about: str, schema: Mapping[str, Any]
    ) -> Callable[..., Any]:
        names = [*(schema.get("properties") or {})]

        def call(*positional: Any, **named: Any) -> Any:
            given = dict(zip(names, positional, strict=False)) | named
            try:
                work = asyncio.run_coroutine_threadsafe(
                    client.call_tool(name, given, read_timeout_seconds=self._timeout_s), self._loop
                )
                result = work.result(self._timeout_s)
            except BaseException as error:
                raise EvaluationError(f"MCP server {server}: {_words(error)}") from error
            others = [block.type for block in result.content if not hasattr(block, "text")]
            texts = [block.text for block in result.content if isinstance(getattr(block, "text", None), str)]
            if result.is_error:
                raise EvaluationError(f"`{name}`: {' '.join(texts) or 'it failed'}")
            found = result.structured_content
            if isinstance(found, dict) and [*found] == ["result"]:
                return found["result"]  # a value that is not an object is sent as one
            if others and found is None:
                raise EvaluationError(f"`{name}` returned {', '.join(sorted({*others}))}, and not only text")
            return found if found is not None else "\n".join(texts)

        needed = frozenset(schema.get("required") or ())
        parameters = tuple((each, DYNAMIC) for each in names)
        written = json.dumps(schema, ensure_ascii=False)
        vars(call)["tool"] = ToolSchema(name, " ".join(about.split()), parameters, needed, written)
        return call


async def _listed(client: Any) -> dict[str, Any]:
    """The tools of a server, page by page, by their names."""
    page = await client.list_tools()
    known = {tool.name: tool for tool in page.tools}
    while page.next_cursor:
        page = await client.list_tools(cursor=page.next_cursor)
        known.update((tool.name, tool) for tool in page.tools)
    return known


def _unreached(imports: Sequence[PythonImport], error: BaseException) -> UsageError:
    error = _first(error)
    if isinstance(error, UsageError):
        return error
    names = ", ".join(one.path for one in imports)
    return UsageError(f"cannot use the MCP server {names}: {_words(error)}")


def _words(error: BaseException) -> str:
    """An error on one line."""
    error = _first(error)
    if isinstance(error, TimeoutError):
        return "no response in time"
    return ", ".join(f"{error}".splitlines()[:2]) or type(error).__name__


def _first(error: BaseException) -> BaseException:
    """An error, or the first in a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error

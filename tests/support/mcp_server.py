"""A real MCP server: over standard input and output, or with a port over HTTP."""

from __future__ import annotations

import os
import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("numbers")


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def secrets() -> list[str]:
    """What the environment holds that looks like a key."""
    return [name for name in os.environ if "KEY" in name]


@server.tool()
def die(why: str) -> str:
    """Ends the server."""
    os._exit(3)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()

"""An MCP server, by hand, that does what others do not: `pages`, `image`, `unfit` or `silent`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

KIND = sys.argv[1]
ADD = {"name": "add", "inputSchema": {"type": "object", "properties": None}}


def result(method: str, given: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}
        return {"protocolVersion": given["protocolVersion"], **about}
    if method == "tools/list":
        if KIND == "unfit":
            return {"tools": [{"name": "add", "inputSchema": {}}]}
        if KIND == "pages" and "cursor" not in given:
            return {"tools": [], "nextCursor": "2"}
        return {"tools": [ADD]}
    if KIND == "image":
        return {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}
    return {"content": [{"type": "text", "text": "5"}]}


if KIND == "silent":
    Path("started").touch()
    time.sleep(600)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] in ("initialize", "tools/list", "tools/call"):
            answer["result"] = result(asked["method"], asked.get("params") or {})
        else:
            answer["error"] = {"code": -32601, "message": "no such method"}
        print(json.dumps(answer), flush=True)

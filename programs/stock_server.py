"""An MCP server over a list of things in stock, which stock.got starts: `pip install 'gotlang[mcp]'`."""

from __future__ import annotations

import csv
from pathlib import Path

from mcp.server.mcpserver import MCPServer

STOCK = Path(__file__).parent / "data" / "stock.csv"
server = MCPServer("stock")


def stock() -> list[dict[str, str]]:
    """The rows of the list."""
    with STOCK.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@server.tool()
def find_things(words: str) -> list[dict[str, str]]:
    """Finds the things whose names have all these words: their codes and names."""
    wanted = set(words.lower().split())
    found = [row for row in stock() if wanted <= set(row["Thing"].split())]
    return [{"code": row["Code"], "thing": row["Thing"]} for row in found]


@server.tool()
def look_up(code: str) -> dict[str, int]:
    """The price in dollars of the thing with a code, and how many are in stock."""
    for row in stock():
        if row["Code"] == code:
            return {"price": int(row["Price"]), "count": int(row["Count"])}
    raise ValueError(f"there is no thing {code}")


if __name__ == "__main__":
    server.run()

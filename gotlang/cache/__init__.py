"""Caches: one contract (`base`), one module per implementation, imported when it is used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gotlang.errors import CacheError

if TYPE_CHECKING:
    from gotlang.cache.base import Cache


def open_cache(where: str | os.PathLike[str], *, readonly: bool = False) -> Cache:
    """The persistent cache in a file or, for an address `postgresql://...`, on a PostgreSQL server.

    A missing one is created unless `readonly` (default: False). Raises CacheError if it cannot be opened or
    is not a cache.
    """
    address = os.fspath(where)
    scheme, is_address, _ = address.partition("://")
    if is_address and scheme in ("postgresql", "postgres"):
        from gotlang.cache.postgres import PostgresCache

        return PostgresCache(address, readonly=readonly)
    if is_address:
        raise CacheError(
            f"unsupported cache address {scheme}://",
            help="use a file, or postgresql://user:password@host:port/database",
        )
    from gotlang.cache.sqlite import SqliteCache

    return SqliteCache(address, readonly=readonly)

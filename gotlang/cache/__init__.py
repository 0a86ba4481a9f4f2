"""Caches: one contract (`base`), one file an implementation, imported when it is used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gotlang.errors import CacheError

if TYPE_CHECKING:
    from gotlang.cache.base import Cache


def open_cache(where: str | os.PathLike[str], *, readonly: bool = False) -> Cache:
    """The persistent cache in a file or, where `where` begins with `postgresql://`, on a PostgreSQL server.

    It is made where it is missing, unless `readonly` (default: for reading and writing). Raises CacheError
    where it cannot be opened or is not a cache.
    """
    address = os.fspath(where)
    if address.startswith(("postgresql://", "postgres://")):
        from gotlang.cache.postgres import PostgresCache

        return PostgresCache(address, readonly=readonly)
    scheme, is_address, _ = address.partition("://")
    if is_address:
        raise CacheError(
            f"there is no cache at addresses that begin with {scheme}://",
            help="name a file, or postgresql://user:password@host:port/database",
        )
    from gotlang.cache.sqlite import SqliteCache

    return SqliteCache(address, readonly=readonly)

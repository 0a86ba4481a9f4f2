"""Regular expressions that are compiled at first use: a command needs few of them."""

from __future__ import annotations

import re
from typing import Any, cast, final


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, for a pattern at module level."""
    return cast("re.Pattern[str]", _LazyPattern(text, flags))


@final
class _LazyPattern:
    def __init__(self, text: str, flags: int) -> None:
        self.pattern, self.flags = text, flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, method)
        return method

"""How a prompt's answer is to be read, as data: what stands after `parse`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Json:
    """`parse json`: JSON only, in a fence or not."""


@final
@dataclass(frozen=True, slots=True)
class Tag:
    """`parse tag("Merged")`: what stands between `<Merged>` and `</Merged>`."""

    name: str


@final
@dataclass(frozen=True, slots=True)
class Lines:
    """`parse lines`, `parse lines matching "{left} + {right}"`: one value a line, holes in braces."""

    pattern: str | None = None


@final
@dataclass(frozen=True, slots=True)
class After:
    """`parse after "So the answer is:"`: what follows the last time the text stands there."""

    text: str


Form = Json | Tag | Lines | After

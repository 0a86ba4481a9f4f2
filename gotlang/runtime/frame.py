"""Names in force while a program runs: of a scheme's call, of one element of a `foreach`, of a round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, final

from gotlang.errors import EvaluationError
from gotlang.runtime.graph import Operation


@final
class Handle:
    """A name for the thoughts that an operation gives or will give: exactly one (`single`), or a list."""

    __slots__ = ("operation", "single")

    def __init__(self, operation: Operation, single: bool) -> None:
        self.operation = operation
        self.single = single

    def bound(self, name: str) -> Any:
        """The thought or the thoughts; the operation has ended. Raises EvaluationError where one is meant and
        there is none."""
        output = self.operation.output
        if not self.single:
            return output
        if not output:
            raise EvaluationError(f"`{name}` has no thought here")
        return output[0] if len(output) == 1 else output


@final
class Frame(Mapping[str, Any]):
    """A block's names over those of the blocks around it.

    `path` tells this block's run from others; `context` numbers the separate contexts in which the same
    step asks anew (the k samples of a score); `depth` counts schemes calling schemes; `rest` estimates how
    many model calls in a row follow once the block has ended.
    """

    __slots__ = ("context", "depth", "names", "origin", "parent", "path", "rest")

    def __init__(
        self,
        parent: Frame | None,
        path: tuple[Any, ...],
        names: dict[str, Any],
        origin: Operation | None = None,
        *,
        context: int = 0,
        depth: int = 0,
        rest: int = 0,
    ) -> None:
        self.parent = parent
        self.path = path
        self.names = names
        self.origin = origin
        self.context = context
        self.depth = depth
        self.rest = rest

    def inside(self, key: Any, names: dict[str, Any], origin: Operation | None, rest: int = 0) -> Frame:
        """A frame for a block inside this one; `rest` more calls follow it in the block around."""
        return Frame(
            self,
            (*self.path, key),
            names,
            origin if origin is not None else self.origin,
            context=self.context,
            depth=self.depth,
            rest=self.rest + rest,
        )

    def find(self, name: str) -> Any:
        """What a name is bound to, a Handle or a plain value; KeyError where it is not."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.parent
        raise KeyError(name)

    def pool(self, name: str) -> Handle:
        """The handle that a pool's name stands for."""
        found: Handle = self.find(name)
        return found

    def __getitem__(self, name: str) -> Any:
        found = self.find(name)
        return found.bound(name) if isinstance(found, Handle) else found

    def __iter__(self) -> Iterator[str]:
        frame: Frame | None = self
        while frame is not None:
            yield from frame.names
            frame = frame.parent

    def __len__(self) -> int:
        return sum(1 for _ in self)

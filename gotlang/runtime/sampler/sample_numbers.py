"""Numbers samples: those of an operation follow those that its ancestors asked for of the equal request.

Asking again therefore gives new samples, whatever ran in between, while operations that do not depend on each
other share theirs. The numbers depend on the shape of the graph alone: not on the order in which operations
end, and not on how many of the samples were really requested.
"""

from __future__ import annotations

from typing import final

from gotlang.runtime.graph import FAILED, Operation, before

STRETCH = 1_000_000
"""The sample numbers reserved for each separate context of a step."""


@final
class SampleNumbers:
    """Which operations of a run asked for samples of which request."""

    def __init__(self) -> None:
        # By request: the operation that asked, its last turn, the first number then, and the one after the
        # last. Nearly every request is asked once, by one operation; only the others need a table.
        self._once: dict[str, Operation] = {}
        self._asked: dict[str, dict[Operation, tuple[int, int, int]]] = {}

    def first(self, key: str, operation: Operation, turn: int, samples: int) -> int:
        """The number of the first of `samples` samples that an operation asks for of a request.

        `turn` numbers the rounds of an operation that asks several times. Frames that are separate contexts
        of the same step each have a stretch of numbers of their own.
        """
        stretch = operation.frame.context * STRETCH
        asked = self._asked.get(key)
        if asked is None:
            if turn == 0 and samples == 1 and self._once.setdefault(key, operation) is operation:
                return stretch
            other = self._once.get(key)
            if other is None:
                self._asked[key] = {operation: (turn, 0, samples)}
                return stretch
            asked = self._asked[key] = {other: (0, 0, 1)}
        own = asked.get(operation)
        if own is not None and own[0] == turn:
            return stretch + own[1]  # the same request twice in one round: two thoughts are equal
        first = own[2] if own is not None else _after_ancestors(asked, operation)
        asked[operation] = (turn, first, first + samples)
        return stretch + first


def _after_ancestors(asked: dict[Operation, tuple[int, int, int]], operation: Operation) -> int:
    seen: set[Operation] = set()
    stack = list(before(operation))
    after = 0
    while stack:
        at = stack.pop()
        # No thought came through a failed operation.
        if at in seen or at.state == FAILED:
            continue
        seen.add(at)
        if (found := asked.get(at)) is not None:
            # Its own numbers follow those of all its ancestors, so nothing before it can be higher.
            after = max(after, found[2])
        else:
            stack.extend(before(at))
    return after

"""Numbers draws: an operation's answers follow those its ancestors asked of the equal request.

Asking again therefore gives new answers, whatever ran in between, while operations that do not depend on
each other share theirs. The numbers rest on the shape of the graph alone: not on the order in which things
end, and not on how many of the answers asked for were really drawn.
"""

from __future__ import annotations

from typing import final

from gotlang.runtime.graph import FAILED, Operation, before

STRETCH = 1_000_000
"""Numbers that each separate context of a step has for itself."""


@final
class SampleNumbers:
    """Which operations of a run asked which request."""

    def __init__(self) -> None:
        # By request: who asked it, the turn it asked last in, its first draw then, the one after its last.
        # Nearly every request is asked once, by one operation; only the others need a table.
        self._once: dict[str, Operation] = {}
        self._asked: dict[str, dict[Operation, tuple[int, int, int]]] = {}

    def first(self, key: str, operation: Operation, turn: int, draws: int) -> int:
        """The number of the first of `draws` draws that an operation asks of a request.

        `turn` tells the rounds of an operation that asks several times. Frames that are separate contexts
        of the same step each take a stretch of numbers of their own.
        """
        stretch = operation.frame.context * STRETCH
        asked = self._asked.get(key)
        if asked is None:
            if turn == 0 and draws == 1 and self._once.setdefault(key, operation) is operation:
                return stretch
            other = self._once.get(key)
            if other is None:
                self._asked[key] = {operation: (turn, 0, draws)}
                return stretch
            asked = self._asked[key] = {other: (0, 0, 1)}
        own = asked.get(operation)
        if own is not None and own[0] == turn:
            return stretch + own[1]  # the same request twice in one round: two thoughts are equal
        first = own[2] if own is not None else _after_ancestors(asked, operation)
        asked[operation] = (turn, first, first + draws)
        return stretch + first


def _after_ancestors(asked: dict[Operation, tuple[int, int, int]], operation: Operation) -> int:
    seen: set[Operation] = set()
    stack = list(before(operation))
    after = 0
    while stack:
        at = stack.pop()
        # No thought came through what failed.
        if at in seen or at.state == FAILED:
            continue
        seen.add(at)
        if (found := asked.get(at)) is not None:
            # Its own number counts on from all its ancestors', so nothing behind it can be higher.
            after = max(after, found[2])
        else:
            stack.extend(before(at))
    return after

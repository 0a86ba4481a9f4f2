"""Numbers draws: an operation's answers follow those its ancestors asked of the equal request.

Asking again therefore gives new answers, whatever ran in between, while operations that do not depend on
each other share theirs. The numbers rest on the shape of the graph alone: not on the order in which things
end, and not on how many of the answers asked for were really drawn.
"""

from __future__ import annotations

from typing import final

from gotlang.runtime.graph import Graph, Operation


@final
class Numbering:
    """Which operations of a run asked which request."""

    def __init__(self) -> None:
        # By request: by operation, the turn it asked last in and the number after its last draw.
        self._asked: dict[str, dict[int, tuple[int, int, int]]] = {}

    def first(self, key: str, operation: Operation, turn: int, draws: int) -> int:
        """The number of the first of `draws` draws that an operation asks of a request.

        `turn` tells the rounds of an operation that asks several times. Frames that are separate contexts
        of the same step each take a stretch of numbers of their own.
        """
        asked = self._asked.setdefault(key, {})
        own = asked.get(id(operation))
        if own is not None and own[0] == turn:
            return own[1]  # the same request twice in one round: two thoughts are equal
        start = own[2] if own is not None else 0
        if len(asked) > (own is not None):
            start = max(start, self._after_ancestors(asked, operation))
        first = start + operation.frame.context * draws
        asked[id(operation)] = (turn, first, first + draws)
        return first

    @staticmethod
    def _after_ancestors(asked: dict[int, tuple[int, int, int]], operation: Operation) -> int:
        seen: set[int] = set()
        stack = list(Graph.before(operation))
        after = 0
        while stack:
            at = stack.pop()
            if id(at) in seen:
                continue
            seen.add(id(at))
            if (found := asked.get(id(at))) is not None:
                # Its own number counts on from all its ancestors', so nothing behind it can be higher.
                after = max(after, found[2])
                continue
            stack.extend(Graph.before(at))
        return after

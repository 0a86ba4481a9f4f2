"""Refuses points that would break a constraint, before a call is made for them.

How far each trial was from each bound is known. A line through those (a ridge regression on the values of the
point) says how far a new point would be; where even twice the scatter of the trials does not bring it within
the bound, the sampler is asked for another one. It learns only from trials that all workers know.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, final

from gotlang.tune.space import Point, Space

FEWEST = 4
"""Trials beyond the number of a line's slopes before it is believed."""
_RIDGE = 1e-3


@final
class Forecast:
    """Lines through what is known of each constraint."""

    def __init__(self, space: Space, points: Sequence[Point], excess: Sequence[Mapping[str, float]]) -> None:
        self._space = space
        self._lines: list[tuple[str, Any, float, Any]] = []
        known = [(self._features(p), e) for p, e in zip(points, excess, strict=True) if e]
        if not known or len(known) < len(known[0][0]) + FEWEST:
            return
        import numpy as np

        matrix = np.array([features for features, _ in known])
        gram = matrix.T @ matrix + _RIDGE * np.eye(matrix.shape[1])
        inverse = np.linalg.inv(gram)
        for name in known[-1][1]:
            wanted = np.array([e.get(name, 0.0) for _, e in known])
            line = inverse @ (matrix.T @ wanted)
            spread = wanted - matrix @ line
            variance = float(spread @ spread) / max(1, len(known) - matrix.shape[1])
            self._lines.append((name, line, variance, inverse))

    def broken(self, point: Point) -> dict[str, float]:
        """The constraints that a point would surely break, with how far it would be beyond their bounds."""
        if not self._lines:
            return {}
        import numpy as np

        x = np.array(self._features(point))
        out = {}
        for name, line, variance, inverse in self._lines:
            far = float(x @ line)
            if far - 2.0 * math.sqrt(variance * (1.0 + float(x @ inverse @ x))) > 0:
                out[name] = far
        return out

    def _features(self, point: Point) -> list[float]:
        out = [1.0]
        for dimension in self._space.dimensions:
            value = point.get(dimension.name, dimension.default)
            if dimension.choices:
                out += [float(value == choice) for choice in dimension.choices[1:]]
            else:
                assert (
                    isinstance(value, int | float)
                    and dimension.low is not None
                    and dimension.high is not None
                )
                out.append((value - dimension.low) / ((dimension.high - dimension.low) or 1))
        return out

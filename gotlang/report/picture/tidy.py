"""What only the machine needs is taken out of a graph, and connections that others imply."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

MOST_REDUCED = 20_000
"""Nodes of a graph whose implied connections are looked for: that takes memory with the square of them."""


def contract(
    nodes: Iterable[int], edges: Iterable[tuple[int, int]], hidden: Collection[int]
) -> tuple[list[int], list[tuple[int, int]]]:
    """A graph without the hidden nodes; what led through one leads past it.

    A hidden node with many connections on both sides stays, since without it there would be far more.
    """
    order = list(nodes)
    before: dict[int, dict[int, None]] = {node: {} for node in order}
    after: dict[int, dict[int, None]] = {node: {} for node in order}
    for source, target in edges:
        if source in after and target in before and source != target:
            after[source][target] = None
            before[target][source] = None
    for node in [node for node in order if node in hidden]:
        sources, targets = before[node], after[node]
        if len(sources) * len(targets) > len(sources) + len(targets) + 2:
            continue
        for source in sources:
            del after[source][node]
        for target in targets:
            del before[target][node]
        for source in sources:
            for target in targets:
                if source != target:
                    after[source][target] = None
                    before[target][source] = None
        del before[node], after[node]
    left = [node for node in order if node in before]
    return left, [(source, target) for source in left for target in after[source]]


def sorted_by_dependency(nodes: Iterable[int], edges: Iterable[tuple[int, int]]) -> list[int]:
    """Every node after those that lead to it, as near to the given order as can be. Where nodes lead in a
    circle, the first of them comes first."""
    import heapq

    order = {node: place for place, node in enumerate(nodes)}
    back = list(order)
    after: dict[int, list[int]] = {node: [] for node in order}
    missing = dict.fromkeys(order, 0)
    for source, target in edges:
        after[source].append(target)
        missing[target] += 1
    ready = [order[node] for node in order if missing[node] == 0]
    heapq.heapify(ready)
    out: list[int] = []
    done: set[int] = set()
    while len(out) < len(order):
        if not ready:  # a circle
            ready.append(next(order[node] for node in order if node not in done))
        node = back[heapq.heappop(ready)]
        if node in done:
            continue
        done.add(node)
        out.append(node)
        for target in after[node]:
            missing[target] -= 1
            if missing[target] == 0:
                heapq.heappush(ready, order[target])
    return out


def reduced(nodes: Iterable[int], edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The connections without those that a longer way implies (the transitive reduction)."""
    edges = list(dict.fromkeys(edges))
    order = sorted_by_dependency(nodes, edges)
    if len(order) > MOST_REDUCED:
        return edges
    place = {node: index for index, node in enumerate(order)}
    before: Mapping[int, list[int]] = {node: [] for node in order}
    for source, target in edges:
        if place[source] < place[target]:
            before[target].append(source)
    ancestors: dict[int, int] = {}
    kept: list[tuple[int, int]] = []
    for node in order:
        reached = 0
        for source in sorted(before[node], key=lambda one: -place[one]):
            if not reached >> place[source] & 1:
                kept.append((source, node))
                reached |= ancestors[source] | 1 << place[source]
        ancestors[node] = reached
    return kept

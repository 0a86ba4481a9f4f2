"""From checked metrics to IR."""

from __future__ import annotations

from gotlang.ir import program as ir
from gotlang.semantics.params import constant_value
from gotlang.semantics.symbols import Symbols
from gotlang.syntax import nodes as n


def build_metric(node: n.Metric, symbols: Symbols) -> ir.MetricFunction:
    """The IR of a metric."""
    last = node.body.statements[-1]
    assert isinstance(last, n.Evaluate | n.Return)
    lower, share = node.direction == "lower", node.name.text in symbols.shares
    best, failed = (constant_value(c) if c is not None else None for c in (node.best, node.failed))
    if share and failed is None:
        failed = 1 if lower else 0
    parameters = symbols.metrics[node.name.text][1].parameters
    return ir.MetricFunction(node.name.text, parameters, lower, best, failed, share, last.value, node.span)

"""Request batching: all samples of a step in one request, so that the prompt is billed once.

    %1 = Generate @sort(...) from part, k 5            five requests of one sample
    %1 = Generate @sort(...) from part, k 5, batched   one request with n=5, if the endpoint supports n

The samples of the request are the same either way.
"""

from __future__ import annotations

from msgspec.structs import replace

from gotlang.ir import program as ir
from gotlang.passes.rewrite import rewrite


def batch_requests(program: ir.Program) -> ir.Program:
    """Mark every step that samples as one that may request its samples together."""

    def change(region: ir.Region) -> ir.Region:
        steps = (
            replace(s, batched=True) if isinstance(s, ir.SampledStep | ir.Score) else s for s in region.steps
        )
        return replace(region, steps=tuple(steps))

    return rewrite(program, change)

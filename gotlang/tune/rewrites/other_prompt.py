"""`other_prompt`: asks another prompt that takes and gives the same types."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from gotlang.semantics.symbols import Signature
from gotlang.syntax import expressions as e
from gotlang.tune.rewrites.record import Rewrite
from gotlang.tune.rewrites.stage import Change, Stage


def _alike(own: Signature, other: Signature) -> bool:
    """Whether two prompts take the same, by type and, where several are of one type, by name; and give it."""
    types = [type_ for _, type_ in own.parameters]
    told_apart = len(set(types)) == len(types) and types == [type_ for _, type_ in other.parameters]
    return (
        (told_apart or own.parameters == other.parameters) and other.result == own.result and not other.many
    )


def _changes(stage: Stage) -> Iterator[Change]:
    own = stage.prompt
    for other in stage.prompts.values():
        if other.name == own.name or not _alike(own, other):
            continue
        given = tuple(
            e.Argument(v.span, None, v) for v in (stage.arguments[name] for name, _ in own.parameters)
        )
        called = replace(stage.call, function=replace(stage.call.function, text=other.name), arguments=given)
        yield Change(other.name, (replace(stage.head, operands=(called,)), *stage.rest))


OTHER_PROMPT = Rewrite(
    "other_prompt",
    "asks another prompt that takes and gives the same types",
    "as many as before",
    "a prompt with parameters of the same types, told apart by type or name",
    _changes,
)

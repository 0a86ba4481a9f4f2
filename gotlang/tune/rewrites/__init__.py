"""Typed rewrites of a program's graph, which work on its syntax tree.

A variant of a program is its text with some rewrites applied one after the other, compiled and checked like
any other: variants that do not compile are dropped. The numbers that a rewrite introduces are params with a
range, so that a study tunes them too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar, cast, final

from msgspec import structs

from gotlang.analysis import analyze
from gotlang.compiler import Compilation, Compiled, compile_source
from gotlang.diagnostics import Diagnostic
from gotlang.errors import UsageError
from gotlang.ir.evaluate import evaluate
from gotlang.program import CheckedProgram
from gotlang.semantics.check import check
from gotlang.span import Source, Span
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_module
from gotlang.syntax.parse import parse, parse_expression
from gotlang.tune.rewrites.samples import BEST_OF, ESCALATE, TWO_MODELS, VOTE
from gotlang.tune.rewrites.split import SPLIT
from gotlang.tune.rewrites.stage import Number, Replacement, Rewrite, Stage, changed, line_end, stages
from gotlang.tune.rewrites.steps import DROP, OTHER_PROMPT, REFINE, VALIDATE

REWRITES: tuple[Rewrite, ...] = (
    DROP,
    OTHER_PROMPT,
    BEST_OF,
    VOTE,
    REFINE,
    VALIDATE,
    SPLIT,
    TWO_MODELS,
    ESCALATE,
)
"""In the order in which they are applied: a later one works on the output of an earlier one."""
DEPTH = 4
"""Maximum number of rewrites that are applied in sequence."""
LIMIT = 48
"""Maximum number of variants, including the program as written."""

P = TypeVar("P", bound=CheckedProgram)


@final
@dataclass(frozen=True, eq=False)
class Variant(Generic[P]):
    """A program with rewrites of a scheme: `name` lists them, such as `best_of(sort)+refine(repair)`, the
    scheme's own name if there are none.

    `numbers` are the params that they introduced. With these values, the scheme makes at least `least` and at
    most `most` times as many calls as the original (formulas in these params; None: not known). `off` are the
    params that switch a rewrite off, with the values at which they do together.
    """

    original: P
    compiled: Compiled
    scheme: str
    rewrites: tuple[str, ...] = ()
    numbers: tuple[Number, ...] = ()
    least: str = "1"
    most: str | None = "1"
    off: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The rewrites in their order."""
        return "+".join(self.rewrites) or self.scheme

    @property
    def node(self) -> n.Scheme:
        """The current scheme."""
        declared = (d for d in self.compiled.modules[0].declarations if _is(d, self.scheme))
        return cast(n.Scheme, next(declared))

    @cached_property
    def text(self) -> str:
        """The text of the program's own file: as written, or with rewrites in canonical form."""
        source = self.compiled.source
        return format_module(self.compiled.modules[0], source) if self.rewrites else source.text

    @cached_property
    def program(self) -> P:
        """The program of this text."""
        if not self.rewrites:
            return self.original
        return self.original.changed(_from_text(self.compiled, self.text).compiled())

    def covers(self, other: Variant[P]) -> bool:
        """Whether another variant is a special case of it, with some rewrites switched off."""
        mine, theirs = set(self.rewrites), set(other.rewrites)
        return theirs < mine and mine - theirs <= self.off.keys()

    def factors(self, params: Mapping[str, Any]) -> tuple[float, float | None]:
        """The minimum and the maximum factor of the scheme's calls over the original, if params have these
        values, or their defaults."""
        values = {one.name: one.default for one in self.numbers} | dict(params)

        def value(formula: str) -> float:
            node = parse_expression(Source.of("<factor>", formula))
            assert not isinstance(node, Diagnostic)
            return float(evaluate(node, values))

        return value(self.least), value(self.most) if self.most is not None else None


def variants(
    program: P, scheme: str, depth: int = DEPTH, limit: int = LIMIT, *, models: Sequence[str] = ()
) -> list[Variant[P]]:
    """The variants of a program by up to `depth` rewrites of a scheme, itself first: at most `limit`, all
    different, always in the same order. `models` are those that rewrites may choose from.

    A variant that is a special case of another is left out, such as `best_of(sort)` if the other is
    `best_of(sort)+refine(repair)` and may have 0 rounds. Raises UsageError if the scheme is not declared in
    the program's own file.
    """
    original = _original(program, scheme)
    found, level, seen = list[Variant[P]](), [original], {original.node}
    for _ in range(depth):
        level = [one for base in level for one in _changed(base, tuple(models), seen)]
        found += level
    return [original, *(one for one in found if not any(other.covers(one) for other in found))][:limit]


def variant(program: P, scheme: str, name: str) -> Variant[P]:
    """The variant with this name. Raises UsageError if the program has none."""
    at = _original(program, scheme)
    for wanted in re.split(r"(?<=\))\+", name) if name != at.name else ():
        models = tuple(wanted[:-1].partition("(")[2].split(","))
        following = next(_changed(at, models, {at.node}, wanted), None)
        if following is None:
            raise UsageError(
                f"the scheme `{at.scheme}` of `{program.name}` cannot be rewritten by `{wanted}`",
                help="the program has changed since the study: run the study again",
            )
        at = following
    return at


def simplest(found: Variant[P], values: Mapping[str, Any]) -> Variant[P]:
    """An equivalent variant without the rewrites that these values of params switch off."""
    values = {one.name: one.default for one in found.numbers} | dict(values)
    off = {label for label, switches in found.off.items() if all(values[k] == v for k, v in switches)}
    left = [label for label in found.rewrites if label not in off]
    simple = variant(found.original, found.scheme, "+".join(left) or found.scheme)
    # Without a rewrite, another one's params may get its names.
    return simple if set(simple.numbers) <= set(found.numbers) else found


def _original(program: P, scheme: str) -> Variant[P]:
    wanted = program.scheme(scheme).name
    if not any(_is(d, wanted) for d in program.compilation.compiled().modules[0].declarations):
        raise UsageError(
            f"the scheme `{wanted}` is declared in another file than `{program.compilation.source.name}`",
            help="write the study about the file that declares it, or leave out `vary structure`",
        )
    return Variant(program, program.compilation.compiled(), wanted)


def _is(declaration: n.Declaration, scheme: str) -> bool:
    return isinstance(declaration, n.Scheme) and declaration.name.text == scheme


def _changed(
    base: Variant[P], models: tuple[str, ...], seen: set[n.Scheme], wanted: str = ""
) -> Iterator[Variant[P]]:
    """The variants with one rewrite more, or only with the `wanted` one, whose scheme was not seen before. No
    rewrite comes before the last one of those applied."""
    names = [rewrite.name for rewrite in REWRITES]
    first = names.index(base.rewrites[-1].partition("(")[0]) if base.rewrites else 0
    for rewrite in REWRITES[first:]:
        like: dict[str, int] = {}
        for stage in stages(base.compiled, base.node, base.numbers, base.most, models):
            for change in rewrite.changes(stage):
                like[change.about] = like.get(change.about, 0) + 1
                again = f",{like[change.about]}" if like[change.about] > 1 else ""
                label = f"{rewrite.name}({change.about}{again})"
                if wanted in ("", label) and (compiled := _compiled(stage, change, seen)) is not None:
                    yield _variant(base, label, change, compiled)


def _variant(base: Variant[P], label: str, change: Replacement, compiled: Compiled) -> Variant[P]:
    off = {
        old: (*switches, *((change.copies[k], v) for k, v in switches if k in change.copies))
        for old, switches in base.off.items()
    }
    return replace(
        base,
        compiled=compiled,
        rewrites=(*base.rewrites, label),
        numbers=(*base.numbers, *(replace(number, by=label) for number in change.numbers)),
        least=_product(base.least, change.least),
        most=None if base.most is None or change.most is None else _product(base.most, change.most),
        off={**off, **({label: (change.off,)} if change.off is not None else {})},
    )


def _product(left: str, right: str) -> str:
    """A formula for the product of two."""
    if "1" in (left, right):
        return left if right == "1" else right
    return " * ".join(f"({one})" if " " in one else one for one in (left, right))


def _compiled(stage: Stage, change: Replacement, seen: set[n.Scheme]) -> Compiled | None:
    """The program with a change in place of a stage; None if it does not compile, or its scheme was seen."""
    whole, suite = stage.program, stage.suite
    before, after = suite.statements[: stage.start], suite.statements[stage.stop :]
    put = structs.replace(suite, statements=(*before, *change.statements, *after))
    scheme = changed(stage.scheme, lambda node: put if node is suite else node)
    if scheme in seen:
        return None
    seen.add(scheme)
    own, *others = whole.modules
    declarations = [scheme if d is stage.scheme else d for d in own.declarations]
    module = structs.replace(own, declarations=_with_params(declarations, change.numbers, whole.source))
    if any(a is not b for a, b in zip(whole.modules, whole.checked.modules, strict=True)):
        found = _from_text(whole, format_module(module, whole.source))  # with imports or definitions
        return found.compiled() if found.ok else None
    modules = (module, *others)
    studies = {id(d): None for d in declarations if isinstance(d, n.Study)}
    checked = check(modules, (), studies, whole.sources)
    if checked.ok and not any(found.severity == "error" for found in analyze(checked, None)):
        return Compiled(whole.source, whole.sources, modules, checked.diagnostics, checked)
    return None


def _from_text(whole: Compiled, text: str) -> Compilation:
    """A program with another text of its own file."""

    def read(name: str) -> str:
        return whole.sources[name].text if name in whole.sources else Path(name).read_text("utf-8")

    return compile_source(Source(whole.source.name, text), read)


def _with_params(
    declarations: list[n.Declaration], numbers: Sequence[Number], source: Source
) -> tuple[n.Declaration, ...]:
    """Declarations with new params: after the last existing ones, else before the first declaration that is
    not an import."""
    known = [at for at, d in enumerate(declarations) if isinstance(d, n.Param)]
    imports = (n.ImportGot, n.ImportPython, n.ImportCorpus, n.Simulate)
    at = known[-1] + 1 if known else sum(isinstance(d, imports) for d in declarations)
    place = declarations[at - 1].span if at else Span(source.name, 0, 0)
    if place.start < place.end:  # nothing that a rewrite has declared
        end = line_end(source, place.end).end
        place = Span(source.name, end + 1, end + 1)  # with no blank line above
    module, _ = parse(Source.of("<params>", "".join(f"{number.text}\n" for number in numbers)))
    added = [
        changed(declared, lambda node: structs.replace(node, span=place)) for declared in module.declarations
    ]
    return (*declarations[:at], *added, *declarations[at:])

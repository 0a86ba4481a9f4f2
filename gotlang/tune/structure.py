"""Structure in a study: the variants of its program by typed rewrites, each of which is a choice.

A tuned file names the rewrites, and they are applied again when it is used: it contains no program.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

from gotlang.errors import UsageError
from gotlang.program import CheckedProgram
from gotlang.semantics.variations import MODELS, STRUCTURE, name_of, values_of
from gotlang.tune.plan import StudyPlan
from gotlang.tune.rewrites import Variant, simplest, variant, variants

P = TypeVar("P", bound=CheckedProgram)


def variants_of(plan: StudyPlan) -> dict[str, Variant[CheckedProgram]]:
    """The variants among which a study chooses, by name, the program as written first; empty if it does not
    vary structure. Rewrites choose from the models that the study varies.

    Raises UsageError if no rewrite applies.
    """
    varied = {vary.text: vary.domain for vary in plan.vary}
    if STRUCTURE not in varied or STRUCTURE in plan.program.params:
        return {}
    domain = varied.get(MODELS) or varied.get("model")
    models = tuple(str(name_of(value)) for value in values_of(domain)) if domain is not None else ()
    found = _variants(plan.program, plan.scheme, models)
    if len(found) == 1:
        raise UsageError(
            f"no rewrite applies to the scheme `{plan.scheme}`, so its structure does not vary",
            help="`docs/studies.md` says what each rewrite needs, such as a score or a prompt that repairs",
        )
    return found


@lru_cache(maxsize=8)
def _variants(
    program: CheckedProgram, scheme: str, models: tuple[str, ...]
) -> dict[str, Variant[CheckedProgram]]:
    return {one.name: one for one in variants(program, scheme, models=models)}


def restructured(program: P, scheme: str, settings: Mapping[str, Any]) -> P:
    """A program with the rewrites of a scheme that settings name. Raises UsageError if they do not apply."""
    name = settings.get(STRUCTURE)
    return variant(program, scheme, name).program if name is not None else program


def simplified(
    program: CheckedProgram, scheme: str, params: dict[str, Any], settings: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Params and settings without the rewrites that these params switch off."""
    if STRUCTURE not in settings:
        return params, settings
    found = variant(program, scheme, settings[STRUCTURE])
    simple = simplest(found, params)
    gone = {one.name for one in found.numbers} - {one.name for one in simple.numbers}
    others = {name: value for name, value in settings.items() if name != STRUCTURE}
    chosen = {STRUCTURE: simple.name} if simple.rewrites else {}
    return {name: value for name, value in params.items() if name not in gone}, {**others, **chosen}

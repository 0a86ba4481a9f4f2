"""From options to values: a scheme's inputs and known answer, and a program's params, read by their types."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from gotlang.cli.options import pairs
from gotlang.diagnostics import nearest
from gotlang.errors import ReadError, UsageError

if TYPE_CHECKING:
    from gotlang.ir.program import Param, Scheme
    from gotlang.types import Type

TRUTH = "truth"
"""The name under which the known answer may be given, beside the scheme's inputs."""


@final
@dataclass(frozen=True, slots=True)
class Given:
    """Inputs by name, and the known answer (None where there is none)."""

    inputs: dict[str, Any] = field(default_factory=dict)
    truth: Any = None


def given_inputs(scheme: Scheme, chosen: Mapping[str, Any]) -> Given:
    """What a scheme is given: a row of `--data`, under the names in `--inputs`, under those in `--input`.

    Raises UsageError for what cannot be read, is not an input, or lacks.
    """
    wanted = dict(scheme.parameters)
    types: dict[str, Type] = {TRUTH: scheme.truth, **wanted}
    written = pairs(chosen["input"], "--input")
    values = {} if chosen["inputs"] is None else _from_file(chosen["inputs"], types)
    for name, text in written.items():
        if name not in types:
            raise _unknown(f"--input {name}", name, scheme)
        from gotlang.data import parse_value

        values[name] = parse_value(text, types[name], f"--input {name}")
    if chosen["data"] is not None:
        values = {**_from_data(chosen, wanted, types, set(values)), **values}
    elif chosen["map"] or chosen["row"]:
        option = "--map" if chosen["map"] else "--row"
        raise UsageError(f"`{option}` is about a data file", help="name the file with `--data`")
    if missing := [name for name in wanted if name not in values]:
        raise UsageError(
            f"scheme `{scheme.name}` needs {', '.join(f'`{name}`' for name in missing)}",
            help=f"it takes {_takes(scheme)}; give it by `--input {missing[0]}=...`, or by a row of `--data`",
        )
    truth = None if TRUTH in wanted else values.pop(TRUTH, None)
    return Given(values, truth)


def _from_data(
    chosen: Mapping[str, Any], wanted: Mapping[str, Type], types: Mapping[str, Type], there: set[str]
) -> dict[str, Any]:
    from gotlang.cli.evaluating import complain_of_inferred
    from gotlang.data import inputs, load
    from gotlang.evaluate.rows import match

    mapping = pairs(chosen["map"], "--map")
    needed = {name: type_ for name, type_ in wanted.items() if name not in there or name in mapping}
    known = TRUTH in needed or (TRUTH in there and TRUTH not in mapping)
    table = load(chosen["data"])
    found = match(table, needed, None if known else types[TRUTH], mapping)
    optional = {TRUTH: types[TRUTH]} if TRUTH in found.columns and not known else {}
    values = inputs(table, chosen["row"], {**mapping, **found.columns}, needed, optional)
    if not chosen.get("quiet"):
        complain_of_inferred(found)
    return values


def _from_file(path: str, types: Mapping[str, Type]) -> dict[str, Any]:
    from gotlang.answers.conversion import convert
    from gotlang.answers.literals import strict

    shown = "standard input" if path == "-" else path
    try:
        text = (sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()).decode("utf-8-sig")
        content = strict(text)
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # JSON's and Unicode's errors are ValueErrors
        raise UsageError(f"--inputs: {shown} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise UsageError(
            f"--inputs: {shown} is not a JSON object",
            help='it looks like {"name": value, ...}, a name an input',
        )
    values = {}
    for name, value in content.items():
        try:
            values[name] = convert(value, types[name]) if name in types else value
        except ReadError as error:
            raise UsageError(f"--inputs: {shown}, input `{name}`: {error.message}") from None
    return values


def _unknown(what: str, name: str, scheme: Scheme) -> UsageError:
    names = [parameter for parameter, _ in scheme.parameters]
    near = nearest(name, [*names, TRUTH])
    hint = f"did you mean `{near}`?" if near else f"it takes {_takes(scheme)}"
    return UsageError(f"{what}: scheme `{scheme.name}` has no such input", help=hint)


def _takes(scheme: Scheme) -> str:
    return ", ".join(f"{name}: {type_}" for name, type_ in scheme.parameters) or "nothing"


def given_params(params: tuple[Param, ...], given: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """The values of `--set`, read by the params' types; whether they may be so is for the run to say."""
    from gotlang.data import parse_value

    types = {param.name: param.type for param in params}
    written = pairs(given, "--set")
    # A name that no param has stays: the run says so, with the nearest.
    return {
        name: parse_value(text, types[name], f"--set {name}") if name in types else text
        for name, text in written.items()
    }

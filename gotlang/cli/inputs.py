"""From parameters of a command to values: the program, a scheme's inputs, params and options."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from msgspec import Struct, field
from msgspec.structs import replace

from gotlang import keys
from gotlang.cli.options import pairs, run_options
from gotlang.cli.output import complain, count
from gotlang.cli.programs import compilation
from gotlang.diagnostics import suggestion
from gotlang.errors import ReadError, UsageError

if TYPE_CHECKING:
    from gotlang.api import ColumnMatch, Options, Program, Scheme
    from gotlang.program import CheckedProgram
    from gotlang.types import Type

_NONE: Mapping[str, Any] = {}
TRUTH = "truth"
"""The name of the known answer, next to the scheme's inputs."""


def program(path: str, chosen: Mapping[str, Any] = _NONE) -> Program:
    """A program to run, with the result of the study that `--tuned` names; warnings are counted on stderr.

    Raises CompileError if it does not compile.
    """
    from gotlang.api import Program, read_tuned

    loaded = Program(compilation(path))
    if (warnings := len(loaded.compilation.diagnostics)) and not chosen.get("quiet"):
        complain(f"{count(warnings, 'warning')} (`gotc check {path}`)")
    if (tuned := chosen.get("tuned")) is None:
        return loaded
    found = read_tuned(tuned)
    made = loaded.tuned(found)
    if found.program != loaded.name:
        complain(f"{tuned} is the result of a study of `{found.program}`, not of `{loaded.name}`")
    others = set(made.schemes) - {made.scheme().name}
    if found.scheme in others and not chosen.get("scheme") and not chosen.get("schemes"):
        complain(f"{tuned} is tuned for another scheme: select it with `--scheme {found.scheme}`")
    return made


def options_for(program: Program, chosen: dict[str, Any]) -> Options:
    """The options of a run. Raises UsageError if the program has prompts and there is no model or
    simulator."""
    record = Path(chosen["record"]) if chosen.get("record") is not None else None
    params = given_params(program, chosen["set"])
    options = replace(run_options(chosen), params=params, record=record, **_tuned_options(chosen))
    if asks_models(program, chosen):
        require_model(program, options, chosen["model"])
    return options


def require_model(program: CheckedProgram, options: Options, model: str | None) -> None:
    """Raise UsageError if neither a model nor a simulator can respond to a program's prompts; `model` is the
    chosen one."""
    if options.simulated and program.ir(0).asked and not program.ir(0).simulators:
        raise UsageError(
            "this program has no simulator" if model else f"{_no_model()}, and this program has no simulator",
            help="choose a model with `--model openai:NAME` (its key in OPENAI_API_KEY), or write a "
            "simulator (`gotc init --simulator FILE` writes a first one)",
        )


def asks_models(program: Program, chosen: Mapping[str, Any]) -> bool:
    """Whether a scheme calls a model: not if it reaches no prompt, or asks only people."""
    ir = program.ir(0)
    if not ir.asked or "scheme" not in chosen:
        return bool(ir.asked)
    return not ir.reached(program.scheme(chosen["scheme"])).isdisjoint(ir.asked)


def _no_model() -> str:
    return "OPENAI_MODEL is not set" if keys.read("OPENAI_API_KEY") else "no model is configured"


def model_notice(options: Options, model: str | None, *, quiet: bool) -> str:
    """The notice with the first response if it is simulated because no `model` was chosen; else empty."""
    if model is not None or quiet or not options.simulated:
        return ""
    return f"{_no_model()}: responses are simulated (choose a model with --model)"


def _tuned_options(chosen: dict[str, Any]) -> dict[str, Any]:
    """The options of a tuned file that were not chosen otherwise."""
    if chosen["tuned"] is None:
        return {}
    import click
    from click.core import ParameterSource

    from gotlang.api import read_tuned

    context = click.get_current_context()
    found = read_tuned(chosen["tuned"]).settings
    return {
        name: found[name]
        for name in ("concurrency", "schedule")
        if name in found and context.get_parameter_source(name) is ParameterSource.DEFAULT
    }


@final
class GivenInputs(Struct, frozen=True):
    """Inputs by name, and the known answer (None: unknown)."""

    inputs: dict[str, Any] = field(default_factory=dict)
    truth: Any = None


def given_inputs(program: Program, scheme: Scheme, chosen: Mapping[str, Any]) -> GivenInputs:
    """The inputs of a scheme: from a row of `--data`, overridden by `--inputs`, overridden by `--input`.

    Raises UsageError for invalid, unknown and missing inputs.
    """
    wanted = dict(scheme.parameters)
    types: dict[str, Type] = {TRUTH: scheme.truth, **wanted}
    values = {} if chosen["inputs"] is None else _from_file(chosen["inputs"], types)
    for name, text in pairs(chosen["input"], "--input").items():
        if name not in types:
            raise _unknown(f"--input {name}", name, scheme)
        from gotlang.data import parse_value, read_value

        values[name] = parse_value(read_value(text, f"--input {name}"), types[name], f"--input {name}")
    if chosen["data"] is not None:
        from gotlang.evaluate.rows import reads_truth

        values = {
            **_from_data(chosen, wanted, types, set(values), measured=reads_truth(program.ir(0), scheme)),
            **values,
        }
    elif chosen["map"] or chosen["row"]:
        option = "--map" if chosen["map"] else "--row"
        raise UsageError(f"`{option}` needs a data file", help="name the file with `--data`")
    from gotlang.types import OptionalType

    left_out = [name for name in wanted if name not in values]
    if missing := [name for name in left_out if not isinstance(wanted[name], OptionalType)]:
        raise UsageError(
            f"scheme `{scheme.name}` needs {', '.join(f'`{name}`' for name in missing)}",
            help=f"inputs: {signature(scheme)}; use `--input {missing[0]}=...`, or a row of `--data`",
        )
    truth = None if TRUTH in wanted else values.pop(TRUTH, None)
    return GivenInputs(values, truth)


def _from_data(
    chosen: Mapping[str, Any],
    wanted: Mapping[str, Type],
    types: Mapping[str, Type],
    there: set[str],
    *,
    measured: bool,
) -> dict[str, Any]:
    from gotlang.data import inputs, load
    from gotlang.evaluate.rows import match

    mapping = pairs(chosen["map"], "--map")
    needed = {name: type_ for name, type_ in wanted.items() if name not in there or name in mapping}
    known = TRUTH in needed or (TRUTH in there and TRUTH not in mapping)
    table = load(chosen["data"])
    compared = not known and (measured or TRUTH in mapping)
    found = match(table, needed, types[TRUTH] if compared else None, mapping)
    optional = {TRUTH: types[TRUTH]} if TRUTH in found.columns and not known else {}
    values = inputs(table, chosen["row"], {**mapping, **found.columns}, needed, optional)
    if not chosen.get("quiet"):
        report_inferred(found)
    return values


def report_inferred(found: ColumnMatch) -> None:
    """Report on stderr which columns were inferred."""
    if inferred := ", ".join(f"{name} ← {found.columns[name]}" for name in found.inferred):
        complain(f"inferred columns: {inferred} (override with --map)")


def _from_file(path: str, types: Mapping[str, Type]) -> dict[str, Any]:
    from gotlang.answers.conversion import convert
    from gotlang.answers.literals import strict
    from gotlang.data.inputs import not_a_text
    from gotlang.disk import read_bounded

    shown = "standard input" if path == "-" else path
    try:
        text = (sys.stdin.buffer.read() if path == "-" else read_bounded(path)).decode("utf-8-sig")
        content = strict(text, data=True)
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # JSON's and Unicode's errors are ValueErrors
        raise UsageError(f"--inputs: {shown} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise UsageError(f"--inputs: {shown} is not a JSON object", help='expected {"name": value, ...}')
    values = {}
    for name, value in content.items():
        try:
            if name in types and (why := not_a_text(value, types[name])):
                raise ReadError(why)
            values[name] = convert(value, types[name]) if name in types else value
        except ReadError as error:
            raise UsageError(f"--inputs: {shown}, input `{name}`: {error.message}") from None
    return values


def _unknown(what: str, name: str, scheme: Scheme) -> UsageError:
    hint = suggestion(name, [*dict(scheme.parameters), TRUTH]) or f"inputs: {signature(scheme)}"
    return UsageError(f"{what}: scheme `{scheme.name}` has no such input", help=hint)


def signature(scheme: Scheme) -> str:
    """The inputs of a scheme with their types."""
    return ", ".join(f"{name}: {type_}" for name, type_ in scheme.parameters) or "none"


def given_params(program: Program, given: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """The values of `--set`, parsed by the types of the params; the run checks them."""
    from gotlang.data import parse_value

    # An unknown name is reported by the run, with the nearest one.
    return {
        name: parse_value(text, program.params[name].type, f"--set {name}")
        if name in program.params
        else text
        for name, text in pairs(given, "--set").items()
    }

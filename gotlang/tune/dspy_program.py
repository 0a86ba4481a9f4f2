"""A whole program as a `dspy.Module`, for any optimizer of DSPy's with a metric of one's own.

student = dspy_module(load("merge.got"), prompts=["improve"])
better = dspy.COPRO(metric=metric).compile(student, trainset=examples, eval_kwargs={})
tuned_program(better).run(documents=[...])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gotlang.errors import RunError, UsageError
from gotlang.options import Options
from gotlang.program import CheckedProgram
from gotlang.session import run_program, run_to_end
from gotlang.tune.dspy_bridge import Listener, Ran, module, texts_of
from gotlang.tune.texts import Texts, rewritten


def dspy_module(
    program: CheckedProgram,
    *,
    scheme: str | None = None,
    prompts: Sequence[str] | None = None,
    options: Options | None = None,
) -> Any:
    """The module of a program: called with a scheme's inputs, it gives a prediction with `result` and
    `score`.

    `prompts` are those whose texts optimizers may change (default: all). A run that fails gives a `result`
    of None and says why in `feedback`. Raises UsageError for an unknown prompt, and where DSPy is not
    installed.
    """
    ir = program.ir(0)
    names = [prompt.name for prompt in ir.prompts] if prompts is None else list(prompts)
    for name in names:
        if name not in {prompt.name for prompt in ir.prompts}:
            raise UsageError(f"`{program.name}` has no prompt `{name}`")
    chosen = program.scheme(scheme).name
    given = options or Options()

    def run(texts: Mapping[str, Texts], fields: Mapping[str, Any]) -> Ran:
        listener = Listener(names)
        changed = {name: text for name, text in texts.items() if text != Texts()}
        one = program.changed(rewritten(program.compilation, {}, changed)) if changed else program
        try:
            work = run_program(one, fields, scheme=chosen, options=replace(given, observe=listener))
            result = run_to_end(work, virtual=given.simulated)
        except RunError as error:
            return Ran(0.0, None, listener.asked, error.message)
        return Ran(result.score or 0.0, result.value, listener.asked)

    try:
        made = module(ir, names, run)
    except ImportError:
        raise UsageError("a module needs DSPy", help="pip install 'gotlang[tune]'") from None
    made.program, made.prompts = program, names
    return made


def tuned_program(made: Any) -> Any:
    """The program of a module, of the kind it was made of, with the texts that its predictors hold now."""
    program: CheckedProgram = made.program
    ir = program.ir(0)
    texts = {name: texts_of(ir.prompt(name), getattr(made, name)) for name in made.prompts}
    changed = {name: text for name, text in texts.items() if text != Texts()}
    return program.changed(rewritten(program.compilation, {}, changed))

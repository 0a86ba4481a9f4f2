"""A study as one HTML file that needs no network: what came out, prompts side by side, Optuna's own plots."""

from __future__ import annotations

import difflib
import html
import warnings
from pathlib import Path
from typing import Any

from gotlang.errors import UsageError
from gotlang.tune.driver import Studied
from gotlang.tune.heldout import VERDICTS
from gotlang.tune.texts import Texts

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .3rem .8rem; border-bottom: 1px solid #ddd }
th { text-align: left } td.number { text-align: right; font-variant-numeric: tabular-nums }
pre { white-space: pre-wrap; background: #f6f6f6; padding: .8rem; margin: 0 }
del { background: #fdd } ins { background: #dfd }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem } .note { color: #666 }
@media (max-width: 50rem) { .pair { grid-template-columns: 1fr } }
"""


def write_report(done: Studied, path: Path) -> None:
    """Write the report of a study. Raises UsageError where the file cannot be written."""
    try:
        path.write_text(report(done), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def report(done: Studied) -> str:
    """The report as a page."""
    simulated = " Answers are simulated: made up by the program's own stand-ins." if done.simulated else ""
    parts = [
        f"<h1>Study {_text(done.plan.name)}</h1>",
        f"<p class=note>{len(done.records)} trials with {_text(done.model)}, ${done.usd:.4f} for "
        f"{done.answers:,} answers, {done.rejected} points refused before a call.{simulated}</p>",
        _held_out(done),
        _values(done),
        *[_prompt(done, name, texts) for name, texts in done.tuned.texts.items()],
        _trials(done),
        *_plots(done),
    ]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Study {_text(done.plan.name)}</title><style>{_STYLE}</style></head>\n"
        f"<body>{body}</body></html>\n"
    )


def _text(value: object) -> str:
    return html.escape(str(value))


def _number(value: float | None) -> str:
    return f"<td class=number>{'' if value is None else f'{value:.4g}'}</td>"


def _held_out(done: Studied) -> str:
    held_out = done.held_out
    if held_out is None:
        return f"<h2>Held-out rows</h2><p>They were not run: {_text(done.partial)}.</p>"
    rows = "".join(
        f"<tr><td>{_text(c.name)}</td>{_number(c.original)}{_number(c.tuned)}"
        f"<td class=number>{c.lead.mean:+.4g} ({c.lead.low:+.4g} to {c.lead.high:+.4g})</td></tr>"
        for c in held_out.compared
    )
    return (
        f"<h2>Original against tuned on {held_out.rows} rows that the search never saw</h2>"
        f"<p><b>{_text(held_out.verdict)}</b>: {_text(VERDICTS[held_out.verdict])}.</p>"
        f"<table><tr><th></th><th>original</th><th>tuned</th><th>difference, 95%</th></tr>{rows}</table>"
    )


def _values(done: Studied) -> str:
    defaults = {param.name: param.default for param in done.plan.program.ir(0).params}
    values = {**done.tuned.params, **done.tuned.settings}
    rows = "".join(
        f"<tr><td>{_text(name)}</td><td class=number>{_text(defaults.get(name, ''))}</td>"
        f"<td class=number>{_text(value)}</td></tr>"
        for name, value in values.items()
    )
    return (
        f"<h2>Params</h2><table><tr><th></th><th>original</th><th>tuned</th></tr>{rows}</table>"
        if rows
        else ""
    )


def _prompt(done: Studied, name: str, texts: Texts) -> str:
    from gotlang.tune.dspy_bridge import instruction_of

    before = instruction_of(done.plan.program.ir(0).prompt(name))
    after = texts.instruction if texts.instruction is not None else before
    left, right = _marked(before, after)
    shots = "".join(
        f"<pre>{_text(', '.join(f'{k} = {v}' for k, v in shot.inputs))} -&gt; {_text(shot.output)}</pre>"
        for shot in texts.examples or ()
    )
    examples = f"<h3>Examples</h3>{shots}" if shots else ""
    return (
        f"<h2>Prompt {_text(name)}</h2><div class=pair><div><b>original</b><pre>{left}</pre></div>"
        f"<div><b>tuned</b><pre>{right}</pre></div></div>{examples}"
    )


def _marked(before: str, after: str) -> tuple[str, str]:
    """Both texts with what went and what came marked, word by word."""
    old, new = before.split(" "), after.split(" ")
    left, right = [], []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = _text(" ".join(old[a:b])), _text(" ".join(new[c:d]))
        left.append(gone if kind == "equal" or not gone else f"<del>{gone}</del>")
        right.append(come if kind == "equal" or not come else f"<ins>{come}</ins>")
    return " ".join(left), " ".join(right)


def _trials(done: Studied) -> str:
    rows = "".join(
        f"<tr><td class=number>{r.number}{' *' if r.number == done.winner.number else ''}</td>"
        f"{_number(r.told.values[0] if r.told.values else None)}<td class=number>{len(r.rows)}</td>"
        f"<td>{_text(r.ended)}</td><td>{_text(', '.join(f'{k} = {v}' for k, v in r.point.items()))}</td></tr>"
        for r in done.records.values()
    )
    head = "<tr><th>trial</th><th>train</th><th>rows</th><th>ended</th><th>values</th></tr>"
    return f"<details><summary>All trials</summary><table>{head}{rows}</table></details>"


def _plots(done: Studied) -> list[str]:
    """Optuna's plots; the script they share stands in the page once."""
    import optuna
    import plotly.io
    from optuna import visualization as shown

    study, targets = done.study, [objective.text for objective in done.plan.objectives]
    one = len(targets) == 1
    wanted: list[tuple[str, Any]] = [
        ("Pareto front", lambda: shown.plot_pareto_front(study, target_names=targets))
    ]
    if one:
        wanted = [
            ("History", lambda: shown.plot_optimization_history(study, target_name=targets[0])),
            ("Rows seen", lambda: shown.plot_intermediate_values(study)),
            ("Importance", lambda: shown.plot_param_importances(study, target_name=targets[0])),
            ("Contour", lambda: shown.plot_contour(study, params=_two(done), target_name=targets[0])),
            ("Slices", lambda: shown.plot_slice(study, target_name=targets[0])),
            ("Parallel coordinates", lambda: shown.plot_parallel_coordinate(study, target_name=targets[0])),
        ]
    parts: list[str] = []
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for name, make in wanted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                figure = make()
            except (ValueError, RuntimeError, ImportError) as error:
                parts.append(f"<h2>{name}</h2><p class=note>Not drawn: {_text(error)}</p>")
                continue
        script = not any("<script" in part for part in parts)
        drawn = plotly.io.to_html(figure, include_plotlyjs=script, full_html=False)
        parts.append(f"<h2>{name}</h2>{drawn}")
    return parts


def _two(done: Studied) -> list[str]:
    """The two dimensions of most values, which a contour is drawn over."""
    names = list(done.records[0].point)
    seen = {name: len({r.point.get(name) for r in done.records.values()}) for name in names}
    return sorted(names, key=lambda name: -seen[name])[:2]

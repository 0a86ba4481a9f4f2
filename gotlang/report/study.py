"""A study as one HTML file that needs no network: what came out, what changed, prompts side by side, and
Optuna's own plots."""

from __future__ import annotations

import difflib
import math
from html import escape
from pathlib import Path
from typing import Any

from gotlang.errors import UsageError
from gotlang.report.page import page
from gotlang.report.study_plots import plots
from gotlang.result import dollars
from gotlang.tune.driver import Studied
from gotlang.tune.heldout import VERDICTS, Compared, amount
from gotlang.tune.space import decoded
from gotlang.tune.texts import Texts

_BAR = 220
_MOOD = {"better": "good", "worse": "bad", "over the constraint": "bad"}


def write_report(done: Studied, path: Path) -> None:
    """Write the report of a study. Raises UsageError where the file cannot be written."""
    try:
        path.write_text(report(done), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def report(done: Studied) -> str:
    """The report as a page."""
    parts = [
        _head(done),
        _held_out(done),
        _values(done),
        *[_prompt(done, name, texts) for name, texts in done.tuned.texts.items() if texts != Texts()],
        _finals(done),
        plots(done),
        _trials(done),
    ]
    body = f'<main class="sheet">{"".join(parts)}</main>\n'
    styles = ("colors.css", "page.css", "report.css", "study.css")
    return page(f"Study {done.plan.name}", body, done.as_json(), styles=styles, scripts=("study.js",))


def _head(done: Studied) -> str:
    wishes = [f"{'maximize' if o.maximize else 'minimize'} {o.text}" for o in done.plan.objectives]
    wishes += [f"subject to {constraint.text}" for constraint in done.plan.constraints]
    facts = [
        done.model,
        f"{len(done.records)} trials",
        f"{dollars(done.usd)} for {done.answers:,} answers",
        f"{done.rejected} points refused before a call",
    ]
    notes = ["Answers are simulated: the program's own stand-ins made them up."] if done.simulated else []
    notes += [f"The search ended early: {done.partial}."] if done.partial else []
    notes += [f"No trial kept {constraint}." for constraint in done.unmet]
    return (
        f"<header><h1>Study {escape(done.plan.name)}</h1>"
        f"<p><code>{escape(', '.join(wishes))}</code></p>"
        f'<p class="soft">{escape(" · ".join(facts))}</p>'
        + "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
        + "</header>"
    )


# ---------------------------------------------------------------- original against tuned


def _held_out(done: Studied) -> str:
    held_out = done.held_out
    if held_out is None:
        return '<div class="verdict"><b>not compared</b> the money did not last for the held-out rows</div>'
    word = held_out.verdict
    verdict = (
        f'<div class="verdict {_MOOD.get(word, "")}"><b>{escape(word)}</b> {escape(VERDICTS[word])}</div>'
        "<h2>Original against tuned "
        f"<small>means of {held_out.rows} rows that the search never saw</small></h2>"
    )
    if word.startswith("nothing"):
        rows = "".join(
            f"<tr><th>{escape(c.name)}</th><td>{amount(c.name, c.original)}</td></tr>"
            for c in held_out.compared
        )
        return (
            f'{verdict}<table class="narrow"><thead><tr><th></th><th>original</th></tr></thead>{rows}</table>'
        )
    better = {o.text: o.maximize for o in done.plan.objectives}
    widest = max((abs(b) for c in held_out.compared for b in _parts(c)), default=0.0) or 1.0
    rows = "".join(_compared(c, better.get(c.name, False), widest) for c in held_out.compared)
    head = "<th></th><th>original</th><th>tuned</th><th>difference, 95% interval</th>"
    head += '<th class="left">in parts of the original</th>'
    return f'{verdict}<div class="scroll"><table><thead><tr>{head}</tr></thead>{rows}</table></div>'


def _parts(compared: Compared) -> list[float]:
    """The mean difference and its interval in parts of the original; nothing where that makes no sense."""
    lead, base = compared.lead, compared.original
    if not base or not all(map(math.isfinite, (lead.low, lead.mean, lead.high))):
        return []
    return [value / abs(base) for value in (lead.low, lead.mean, lead.high)]


def _compared(compared: Compared, maximize: bool, widest: float) -> str:
    name, lead = compared.name, compared.lead
    interval = f'{amount(name, lead.mean, sign=True)} <span class="soft">({amount(name, lead.low, sign=True)}'
    interval += f" to {amount(name, lead.high, sign=True)})</span>"
    return (
        f"<tr><th>{escape(name)}</th><td>{amount(name, compared.original)}</td>"
        f"<td>{amount(name, compared.tuned)}</td><td>{interval}</td>"
        f'<td class="bar">{_bar(_parts(compared), maximize, widest)}</td></tr>'
    )


def _bar(parts: list[float], maximize: bool, widest: float) -> str:
    """The interval as a whisker about zero, in the color of what it shows."""
    if not parts:
        return ""
    low, middle, high = parts
    mood = "none"
    if low > 0 or high < 0:
        mood = "better" if (low > 0) == maximize else "worse"
    half = _BAR / 2

    def at(value: float) -> str:
        return f"{half + value / widest * (half - 6):.1f}"

    return (
        f'<svg viewBox="0 0 {_BAR} 24" role="img" aria-label="{100 * low:+.0f}% to {100 * high:+.0f}%">'
        f'<line class="zero" x1="{half}" x2="{half}" y1="2" y2="22"/>'
        f'<line class="{mood}" x1="{at(low)}" x2="{at(high)}" y1="12" y2="12"/>'
        f'<circle class="{mood}" cx="{at(middle)}" cy="12" r="3.5"/></svg>'
    )


# ---------------------------------------------------------------- what changed


def _values(done: Studied) -> str:
    defaults = {param.name: param.default for param in done.plan.program.ir(0).params}
    values = {**done.tuned.params, **done.tuned.settings}
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(str(defaults.get(name, '')))}</td>"
        f"<td>{_changed(value, defaults.get(name))}</td></tr>"
        for name, value in values.items()
    )
    head = "<thead><tr><th></th><th>original</th><th>tuned</th></tr></thead>"
    return f'<h2>Params</h2><table class="narrow">{head}{rows}</table>' if rows else ""


def _changed(value: Any, before: Any) -> str:
    text = escape(str(value))
    return text if value == before else f"<b>{text}</b>"


def _prompt(done: Studied, name: str, texts: Texts) -> str:
    prompt = done.plan.program.ir(0).prompt(name)
    text = prompt.instruction or prompt.user
    before = text.text if text is not None else ""
    after = texts.instruction if texts.instruction is not None else before
    left, right = _marked(before, after)
    shots = "".join(
        f"<pre>{escape(', '.join(f'{k} = {v}' for k, v in shot.inputs))} → {escape(shot.output)}</pre>"
        for shot in texts.examples or ()
    )
    return (
        f'<h2>Prompt {escape(name)}</h2><div class="pair"><div><b>original</b><pre>{left}</pre></div>'
        f"<div><b>tuned</b><pre>{right}</pre></div></div>"
        + (f'<h3>Examples of the tuned prompt</h3><div class="shots">{shots}</div>' if shots else "")
    )


def _marked(before: str, after: str) -> tuple[str, str]:
    """Both texts with what went and what came marked, word by word."""
    old, new = before.split(" "), after.split(" ")
    left, right = [], []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = escape(" ".join(old[a:b])), escape(" ".join(new[c:d]))
        left.append(gone if kind == "equal" or not gone else f"<del>{gone}</del>")
        right.append(come if kind == "equal" or not come else f"<ins>{come}</ins>")
    return " ".join(left), " ".join(right)


# ---------------------------------------------------------------- trials


def _point(point: Any) -> str:
    return escape(
        ", ".join(
            f"{k} = {v:.4g}" if isinstance(v, float) else f"{k} = {decoded(v)}" for k, v in point.items()
        )
    )


def _finals(done: Studied) -> str:
    met = [finalist for finalist in done.finals if finalist.again is not None]
    if not met:
        return ""
    rows = "".join(
        f"<tr><td>{f.record.number}</td><td>{f.before:.4g}</td><td>{f.again:.4g}</td><td>{f.rows}</td>"
        f"<td><b>{f.mean:.4g}</b></td>"
        f'<td class="left wrap">{_point(f.record.point)}</td></tr>'
        for f in met
    )
    head = "<th>trial</th><th>train rows</th><th>again</th><th>rows of it</th><th>both</th>"
    return (
        "<h2>Finals <small>the likely winners once more, with new draws, each for as long as it may still "
        "win; the first one wins</small></h2>"
        f'<div class="scroll"><table><thead><tr>{head}<th class="left">values</th></tr></thead>'
        f"{rows}</table></div>"
    )


def _trials(done: Studied) -> str:
    rows = "".join(
        f"<tr><td>{r.number}{' ★' if r.number == done.winner.number else ''}</td>"
        f"<td>{'–' if r.told.values is None else ', '.join(f'{v:.4g}' for v in r.told.values)}</td>"
        f"<td>{len(r.rows)}</td>"
        f'<td class="left"><span class="chip {_chip(r.ended)}">{escape(r.ended)}</span></td>'
        f'<td class="left wrap">{_point(r.point)}</td></tr>'
        for r in done.records.values()
    )
    head = '<th>trial</th><th>train</th><th>rows</th><th class="left">ended</th><th class="left">values</th>'
    return (
        f"<details><summary>All {len(done.records)} trials</summary>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>{rows}</table></div></details>'
    )


def _chip(ended: str) -> str:
    return "good" if ended == "full" else "bad" if ended in {"infeasible", "failed"} else ""

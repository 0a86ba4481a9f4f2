"""The page of an evaluation or a comparison, put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from gotlang.evaluate.comparison import COST_LABELS, ComparedScheme, Comparison
from gotlang.evaluate.evaluation import RowRun
from gotlang.report.page import page
from gotlang.report.results.figures import MOST_LETTERS, boxes, differences, spread, tradeoff
from gotlang.report.results.words import bounds, brief, shown
from gotlang.statistics import FEWEST_ROWS, Interval

MOST_REASONS = 8


def results_page(found: Comparison, head: Mapping[str, Any]) -> str:
    """The whole page. `head` says what was run: program, schemes, model, simulated, data, rows, seed, and the
    `command` that runs one row of it (empty: none).

    With one entry it is the page of an evaluation, without what only a comparison has.
    """
    several = len(found.entries) > 1
    what = "schemes compared" if several else found.entries[0].name
    title = f"{head['program']}: {what}"
    body = "".join(_body(found, head, title, several))
    data = {"label": found.label, "lower": found.lower_is_better, **_rows(found, head)}
    return page(title, body, data, styles=("page.css", "report.css"), scripts=("page.js", "report.js"))


def _body(found: Comparison, head: Mapping[str, Any], title: str, several: bool) -> Iterator[str]:
    rows = "1 row" if head["rows"] == 1 else f"{head['rows']:,} rows"
    facts = [head["model"], f"{rows} of {head['data']}", f"seed {head['seed']}"]
    if found.equal_cost:
        facts.append(f"at equal {COST_LABELS[found.cost_metric]}")
    yield f'<div class="sheet"><header><h1>{escape(title)}</h1>'
    yield f'<p class="soft">{escape(" · ".join(facts))}</p>'
    if head["simulated"]:
        yield '<p class="note">Simulated: no real model was asked.</p>'
    yield "</header>"
    yield from _table(found, several)
    good = "lower" if found.lower_is_better else "higher"
    paid = COST_LABELS[found.cost_metric]
    costs = "costs" if found.cost_metric == "cost" else "asks for"
    yield '<section class="figures">'
    words = f"{found.label} of each row ({good} is better): median, quartiles, mean (the diamond)"
    if found.metric == "correct":
        words = "The share of right answers, with its 95% interval"
    yield _figure(boxes(found), f"{words}; and what a row {costs}.")
    if several:
        words = f"{paid.capitalize()} against {found.label}, with 95% intervals."
        yield _figure(tradeoff(found), f"{words} Nothing beats schemes on the line in both.")
        words = f"Paired differences to {found.baseline}, with 95% intervals; one that holds 0 shows none."
        if any(d.rows < FEWEST_ROWS for e in found.entries if (d := e.to_baseline.get(found.metric))):
            words += f" With fewer than {FEWEST_ROWS} rows that both have, no difference is called one."
        yield _figure(differences(found), words)
    else:
        yield _figure(spread(found), f"Every row at its {paid} and its {found.label}.")
    yield "</section>"
    yield from _failures(found)
    made = "every scheme made of it" if several else "came of it"
    yield f'<section><h2>Rows</h2><p class="soft">A click on a row shows what {made}.</p>'
    yield '<div class="split"><div id="rows"></div><aside id="panel" aria-live="polite"></aside></div>'
    yield "</section></div>\n"


def _figure(drawn: str, caption: str) -> str:
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>" if drawn else ""


def _table(found: Comparison, several: bool) -> Iterator[str]:
    others = [
        metric
        for metric in ("correct", "cost", "calls", "seconds")
        if metric != found.metric and any(entry.evaluation.values(metric) for entry in found.entries)
    ]
    against = [f"against {brief(found.baseline, MOST_LETTERS)}"] if several else []
    heads = ["scheme", found.label, *against, *others]
    yield '<section><div class="scroll"><table class="sums"><thead><tr>'
    yield "".join(f"<th>{escape(head)}</th>" for head in heads) + "</tr></thead><tbody>"
    front = {entry.name for entry in found.front()}
    for entry in found.entries:
        name = escape(brief(entry.name, 30)) + (f" ×{entry.repeats}" if entry.repeats > 1 else "")
        if several and entry.name in front:
            name += ' <span class="chip" title="nothing beats it in both spending and quality">Pareto</span>'
        yield f'<tr><th title="{escape(entry.name)}">{name}</th>'
        yield f"<td>{_interval(found.metric, entry.evaluation.interval(found.metric))}</td>"
        if several:
            yield f"<td>{_against(found, entry)}</td>"
        for metric in others:
            yield f"<td>{_interval(metric, entry.evaluation.interval(metric))}</td>"
        yield "</tr>"
    yield "</tbody></table></div></section>"


def _interval(metric: str, found: Interval | None) -> str:
    if found is None:
        return '<span class="soft">unknown</span>'
    return f"<b>{shown(metric, found.mean)}</b><small>{bounds(metric, found)}</small>"


def _against(found: Comparison, entry: ComparedScheme) -> str:
    if entry.name == found.baseline:
        return '<span class="soft">baseline</span>'
    difference = _interval(found.metric, entry.to_baseline.get(found.metric))
    if entry.verdict is None:
        return difference
    kind = {"better": "good", "worse": "bad"}.get(entry.verdict, "")
    return f'{difference}<span class="chip {kind}">{entry.verdict}</span>'


def _failures(found: Comparison) -> Iterator[str]:
    reasons = [
        (entry.name, reason, number)
        for entry in found.entries
        for reason, number in entry.evaluation.failures().most_common(MOST_REASONS)
    ]
    if not reasons:
        return
    yield '<section><h2>Failures by reason</h2><table class="sums"><thead><tr><th>scheme</th><th>runs</th>'
    yield "<th class=reason>reason</th></tr></thead><tbody>"
    for name, reason, number in reasons:
        yield f"<tr><th>{escape(name)}</th><td>{number}</td><td class=reason>{escape(reason[:500])}</td></tr>"
    yield "</tbody></table></section>"


def _rows(found: Comparison, head: Mapping[str, Any]) -> dict[str, Any]:
    """What the script shows of every row: inputs once, and each scheme's runs."""
    rows: dict[int, dict[str, Any]] = {}
    for number, entry in enumerate(found.entries):
        for run in entry.evaluation.runs:
            row = rows.setdefault(
                run.row.number,
                {"row": run.row.number, "inputs": dict(run.row.inputs), "truth": run.row.truth, "runs": []},
            )
            row["runs"].append([number, _run(run)])
    return {
        "schemes": [entry.name for entry in found.entries],
        "own": [entry.evaluation.scheme in head["schemes"] and entry.repeats == 1 for entry in found.entries],
        "metric": found.metric,
        "command": head["command"],
        "rows": [rows[number] for number in sorted(rows)],
    }


def _run(run: RowRun) -> dict[str, Any]:
    return {
        "state": run.state,
        "value": run.value,
        "score": run.metric("score"),
        "correct": run.truth,
        "usd": run.usd,
        "calls": run.calls,
        "reason": run.reason,
        "repeat": run.repeat,
    }

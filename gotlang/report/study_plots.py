"""Optuna's own plots of a study, in the page's look; the script that they share stands in the page once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from html import escape
from typing import Any

from gotlang.tune.driver import Studied

_INK = "#7a8499"
"""Readable on a light and on a dark page."""
_HEIGHT = 340
_LONGEST = 28
"""Characters of an objective's text that an axis has room for."""


def plots(done: Studied) -> str:
    """The plots as a section. What cannot be drawn, such as the importance of what never varied, says why."""
    import optuna
    import plotly.io

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    cards: list[str] = []
    script: bool | str = True
    for name, caption, wide, make in _wanted(done):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                figure = make()
            except (ValueError, RuntimeError, ImportError) as error:
                cards.append(
                    f'<figure><h3>{name}</h3><p class="soft">Not drawn: {escape(str(error))}</p></figure>'
                )
                continue
        figure.update_layout(
            title=None,
            height=_HEIGHT,
            margin={"l": 10, "r": 10, "t": 24, "b": 10},
            paper_bgcolor="rgba(0,0,0,0)",
            plot_bgcolor="rgba(127,140,170,.08)",
            font={"color": _INK, "size": 12},
            legend={"orientation": "h", "y": 1.12, "x": 0},
        )
        figure.update_xaxes(gridcolor="rgba(127,140,170,.25)", automargin=True)
        figure.update_yaxes(gridcolor="rgba(127,140,170,.25)", automargin=True)
        drawn = plotly.io.to_html(
            figure,
            include_plotlyjs=script,
            full_html=False,
            config={"displayModeBar": False, "responsive": True},
        )
        script = False
        kind = ' class="wide"' if wide else ""
        cards.append(f"<figure{kind}><h3>{name}</h3>{drawn}<figcaption>{caption}</figcaption></figure>")
    return f'<h2>The search</h2><div class="plots">{"".join(cards)}</div>'


def _wanted(done: Studied) -> list[tuple[str, str, bool, Callable[[], Any]]]:
    from optuna import visualization as shown

    study, targets = done.study, [objective.text for objective in done.plan.objectives]
    if len(targets) > 1:
        front = "Trials that no other beats in every objective, among all."
        return [("Pareto front", front, True, lambda: shown.plot_pareto_front(study, target_names=targets))]
    target = targets[0] if len(targets[0]) <= _LONGEST else targets[0][: _LONGEST - 1] + "…"
    two = _two(done)
    return [
        (
            "History",
            "Each trial and the best allowed one so far. Trials in gray break a constraint.",
            False,
            lambda: shown.plot_optimization_history(study, target_name=target),
        ),
        (
            "Importance",
            "How much of the differences between trials each param explains.",
            False,
            lambda: shown.plot_param_importances(study, target_name=target),
        ),
        (
            "Contour",
            "The two params with the most values tried.",
            False,
            lambda: shown.plot_contour(study, params=two, target_name=target),
        ),
        (
            "Rows seen",
            "The mean of each trial over the rows it has seen; trials that were stopped end early.",
            False,
            lambda: shown.plot_intermediate_values(study),
        ),
        (
            "Slices",
            "Each param by itself; later trials are darker.",
            True,
            lambda: shown.plot_slice(study, target_name=target),
        ),
        (
            "Parallel coordinates",
            "A line is a trial; dotted ones break a constraint.",
            True,
            lambda: shown.plot_parallel_coordinate(study, target_name=target),
        ),
    ]


def _two(done: Studied) -> list[str]:
    """The two dimensions of most values, which a contour is drawn over."""
    names = list(dict.fromkeys(name for record in done.records.values() for name in record.point))
    seen = {name: len({r.point.get(name) for r in done.records.values()}) for name in names}
    return sorted(names, key=lambda name: -seen[name])[:2]

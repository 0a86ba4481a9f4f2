"""What people with small screens and in the dark see of a page in a browser."""

from __future__ import annotations

from pathlib import Path

from support.browser import Browser

AA = 4.5
"""The contrast that WCAG 2 asks of text (level AA); large text needs 3."""


def cut_off(window: Browser) -> list[str]:
    """What lies beyond the right edge of the page, or of a box that hides it without a mark: elements with
    texts, outside of what scrolls and of what says by an ellipsis that there is more."""
    found = window.run(_script("cut_off"))
    assert isinstance(found, list)
    return found


def too_faint(window: Browser) -> list[str]:
    """Texts in HTML whose contrast to what is behind them is lower than WCAG's AA."""
    found = window.run(_script("too_faint"), AA)
    assert isinstance(found, list)
    return found


def _script(name: str) -> str:
    return Path(__file__).with_name(f"{name}.js").read_text("utf-8")

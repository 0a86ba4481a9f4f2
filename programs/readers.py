"""How the authors of Graph of Thoughts read responses, for its programs.

A program that says `parse with` one of these takes the same value from a response as their code does, and no
value where theirs has none; what their code then counts as the worst score is a failed thought here.
"""

from __future__ import annotations

import json
import re


def _after_output(text: str) -> str:
    """What follows the first `Output:`, or all of it."""
    return text.strip().partition("Output:")[2].strip() if "Output:" in text else text.strip()


def read_rating(text: str) -> dict[str, float | None]:
    """The last number between the tags of each rating; None where there is no number.

    Without one of the two tags what is on its side counts, without both the whole response.
    """
    return {"redundancy": _tagged(text, "Redundancy"), "retained": _tagged(text, "Retained")}


def _tagged(text: str, tag: str) -> float | None:
    text = _after_output(text)
    start, end = text.rfind(f"<{tag}>"), text.rfind(f"</{tag}>")
    found = text[start + len(tag) + 2 if start >= 0 else 0 : end if end >= 0 else len(text)]
    numbers = re.findall(r"\d+\.?\d*", found)
    return float(numbers[-1]) if numbers else None


def read_counts(text: str) -> dict[str, int]:
    """The object from the last `{` to the last `}`; none at all where this is no JSON."""
    text = _after_output(text)
    start, end = text.rfind("{"), text.rfind("}")
    try:
        return dict(json.loads(text[start : end + 1])) if start >= 0 and end >= 0 else {}
    except ValueError:
        return {}


def read_list(text: str) -> list[int]:
    """The first list in brackets on a line, from the last line with a list that says `Output`.

    An empty list is one, which their code cannot count."""
    return _whole(_bracketed(_last_output([line for line in text.strip().split("\n") if _has_list(line)])))


def read_merged(text: str) -> list[int]:
    """The same from the last line that says `Output`, where numbers may also stand without brackets."""
    lines = _last_output(text.strip().split("\n"))
    lists = [line for line in lines if _has_list(line)]
    return _whole(_bracketed(lists or [f"[{line}]" for line in lines if _numbers(line) is not None]))


def _has_list(line: str) -> bool:
    return "[" in line and "]" in line


def _last_output(lines: list[str]) -> list[str]:
    found = [i for i, line in enumerate(lines) if "Output" in line]
    return lines[lines.index(lines[found[-1]]) :] if found else lines


def _bracketed(lines: list[str]) -> str:
    return lines[0][lines[0].index("[") : lines[0].index("]") + 1] if lines else ""


def _numbers(words: str) -> list[int] | None:
    try:
        return [int(word) for word in words.split(",")]
    except ValueError:
        return None


def _whole(found: str) -> list[int]:
    numbers = [] if re.fullmatch(r"\[\s*\]", found) else _numbers(found[1:-1])
    if numbers is None:
        raise ValueError("there is no list of whole numbers in brackets on a line")
    return numbers

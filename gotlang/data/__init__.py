"""Data files: rows of named values for a program's inputs.

Rows are counted from 0: `--row 7` is the eighth row below the header. A cell of a csv file is converted to
the type of its input: `"[1, 2]"` and Python's `"['a', 'b']"` to lists, `"1 1 4 6"` to a list of numbers; a
`str` is the text as it is.
"""

from typing import TYPE_CHECKING, Any

from gotlang.data.inputs import inputs, parse_value, read_value

if TYPE_CHECKING:
    from gotlang.data.table import Table, fingerprint, load

__all__ = ["Table", "fingerprint", "inputs", "load", "parse_value", "read_value"]


def __getattr__(name: str) -> Any:
    """What reads tables is imported where it is used: a run's inputs may come from options."""
    if name in __all__:
        from gotlang.data import table

        return getattr(table, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

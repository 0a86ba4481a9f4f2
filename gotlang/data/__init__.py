"""Data files: rows of named values, given to a program's inputs.

Rows are counted from 0, so `--row 7` is the eighth row below the header. A cell of a csv is read by the type
of the input it goes to: `"[1, 2]"` and Python's `"['a', 'b']"` are lists, `"1 1 4 6"` is a list where numbers
are wanted, a text is taken as it stands.
"""

from gotlang.data.files import load
from gotlang.data.inputs import inputs, parse_value
from gotlang.data.table import Table, fingerprint

__all__ = ["Table", "fingerprint", "inputs", "load", "parse_value"]

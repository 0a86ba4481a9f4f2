"""The readers of the authors, one folder up, for the listings."""

from pathlib import Path
from runpy import run_path

globals().update(run_path(str(Path(__file__).parents[1] / "readers.py")))

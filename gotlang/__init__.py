"""gotlang: a small language in which LLM reasoning schemes are written, checked, run and tuned."""

from gotlang.version import __version__

__all__ = ["__version__"]

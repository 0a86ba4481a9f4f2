"""Caches: one contract (`base`), one file an implementation."""

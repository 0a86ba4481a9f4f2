"""Sampling: completions from caches and models, within the run's limits, and their cost."""

"""Runs programs: the graph grown while it runs, sampling, cost accounting, budget."""

"""A scheme over many rows, and schemes compared on the same rows.

`rows` turns a table into inputs of a scheme, `evaluation` runs, scores and aggregates rows, `comparison`
makes baselines and compares schemes, `threshold` reads conditions.
"""

"""A scheme over many rows, and schemes side by side on the same rows.

`rows` turns a table into inputs of a scheme, `evaluation` runs and scores rows and sums them up, `comparison`
makes baselines and compares schemes, `threshold` reads conditions.
"""

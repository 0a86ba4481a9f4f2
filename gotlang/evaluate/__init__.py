"""A scheme over many rows, and schemes side by side on the same rows.

Rows of a table become inputs (`rows`, by columns that `matching` finds), all run on one session (`running`),
what came of them is measured (`measure`), summed up (`evaluation`) and held against conditions
(`threshold`). `contenders` makes the baselines that every comparison needs, `comparison` holds several
evaluations against each other.
"""

"""Studies: better params and prompts for a program under a cost constraint.

The way of a study: `plan` (what the declaration asks for) → `rows` (train and test apart) → `space` (what is
varied) → `search` (trials: `proposals` says what to try, `evaluation` runs it, `racing` stops what is worse,
`records` keeps what came of it) → `heldout` (the winner beside the original on rows nobody has seen) →
`tuned` (the result as a file) → `apply` (the result in the program's text).
"""

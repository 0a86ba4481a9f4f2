"""Studies: optimization of params and prompts under a constraint on cost.

`plan` has the study's settings, `space` the dimensions, `structure` and `rewrites` change the program's
graph, `points` runs the program at a point, `sampler` and `prompts` propose, `allocation` chooses with
`surrogate`, `selections` and `prices` what is measured next, `search` measures it, `trials` stores it,
`budget` limits spending, `outcome` has the results, `study` combines all of it.
"""

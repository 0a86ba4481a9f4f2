"""Studies: params and prompts that make a program better at no more than the allowed cost.

`plan` says what is asked for, `space` what varies, `structure` and `rewrites` change the program's graph,
`points` runs the program at a point, `sampler` and `prompts` propose, `allocation` decides by `surrogate`,
`selections` and `prices` what is measured next, `search` measures it, `trials` stores it, `budget` limits
spending, `outcome` says what was found, `study` is all of it.
"""

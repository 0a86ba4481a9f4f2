"""Pictures of graphs: what a run did, or what a scheme plans to do.

`run` and `plan` make a `Picture` (nodes in nested groups, and connections), `tidy` takes out what only a
machine needs, `arrange` puts every group's members into layers and an order, `place` gives them places, and
`dot`, `mermaid`, `svg` and `page` write it. The layout is our own, so nothing has to be installed.
"""

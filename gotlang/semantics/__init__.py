"""Semantic analysis: names, types and the shape of the graph, in tables beside the syntax tree."""

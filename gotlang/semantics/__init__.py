"""What a program means: names, types and the shape of its graph, in tables beside the syntax tree."""

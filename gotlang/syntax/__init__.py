"""Text to syntax tree and back: nodes, the parser, and the printer."""

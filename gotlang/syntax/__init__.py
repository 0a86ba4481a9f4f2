"""Text to syntax tree and back: nodes, the parser that makes them, the printer that writes them."""

"""What is kept and shown of runs: their history, their graph as data, their trace."""

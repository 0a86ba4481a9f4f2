"""Records and views of runs: their history, their graph as data, their trace."""

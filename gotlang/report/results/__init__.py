"""The page of `gotc eval` and `gotc compare`: charts as inline SVG, a table, and every row to click into."""

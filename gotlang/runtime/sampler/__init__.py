"""How a run gets its samples: from caches and models, within its limits, and what they cost."""

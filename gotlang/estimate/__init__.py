"""The one estimator: what a scheme costs before it runs. `gotc explain`, the scheduler, limits and studies
ask it."""

"""The cost estimator: what a scheme costs before it runs, for `gotc explain`, the scheduler, limits and
studies."""

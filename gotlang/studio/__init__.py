"""`gotc studio`: a local web application for the `.gotc` folder.

- `site` creates the application: one module of `pages/` for each page, the shared assets of `gotlang.report`.
- `guard` protects it: the token, the host, the origin, what a page may load.
- `views` writes pages, `events` streams their changes, `processes` runs `gotc` for them.

Everything that spends or runs a program is `gotc` in a separate process, with its rules of trust, keys and
limits.
"""

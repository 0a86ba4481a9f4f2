"""`gotc studio`: a local web application over what `.gotc` has of a folder.

- `site` makes the application: one module of `pages/` for each page, the shared assets of `gotlang.report`.
- `guard` is in front of it: the token, the host, the origin, what a page may load.
- `views` writes pages, `events` streams what changes to them, `processes` runs `gotc` for them.

What spends or runs a program is `gotc` in a process of its own, with its rules of trust, keys and limits.
"""

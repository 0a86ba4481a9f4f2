"""Models: one contract (`base`), one file per provider, each imported only when used."""

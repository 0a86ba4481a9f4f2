"""Models: one contract (`base`), one file an implementation, each imported only when used."""

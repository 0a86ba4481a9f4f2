"""The intermediate representation: typed, frozen operations that passes rewrite and the runtime expands."""

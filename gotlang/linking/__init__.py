"""Between the parser and the checker: the files of a program become one space of names, and what is defined
in the language (operations, functions, schemes with parts) is inlined, so that no later stage knows of it."""

"""Between the parser and the checker: the files of a program become one name space, and definitions in the
language (operations, functions, schemes with parts) are inlined, so that later stages see none."""

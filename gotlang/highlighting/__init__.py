"""Highlighting of programs: the rules, and a lexer for Pygments based on them.

`editors/build.py` generates a TextMate grammar from the same rules, and their lists of words.
"""

"""Highlighting of programs: the rules, and a lexer for Pygments made of them.

`editors/build.py` makes TextMate's grammar of the same rules, and the words that they are about.
"""

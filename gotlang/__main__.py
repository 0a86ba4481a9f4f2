"""`python -m gotlang` is `gotc`."""

from gotlang.cli.main import main

main()

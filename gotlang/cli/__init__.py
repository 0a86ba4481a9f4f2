"""The command `gotc`: one file per command, loaded on demand."""

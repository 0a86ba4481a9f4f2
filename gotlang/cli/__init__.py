"""The command `gotc`: one file a command, loaded when it is asked for."""

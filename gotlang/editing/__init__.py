"""What an editor asks of a program: functions from texts and offsets to frozen answers, protocol-free."""

"""What a program will cost, found by going through it without running it."""

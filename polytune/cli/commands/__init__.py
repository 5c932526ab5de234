"""The commands, one a file, which is called as the command is and has a function of that name."""

"""Calls of a kernel: from arguments to the compiled code of one configuration."""

"""Calls of the user's own functions, and what functions return."""

"""Versions that keep in vector registers what is updated again and again."""

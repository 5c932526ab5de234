"""Loops and branches of the source, as loops and opaque operations of the typed program."""

"""Recorded spaces in the formats of other tuners, a format a file, each with a function ``text``."""

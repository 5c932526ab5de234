"""Expressions of numbers, subscripts and tuples as typed values."""

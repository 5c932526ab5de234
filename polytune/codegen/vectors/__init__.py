"""Vectors in generated code: their expressions, their text, and the loops that become vectors."""

"""Rewritings of a kernel into another one with the same results and better orders."""

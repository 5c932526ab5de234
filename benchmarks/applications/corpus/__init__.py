"""Kernels as applications have them, one file for each field.

Each is written as its author would write it for Numba: plain loops, the one to be parallel marked by ``prange``.
"""

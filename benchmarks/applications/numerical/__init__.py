"""Kernels of array expressions, indirection, data-dependent control and results, one file for each field.

Each is written as ordinary people write numerical Python: for NumPy, or for Numba with loops where that is shorter.
Where Numba does not accept it, or is much slower than it can be, the case has another form for Numba.
"""

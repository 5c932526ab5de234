"""The gain of a program whose kernels are polytune's, against the same kernels under Numba.

``corpus`` has kernels that are loops, ``numerical`` has such of array expressions, indirection and results,
``program_of_calls`` is one process that calls one of them, ``comparison`` runs such processes in turns, ``__main__``
is the command.
"""

"""What a program gains whose kernels are polytune's, against the same kernels under Numba.

``corpus`` has the kernels, ``program_of_calls`` is one process that calls one of them, ``comparison`` runs such
processes in turns, and ``__main__`` is the command.
"""

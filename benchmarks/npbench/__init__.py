"""A checkout of NPBench (github.com/spcl/npbench): its kernels under polytune, beside NumPy and other compilers.

None of NPBench is here: its kernels, their data and their sizes are read from where the checkout is.
"""

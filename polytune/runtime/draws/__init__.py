"""Random numbers one at a time, in compiled code, from the generators of NumPy and of Python.

What a kernel draws is what NumPy or Python would have drawn in its place, and their generators go on from there: the
compiled code works on their own states.  ``states`` finds these, ``generators`` has uniform numbers,
``distributions`` what is made of them, and ``calls`` is what the intrinsic functions use.
"""

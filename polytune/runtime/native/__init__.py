"""Machine code of generated functions by LLVM directly, without Numba's inference of types.

Generated functions are written in a small part of Python, in which the type of every expression follows from its parts
and no name has two.  `lowering` translates it to LLVM's language, with the operations that Numba's functions use too
(``polytune.runtime.intrinsics.memory``, ``vectors``, ``team`` and the rest), `machine_code` has LLVM optimise and load
it, and `kept` keeps the result on disk.  What is outside of that part of Python is Numba's: the same text means the
same to both, and takes Numba some times as long.
"""

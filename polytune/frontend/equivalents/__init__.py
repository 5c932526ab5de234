"""Functions of Python's and NumPy's, written in the language of kernels, which are inlined where a kernel calls them.

What they compute is fused, tiled and shared among threads like the loops around them.  One more function is one more
``def`` in the module of its kind.
"""

from polytune.frontend.equivalents import (  # noqa: F401  (they register what stands for what)
    arrangements,
    counting,
    missing_values,
    numbers,
    parts,
    polynomials,
    sets,
    windows,
)
from polytune.frontend.equivalents.registry import equivalent, is_equivalent

__all__ = ["equivalent", "is_equivalent"]

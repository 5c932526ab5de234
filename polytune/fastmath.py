"""The flags of LLVM that a kernel has for its floating-point arithmetic, as Numba's option ``fastmath`` gives them.

The names are those of LLVM's fast-math flags (LLVM's Language Reference, "Fast-Math Flags").  What a kernel's checks
rest on has none of them: conversions of floats to integers see the number that is there, as without the option
(`frozen` of ``polytune.runtime.intrinsics.arithmetic``), and subscripts are tested as integers.
"""

from __future__ import annotations

from collections.abc import Collection

from polytune.errors import PolytuneError

__all__ = ["FLAGS", "OF_EVERY_KERNEL", "flags_of"]

FLAGS = {
    "nnan": "no number is NaN",
    "ninf": "no number is infinite",
    "nsz": "0.0 and -0.0 are one number",
    "arcp": "a quotient may be the product with a reciprocal",
    "contract": "a product and a sum may be rounded once",
    "afn": "functions may be approximations of themselves",
    "reassoc": "sums and products may be computed in any order",
}
"""The flags, with what each allows."""

OF_EVERY_KERNEL = frozenset(("contract", "nsz"))
"""The flags of all operations of kernels that are not strict."""

_ALL = "fast"
"""The name of all flags."""


def flags_of(fastmath: bool | Collection[str], *, strict: bool = False) -> frozenset[str]:
    """The flags that a value of the option stands for; none for False.

    Args:
        fastmath: True for all flags, or some of their names.
        strict: whether the kernel keeps the bits of the interpreted function.

    Raises:
        PolytuneError: there is no such flag, or a strict kernel has any.
    """
    if isinstance(fastmath, str) or not isinstance(fastmath, bool | Collection):
        raise PolytuneError(f"fastmath is True, False or a set of names of flags, {_names()}, not {fastmath!r}")
    flags = frozenset(FLAGS if fastmath is True else fastmath or ())
    unknown = sorted(str(each) for each in flags if each not in FLAGS and each != _ALL)
    if unknown:
        raise PolytuneError(
            f"fastmath has no flag {', '.join(map(repr, unknown))}; LLVM's flags are {_names()}, and True or {_ALL!r} "
            "stands for all of them"
        )
    if flags and strict:
        raise PolytuneError(
            "strict=True and fastmath exclude each other: a strict kernel has the bits of the interpreted function, "
            "and fastmath allows others; leave one of them out"
        )
    return frozenset(FLAGS) if _ALL in flags else flags


def _names() -> str:
    return ", ".join(map(repr, FLAGS))

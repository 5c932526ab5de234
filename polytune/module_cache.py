"""The disk cache of kernels: generated modules, and which extents decide what code calls need."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple

from polytune.compiler import import_whole
from polytune.runtime.modules.cache import ModuleCache, key_of
from polytune.signature import Signature

if TYPE_CHECKING:
    from polytune.frontend.lowering.lower import Lowered

__all__ = ["DecidingExtents", "compiler_digest", "deciding_extents", "module_cache", "short_extents", "with_ones"]

Place = tuple[str, int]
"""An extent: an argument and a dimension."""

_SHORT = range(1, 5)
"""The extents that are short: those of points, colours, quaternions and of the matrices that turn them."""

_FEWEST_ELEMENTS = 256
"""The fewest elements of an array for whose short extents code is made; with fewer there is not much to do."""


class DecidingExtents(NamedTuple):
    """The extents that decide what code a call needs.

    Attributes:
        stretched: groups of them that decide the meaning of a kernel where one of a group alone is 1.
        telling: those that make faster code where they are short and known.
    """

    stretched: tuple[tuple[Place, ...], ...] = ()
    telling: tuple[Place, ...] = ()


COMPILER = (
    "frontend",
    "schedule",
    "codegen",
    "pipeline.py",
    "versions.py",
    "partitioned_version.py",
    "relations.py",
    "signature.py",
    "syntax_trees.py",
    "conversions.py",
    "draws.py",
    "fastmath.py",
)
"""The folders and files of this package that generated text depends on."""


@functools.cache
def module_cache() -> ModuleCache:
    """Return the disk cache of this process."""
    return ModuleCache()


@functools.cache
def compiler_digest() -> str:
    """A hash over the compiler's own source: its output may change with any of it."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for name in COMPILER:
        for source in sorted((root / name).glob("**/*.py")) if (root / name).is_dir() else [root / name]:
            digest.update(source.read_bytes())
    return digest.hexdigest()


def deciding_extents(
    function: FunctionType, signature: Signature, described: tuple[str, ...], *, strict: bool
) -> tuple[DecidingExtents, Lowered | None]:
    """The extents that decide what code a call needs; kept in the disk cache as modules are.

    Args:
        function: the kernel's function.
        signature: the types of its arguments.
        described: the kernel and what it uses from outside, as text.
        strict: whether sums keep their source order.

    Returns:
        These, and the lowered function where it had to be lowered.

    Raises:
        UnsupportedSourceError: the source cannot be compiled.
        ImportError: the libraries of the compiler are not installed, and the cache does not have the answer.
    """
    identity = key_of("extents", *described, str(signature), compiler_digest())
    module = module_cache().load(identity)
    lowered: Lowered | None = None
    if module is None:
        import_whole("polytune.frontend.lowering.stretching")
        from polytune.frontend.lowering.stretching import deciding_extents as found_in

        title = f'"""The extents of {function.__name__}({signature}) that decide what code calls need."""'
        stretched, telling, lowered = found_in(function, signature, strict=strict)
        module = module_cache().store(identity, f"{title}\n\nSTRETCHED = {stretched!r}\nTELLING = {telling!r}\n")
    return DecidingExtents(module.STRETCHED, module.TELLING), lowered


def with_ones(
    signature: Signature, shapes: Mapping[str, tuple[int, ...]], deciding: Callable[[Signature], DecidingExtents]
) -> Signature:
    """The types with those extents of 1 that NumPy stretches to others of the call, which is other code.

    Args:
        signature: the types of the arguments.
        shapes: their shapes by name.
        deciding: the extents that decide for given types; an extent of 1 may let others be stretched.
    """
    while True:
        groups = deciding(signature).stretched
        ones = [[(name, axis) for name, axis in group if shapes[name][axis] == 1] for group in groups]
        known = signature
        signature = signature.with_extents({found[0]: 1 for found in ones if len(found) == 1})
        if signature == known:
            return signature


def short_extents(
    shapes: Mapping[str, tuple[int, ...]], telling: Callable[[], Collection[Place]]
) -> Mapping[Place, int]:
    """The extents of a call that code is worth making for: of the last dimensions of large arrays, those that tell
    something and are short, as of points, colours and small matrices; and where there are such, those of other arrays,
    as of one matrix for all points.

    Args:
        shapes: those of the array arguments, by name.
        telling: gives those that make faster code where they are known; only asked for where there are short ones.
    """
    large: dict[Place, int] = {}
    small: dict[Place, int] = {}
    for name, shape in shapes.items():
        first = len(shape)
        while first and shape[first - 1] in _SHORT:
            first -= 1
        is_large = first and math.prod(shape) >= _FEWEST_ELEMENTS
        short = {(name, axis): shape[axis] for axis in range(first, len(shape)) if shape[axis] > 1}
        (large if is_large else small).update(short)
    if not large:
        return {}
    known = telling()
    if large.keys().isdisjoint(known):
        return {}
    return {place: extent for place, extent in {**large, **small}.items() if place in known}

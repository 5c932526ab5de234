"""The disk cache of kernels: generated modules, and which of their extents are stretched."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

from polytune.runtime.modules.cache import ModuleCache, key_of
from polytune.signature import Signature

if TYPE_CHECKING:
    from polytune.frontend.lowering.lower import Lowered

__all__ = ["StretchedExtents", "compiler_digest", "module_cache", "stretched_extents", "with_ones"]

StretchedExtents = tuple[tuple[tuple[str, int], ...], ...]
"""Groups of extents, each an argument and an axis, that decide the meaning of a kernel where one of them alone is 1."""

COMPILER = (
    "frontend",
    "schedule",
    "codegen",
    "pipeline.py",
    "versions.py",
    "partitioned_version.py",
    "relations.py",
    "signature.py",
    "conversions.py",
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


def stretched_extents(
    function: FunctionType, signature: Signature, described: tuple[str, ...], *, strict: bool
) -> tuple[StretchedExtents, Lowered | None]:
    """The extents that NumPy stretches to others where they are 1; kept in the disk cache as modules are.

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
    identity = key_of("stretched", *described, str(signature), compiler_digest())
    module = module_cache().load(identity)
    lowered: Lowered | None = None
    if module is None:
        from polytune.frontend.lowering.stretching import stretched_extents as found_in

        title = f'"""The extents of {function.__name__}({signature}) that are stretched where they are 1."""'
        found, lowered = found_in(function, signature, strict=strict)
        module = module_cache().store(identity, f"{title}\n\nSTRETCHED = {found!r}\n")
    return module.STRETCHED, lowered


def with_ones(
    signature: Signature,
    shapes: Mapping[str, tuple[int, ...]],
    stretched: Callable[[Signature], StretchedExtents],
) -> Signature:
    """The types with those extents of 1 that NumPy stretches to others of the call, which is other code.

    Args:
        signature: the types of the arguments.
        shapes: their shapes by name.
        stretched: what is stretched for given types; an extent of 1 may let others be stretched.
    """
    while True:
        ones = [[(name, axis) for name, axis in group if shapes[name][axis] == 1] for group in stretched(signature)]
        known = signature
        signature = signature.with_ones([found[0] for found in ones if len(found) == 1])
        if signature == known:
            return signature

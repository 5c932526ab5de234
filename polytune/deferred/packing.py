"""A kernel as bytes, for another process to make its versions; it has been lowered, and has no function any more."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, cast

import islpy as isl

from polytune.errors import PolytuneError
from polytune.frontend.inlining.inline import inline_call
from polytune.frontend.lowering.frame import KernelWalk, Knowledge
from polytune.frontend.lowering.lower import Lowered
from polytune.frontend.polyhedral.budget import ProcessorTime
from polytune.frontend.scalars.expressions import evaluate
from polytune.module_cache import compiler_digest
from polytune.pipeline import SECONDS_BESIDE, Stages

__all__ = ["pack", "unpack"]

_TABLES = (
    "arrays",
    "parameters",
    "extents",
    "kinds",
    "taken",
    "locations",
    "result",
    "preconditions",
    "size_conditions",
    "endings",
    "cut_off",
    "kept",
)
"""The tables that the passes behind the walk over a kernel read; the others are for the walk alone."""


def pack(stages: Stages, lowered: Lowered) -> bytes | None:
    """A kernel as another process needs it to make all versions; None where it cannot be sent.

    Args:
        stages: the compiler's stages.
        lowered: the kernel, before any of them has gone on with it.
    """
    kind = stages.signature, stages.strict, stages.fastmath
    settings = compiler_digest(), *kind, stages.target, stages.places, stages.may_end
    packed = io.BytesIO()
    try:
        _Pickler(packed, pickle.HIGHEST_PROTOCOL).dump((settings, _without_function(lowered)))
    except Exception:
        return None
    return packed.getvalue()


def unpack(packed: bytes) -> Stages:
    """The stages of a kernel in another process.

    Raises:
        PolytuneError: this is another compiler than that of who has packed it.
    """
    (digest, signature, strict, fastmath, target, places, may_end), lowered = _Unpickler(io.BytesIO(packed)).load()
    if digest != compiler_digest():
        raise PolytuneError("the compiler has been changed since the application has imported it")
    return Stages(
        _NO_FUNCTION,
        signature,
        strict,
        target=target,
        places=places,
        lowered=lowered,
        may_end=may_end,
        fastmath=fastmath,
        time=ProcessorTime(SECONDS_BESIDE),
    )


class _Pickler(pickle.Pickler):
    """Writes isl's context, and sets of parameters in it.

    Of these the names of parameters are written apart: not all of them can stand in isl's text.
    """

    def persistent_id(self, value: Any) -> Any:
        """Return what stands for one of isl's objects; None for all others."""
        if isinstance(value, isl.Context):
            return ()
        if not type(value).__module__.startswith("islpy"):
            return None
        if not isinstance(value, isl.Set) or not value.is_params():
            raise pickle.PicklingError(f"no set of parameters: {value}")
        names = tuple(value.get_dim_name(isl.dim_type.param, place) for place in range(value.dim(isl.dim_type.param)))
        return str(_named(value, [f"p{place}" for place in range(len(names))])), names


class _Unpickler(pickle.Unpickler):
    """Reads what the other class has written, into a context of its own."""

    def __init__(self, file: io.BytesIO):
        super().__init__(file)
        self._context = isl.Context()

    def persistent_load(self, value: Any) -> Any:
        """Return what something stands for."""
        if not value:
            return self._context
        text, names = value
        return _named(isl.Set.read_from_str(self._context, text), names)


def _named(found: isl.Set, names: Sequence[str]) -> isl.Set:
    """A set with these names of its parameters."""
    for place, name in enumerate(names):
        found = found.set_dim_name(isl.dim_type.param, place, name)
    return found


def _without_function(lowered: Lowered) -> Lowered:
    """A lowered kernel with no more than what is needed from there on."""
    walked = lowered.kernel
    kernel = KernelWalk(
        walked.signature,
        walked.affine,
        Knowledge(),
        inline_call,
        evaluate,
        strict=walked.strict,
        may_end=walked.may_end,
        **{name: getattr(walked, name) for name in _TABLES},
    )
    return Lowered(kernel, lowered.nodes, replace(lowered.source, function=_NO_FUNCTION))


def _stand_in() -> None:
    """Stands for a function of the user's, which only the application has."""


_NO_FUNCTION = cast(FunctionType, _stand_in)

"""Subscripts below 0, as ``x[-1 - i]`` and the ``x[i - 1]`` of a loop from 0: NumPy counts them from the end."""

from __future__ import annotations

from collections.abc import Mapping

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, add, coefficients
from polytune.frontend.array_expressions.sizes import always
from polytune.frontend.expression import Compare, Constant, Counter, Expression, Iterator, ParameterValue, Select
from polytune.frontend.lowering.frame import Frame

__all__ = ["counted_from_the_end"]


def counted_from_the_end(frame: Frame, subscript: Expression, extent: Expression) -> Expression:
    """Return a subscript as the number of an element from the front.

    That is ``{ i -> extent + i }`` where all of ``frame.holds`` is within ``{ i < 0 }``, which isl proves;
    ``{ i -> extent + i : i < 0; i -> i : i >= 0 }`` where the first iteration of the loops around is below 0 whatever
    the arguments are, or the subscript is ``-k`` of an argument, so that nothing else can be meant; else
    ``{ i -> i }``: what is below 0 for some arguments only is found by the check of the call, which then needs a kernel
    that takes any subscripts, where all that may be below 0 count from the end.

    Args:
        frame: where it stands.
        subscript: affine.
        extent: that of the axis.
    """
    terms, constant = coefficients(subscript)
    from_end = add(extent, subscript)
    if _may_always_be_negative(terms, constant) and always(frame, Compare("<", subscript, ZERO)):
        return from_end
    first = _at_first(frame, terms, constant)
    if (first is not None and first < 0) or _is_minus_arguments(terms):
        return Select(Compare("<", subscript, ZERO), from_end, subscript, "int64")
    if frame.kernel.signature.any_subscripts and not always(frame, Compare(">=", subscript, ZERO)):
        return Select(Compare("<", subscript, ZERO), from_end, subscript, "int64")
    return subscript


def _may_always_be_negative(terms: Mapping[Expression, int], constant: int) -> bool:
    """Return whether isl should be asked: not of ``i - 1`` and ``n - 1 - i``, where nearly all negative terms are."""
    if all(each <= 0 for each in terms.values()):
        return constant < 0 or any(terms.values())
    return any(each < 0 and not isinstance(leaf, Iterator | Counter) for leaf, each in terms.items())


def _is_minus_arguments(terms: Mapping[Expression, int]) -> bool:
    """Return whether a subscript is the negative of arguments, which loops have no influence on."""
    return bool(terms) and all(each < 0 and isinstance(leaf, ParameterValue) for leaf, each in terms.items())


def _at_first(frame: Frame, terms: Mapping[Expression, int], constant: int) -> int | None:
    """The value of a subscript in the first iteration of all loops around; None where these begin at what differs from
    call to call, or a condition stands between."""
    starts = {each.iterator: each.start for each in frame.ranges}
    if len(frame.holds) > 2 * len(frame.ranges):  # two conditions say where a loop begins and ends
        return None
    value = constant
    for leaf, factor in terms.items():
        start = starts.get(leaf.name) if isinstance(leaf, Iterator | Counter) else None
        if not isinstance(start, Constant):
            return None
        value += factor * int(start.value)
    return value

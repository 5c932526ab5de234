"""isl under a bound on its work: an integer set operation may take exponential time, a compiler may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import islpy as isl

Result = TypeVar("Result")


def within_budget(context: isl.Context, operations: int, work: Callable[[], Result]) -> Result | None:
    """The result of ``work``, or None when isl gave up after ``operations`` of its basic operations.

    isl reports the exhausted quota as some error of whatever it was doing, so the quota itself is asked whether it
    is the cause; any other failure is raised as it is.
    """
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        return work()
    except isl.Error:
        # With the quota used up every further operation fails; that is how to tell.
        try:
            isl.Set.read_from_str(context, "{ [i] : 0 <= i < 9 }").subtract(
                isl.Set.read_from_str(context, "{ [i] : 3 <= i < 5 }")
            ).coalesce()
        except isl.Error:
            return None
        raise
    finally:
        context.set_max_operations(0)
        context.reset_operations()

"""isl under a bound on its work: an integer set operation may take exponential time, a compiler may not.

Every phase that may take long has a way out when isl gives up: a kernel whose accesses cannot be checked is refused,
dependences become coarser, a schedule, a plan or a version is left out, a count is unknown.  What runs under a budget
must not pass callbacks to isl: exceptions do not come out of them safely.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import islpy as isl

Result = TypeVar("Result")


def within_budget(context: isl.Context, operations: int, work: Callable[[], Result]) -> Result | None:
    """The result of ``work``, or None when isl gave up after ``operations`` of its basic operations.

    isl reports the exhausted quota as some error of whatever it was doing, or not at all where it can do without, so
    the quota itself is asked whether it has been reached: then nothing that was computed is used.  Any other failure
    is raised as it is.  Budgets do not nest.
    """
    assert not context.get_max_operations(), "a budget within a budget"
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        result = work()
    except Exception:
        if _is_exhausted(context):
            return None
        raise
    else:
        return None if _is_exhausted(context) else result
    finally:
        context.set_max_operations(0)
        context.reset_operations()


def _is_exhausted(context: isl.Context) -> bool:
    """Whether the quota is used up: then every further operation fails, the smallest too."""
    try:
        isl.Val.one(context)
    except isl.Error:
        return True
    return False

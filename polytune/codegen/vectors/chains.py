"""Chains: loops whose iterations each need what the one before has computed, as those that solve tridiagonal systems.

In ``for v: q[v] = (b[v] - a * q[v - 1]) / d[v]`` every operation waits for the one before.  Vectors along v would gain
nothing, several such loops side by side gain all.
"""

from __future__ import annotations

from collections.abc import Sequence

from polytune.codegen.affine_range import coefficient, difference, mentions
from polytune.codegen.ast_conversion import add_constant, substitute
from polytune.frontend.expression import Assign, Element, Iterator, walk
from polytune.records import dataclass


@dataclass(frozen=True)
class Link:
    """An element that every iteration writes, once, and that the next one reads as ``before``.

    The iterations access no other elements of its array, so that ``before`` may be kept from one iteration to the next.
    """

    target: Element
    before: Element


def is_chain(assignments: Sequence[Assign], variable: str, own: frozenset[str]) -> bool:
    """Return whether iterations of a loop need what the one before has computed, other than to add up.

    Args:
        assignments: what an iteration does.
        variable: the loop's.
        own: scalars that are variables of the code around the loop.
    """
    elements = [part for assignment in assignments for part in walk(assignment.value) if isinstance(part, Element)]
    for target in dict.fromkeys(assignment.target for assignment in assignments):
        same = [part for part in elements if part.array == target.array and part.array not in own]
        if mentions(target, variable) and any(_is_behind(part, target, variable) for part in same):
            return True
    # Scalars that an iteration reads before it writes them, but where they are only added to.
    still_old = own & {assignment.target.array for assignment in assignments}
    for assignment in assignments:
        own_name = assignment.target.array
        others = still_old - {own_name}
        if any(isinstance(part, Element) and part.array in others for part in walk(assignment.value)):
            return True
        still_old = others
    return False


def links_of(assignments: Sequence[Assign], variable: str, own: frozenset[str]) -> tuple[Link, ...]:
    """The elements that lead from each iteration of a loop to the next one; see ``is_chain``.

    Args:
        assignments: what an iteration does.
        variable: the loop's.
        own: scalars that are variables of the code around the loop.
    """
    elements = [part for assignment in assignments for part in walk(assignment) if isinstance(part, Element)]
    targets = [assignment.target for assignment in assignments]
    found = []
    for target in targets:
        if target.array in own or not mentions(target, variable) or targets.count(target) > 1:
            continue
        before = substitute(target, {variable: add_constant(Iterator(variable), -1)})
        others = dict.fromkeys(part for part in elements if part.array == target.array and part != target)
        if len(others) == 1:
            (other,) = others
            if all(difference(*pair) == 0 for pair in zip(other.subscripts, before.subscripts, strict=True)):
                found.append(Link(target, other))
    return tuple(found)


def _is_behind(element: Element, target: Element, variable: str) -> bool:
    """Return whether iterations read, as ``element``, what a constant number of iterations before wrote as
    ``target``."""
    distances = set()
    for read, written in zip(element.subscripts, target.subscripts, strict=True):
        step, apart = coefficient(written, variable), difference(read, written)
        if step is None or apart is None or (not step and apart) or (step and apart % step):
            return False
        if step:
            distances.add(-apart // step)
    return len(distances) == 1 and distances.pop() > 0

"""Innermost loops of which compilers can be expected to make vectors, and how long iterations wait for others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from polytune.codegen.affine_range import difference
from polytune.codegen.iteration_work import DIVISIONS
from polytune.codegen.loop_place import LoopPlace, step_along
from polytune.codegen.loops import Block, Compute, For, Let, Node, Store, walk_nodes
from polytune.codegen.vectors.expressions import Lanes, operands
from polytune.frontend.expression import (
    Assign,
    Binary,
    Call,
    Constant,
    Element,
    Expression,
    Power,
    Select,
    Unary,
    walk,
)
from polytune.records import dataclass

__all__ = ["AutoVectorisation"]


@dataclass(frozen=True)
class AutoVectorisation:
    """Foresees how compilers order the iterations of innermost loops.

    Attributes:
        strict: whether the order of sums is the source's.
        layouts: of each array, "C" or "F", whether elements of a row or of a column lie next to one another.
    """

    strict: bool
    layouts: Mapping[str, str]

    def is_vectorised(self, nodes: Sequence[Node], place: LoopPlace) -> int:
        """Return whether the compiler can be expected to take several iterations of the innermost loop at a time: 0 for
        no, 1 for yes, and 2 where it has to find out first that elements of an array that are stored are apart."""
        loop = place.innermost
        if loop is None or place.region is None:
            return 0
        if self._copies_rows(nodes, place):
            return 1
        operations = [each for node in nodes if isinstance(node, Compute) for each in node.operations]
        assigns = [each for each in operations if isinstance(each, Assign)]
        if len(operations) == 0 or len(assigns) < len(operations):
            return 0
        if any(not isinstance(node, Block | Compute | For) for node in walk_nodes(loop.body)):
            return 0
        if not all(self._suits_lanes(each, place) for each in assigns) or self.chained(nodes, place):
            return 0
        stored = [each.target.array for each in assigns if each.target.subscripts]
        if len(set(stored)) == len(stored):
            return 1
        # Stores wait at the ends of branches, and what is loaded after them makes vectors of none.
        return 0 if any(_branches(part) for each in assigns for part in walk(each.value)) else 2

    def _copies_rows(self, nodes: Sequence[Node], place: LoopPlace) -> bool:
        """Return whether all that nodes do is to copy what lies next to one another, from iteration to iteration of the
        innermost loop, to where it does, too."""
        copies = [
            (node.element, node.value)
            for node in nodes
            if isinstance(node, Store) and not node.is_vector and isinstance(node.value, Element)
        ]
        return len(copies) == len(nodes) > 0 and all(
            self._is_along(element, place) for pair in copies for element in pair
        )

    def _is_along(self, element: Element, place: LoopPlace) -> bool:
        """Return whether an iteration of the innermost loop has the neighbour in memory of that of the one before."""
        near = element.subscripts[0 if self._layout(element) == "F" else -1]
        far = {k for each in element.subscripts if each is not near for k in place.positions(each)}
        return place.position not in far and step_along(near, place.loops[place.position]) == 1

    def _suits_lanes(self, each: Assign, place: LoopPlace) -> bool:
        """Return whether values for several iterations of the innermost loop are computed and stored side by side."""
        if self.strict and any(isinstance(part, Call) for part in walk(each.value)):
            return False
        if place.position not in place.varying(each.target):
            return True
        near = each.target.subscripts[0 if self._layout(each.target) == "F" else -1]
        return step_along(near, place.loops[place.position]) == 1

    def chained(self, nodes: Sequence[Node], place: LoopPlace) -> int:
        """Return how many operations one after another each iteration of the innermost loop waits for of the one
        before."""
        loop = place.innermost
        if loop is None or place.region is None:
            return 0
        assigns = [
            each for node in nodes if isinstance(node, Compute) for each in node.operations if isinstance(each, Assign)
        ]
        may_depend = loop.variable not in place.region.independent
        fixed = [each for each in assigns if place.position not in place.varying(each.target)]
        carried = {
            target
            for target in dict.fromkeys(each.target for each in fixed)
            if _is_carried(target, assigns) and not self._is_free_sum(target, assigns, place)
        }
        longest = _carried_chain(assigns, carried) if carried else 0
        for number, each in enumerate(assigns):
            if place.position in place.varying(each.target) and may_depend and _is_waited_for(assigns, number, place):
                longest = max(longest, _chain(assigns, number, place), 1)
        return longest

    def _is_free_sum(self, target: Element, assigns: Sequence[Assign], place: LoopPlace) -> bool:
        """Return whether all that a loop does with an element is to accumulate into it, which may be taken apart, as
        the order is free.

        Args:
            target: the element, which is the same in all iterations.
            assigns: those of an iteration, in their order.
            place: where the loop is.
        """
        own = [each for each in assigns if each.target == target]
        return (
            not self.strict
            and all(_is_sum(each) and not _stays_in_memory(each, place) for each in own)
            and not any(target in walk(each.value) for each in assigns if each.target != target)
        )

    def sums_in_memory(self, nodes: Sequence[Node], place: LoopPlace) -> int:
        """Return how many sums are loaded and stored in each iteration of the innermost loop, which waits for the one
        before; and how many lanes are in the loop around it, by a mask, which have to have reached the cache."""
        if place.innermost is None or place.region is None:
            return 0
        sums = 0
        for node in nodes:
            if isinstance(node, Store) and node.mask is not None:
                stays = place.position - 1 not in place.varying(node.element)
                sums += _lanes_loaded(node.element, nodes) if stays else 0
            for each in node.operations if isinstance(node, Compute) else ():
                if isinstance(each, Assign) and place.position not in place.varying(each.target):
                    sums += each.target in walk(each.value) and _stays_in_memory(each, place)
        return sums

    def _layout(self, element: Element) -> str:
        return self.layouts.get(element.array, "C")


def _is_sum(each: Assign) -> bool:
    """Return whether a value is its target and something else, in an order that is free."""
    value = each.value
    if isinstance(value, Call):
        return value.function in ("minimum", "maximum") and each.target in value.arguments
    return (
        isinstance(value, Binary)
        and value.operator in ("+", "-", "*", "min", "max")
        and (value.left == each.target or value.right == each.target)
    )


def _lanes_loaded(element: Element, nodes: Sequence[Node]) -> int:
    """Return how many lanes are loaded by a mask, of which the first is an element."""
    loads = [each.value for each in nodes if isinstance(each, Let) and isinstance(each.value, Lanes)]
    return sum(load.lanes for load in loads if load.mask is not None and load.element == element)


def _stays_in_memory(each: Assign, place: LoopPlace) -> bool:
    """Return whether a sum is written and read again in each iteration of the innermost loop: compilers keep none in a
    register that may be among the elements that are added, ``a[i, j] -= a[i, k] * a[j, k]``.

    Args:
        each: the sum, into an element that is the same for all iterations.
        place: where the loop is.
    """
    return any(
        isinstance(read, Element)
        and read.array == each.target.array
        and read != each.target
        and place.position in place.varying(read)
        for read in walk(each.value)
    )


def _branches(node: Expression) -> bool:
    """Return whether a value is one of two of which at least one is no number: machine code computes only that one."""
    return isinstance(node, Select) and not (isinstance(node.then, Constant) and isinstance(node.otherwise, Constant))


def _is_carried(target: Element, assigns: Sequence[Assign]) -> bool:
    """Return whether an iteration reads of an element that is the same in all what the one before has left there."""
    for each in assigns:
        if target in walk(each.value):
            return True
        if each.target == target:
            return False
    return False


_ITERATIONS = 4
"""The number of iterations after which the time between two of them is what it stays: circles of waiting go by way of
few variables."""


def _carried_chain(assigns: Sequence[Assign], carried: Collection[Element]) -> int:
    """Return how many operations one after another an iteration waits for of the one before, by way of elements that
    are the same in all iterations.

    That is the mean weight of the longest circle of dependences: the time by which an iteration ends later than the one
    before it where everything else takes none, and each operation begins when its operands are there.

    Args:
        assigns: those of an iteration, in their order.
        carried: the elements by way of which iterations wait for others.
    """
    ready: dict[Element, int] = dict.fromkeys(carried, 0)
    ends: list[int] = []
    for _ in range(2 * _ITERATIONS):
        for each in assigns:
            found = _path(each.value, ready.get)
            if found is None:
                ready.pop(each.target, None)
            else:
                ready[each.target] = found
        ends.append(max((ready[each] for each in carried if each in ready), default=0))
    return -((ends[_ITERATIONS - 1] - ends[-1]) // _ITERATIONS)


def _is_waited_for(assigns: Sequence[Assign], number: int, place: LoopPlace) -> bool:
    """Return whether an iteration of the innermost loop reads what an assignment in the one before has written.

    Args:
        assigns: those of an iteration, in their order.
        number: which of them.
        place: where they are.
    """
    target = assigns[number].target
    return any(
        _waits(read, target, place, is_behind=at > number)
        for at, each in enumerate(assigns)
        for read in walk(each.value)
        if isinstance(read, Element) and read.array == target.array and read != target
    )


def _waits(read: Element, target: Element, place: LoopPlace, *, is_behind: bool) -> bool:
    """Return whether an iteration of the innermost loop reads what one before it has written.

    Of elements that differ in nothing but the subscript that the loop is in: what is read ahead of what is written,
    ``a[j] = a[j + 1]``, waits for nothing, and vectors of it are read before they are written.

    Args:
        read: an element that is read.
        target: an element of the same array that is written.
        place: where the loop is.
        is_behind: whether the body writes before it reads, so that vectors would not.
    """
    position = place.position
    differing = [(a, b) for a, b in zip(read.subscripts, target.subscripts, strict=True) if a != b]
    if len(differing) != 1 or position not in place.positions(differing[0][1]):
        return False
    ahead, moved = difference(*differing[0]), step_along(differing[0][1], place.loops[position])
    return is_behind or not ahead or not moved or ahead * moved < 0


def _chain(assigns: Sequence[Assign], number: int, place: LoopPlace) -> int:
    """Return how many operations one after another lie between what the iteration before has written and what an
    assignment writes, by way of others in between.

    Args:
        assigns: those of an iteration, in their order.
        number: which of them.
        place: where they are.
    """
    target = assigns[number].target
    known: dict[Element, int] = {}

    def begins(read: Element) -> int | None:
        if read in known:
            return known[read]
        is_carried = read.array == target.array and read != target and _waits(read, target, place, is_behind=False)
        return 0 if is_carried else None

    for each in assigns[: number + 1]:
        if (found := _path(each.value, begins)) is not None:
            known[each.target] = found
    return known.get(target, _depth(assigns[number].value))


def _path(node: Expression, begins: Callable[[Element], int | None]) -> int | None:
    """Return how many operations one after another a value takes from the elements that a chain goes through.

    Args:
        node: the value.
        begins: the operations before an element; None for one that the chain does not go through.
    """
    if isinstance(node, Element):
        return begins(node)
    found = [length for child in operands(node) if (length := _path(child, begins)) is not None]
    if not found:
        return None
    return max(found) + _links(node)


def _links(node: Expression) -> int:
    """Return how many simple operations take as long as one."""
    if isinstance(node, Call) or (isinstance(node, Binary) and node.operator in DIVISIONS):
        return 4
    return int(isinstance(node, Binary | Unary | Select | Power))


def _depth(node: Expression) -> int:
    """Return how many operations one after another a value takes."""
    below = max((_depth(child) for child in operands(node)), default=0)
    return below + _links(node)

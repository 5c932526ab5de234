"""Sums in loops that come to the same in each iteration are computed before these loops (loop-invariant code motion).

``[[A[m == i, j].sum() / np.sum(m == i) for j in range(k)] for i in range(n)]`` counts for each j what depends on i
alone.  Compilers move expressions out of loops; this is a variable and the loops that compute it.  Where it depends on
some of the loops of a nest, ``for i: for j: ...`` with nothing else between them, it becomes an array along these, in a
nest of its own, so that the other one stays perfect.  Where a loop computes it beside others, it gets a loop of its own
(``distribution.py``).

Soundness rests on the structure of the program, as in ``repeated.py``.  A variable is moved out of a nest if

- it begins with an assignment and is written nowhere else, and read nowhere else than behind that in the same block;
- nothing in the nest writes what it is computed from;
- its statements run in each iteration of the nest; where the loops that they are moved out of have none, they do not
  run, either.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, maximum
from polytune.frontend.expression import Compare, Element, Expression, Iterator, Logical, map_children, walk
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.program import Guard, Node, RangeLoop
from polytune.frontend.promotion import Value
from polytune.frontend.rewrites.distribution import with_one_apart
from polytune.frontend.rewrites.repeated import Computation, computations, uses_of
from polytune.frontend.scop import Array, ArrayRole
from polytune.records import dataclass

__all__ = ["with_invariants_before_loops"]


def with_invariants_before_loops(nodes: Sequence[Node], kernel: KernelWalk) -> tuple[Node, ...]:
    """Return the program with sums before the loops in which they are always the same.

    Args:
        nodes: the program.
        kernel: what the walk over the source has found; it gets arrays in place of variables.
    """
    return _Motion(kernel, tuple(nodes)).block(nodes)


@dataclass(frozen=True)
class _Nest:
    """Loops with nothing else between them, the outermost first, and what the innermost one has inside."""

    loops: tuple[RangeLoop, ...]
    body: tuple[Node, ...]

    def node(self) -> Node:
        body = self.body
        for loop in reversed(self.loops):
            body = (replace(loop, body=body),)
        return body[0]


class _Motion:
    """Rewrites blocks.

    Args:
        kernel: what the walk over the source has found.
        nodes: the whole program.
    """

    def __init__(self, kernel: KernelWalk, nodes: tuple[Node, ...]):
        self._kernel, self._uses = kernel, uses_of(nodes)
        outside = (kernel.result, *(array.shape for array in kernel.arrays.values()), *kernel.size_conditions)
        self._needed = {part.array for each in outside for part in walk(each) if isinstance(part, Element)}

    def block(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """Rewrite neighbouring nodes, and those in them."""
        return tuple(made for node in nodes for made in self._rewritten(node))

    def _rewritten(self, node: Node) -> tuple[Node, ...]:
        match node:
            case Guard(then=then, otherwise=otherwise):
                return (replace(node, then=self.block(then), otherwise=self.block(otherwise)),)
            case RangeLoop():
                loops = [node]
                while len(loops[-1].body) == 1 and isinstance(inner := loops[-1].body[0], RangeLoop):
                    loops.append(inner)
                nest = _Nest(tuple(loops), self.block(loops[-1].body))
                before: list[Node] = []
                while (found := self._without_one(nest)) is not None:
                    moved, nest = found
                    before += moved
                return (*before, nest.node())
        return (node,)

    def _without_one(self, nest: _Nest) -> tuple[tuple[Node, ...], _Nest] | None:
        """Move one variable out of a nest; None where there is none."""
        if any(loop.iterator in self._kernel.endings for loop in nest.loops):
            return None
        written = uses_of(nest.body).written
        made = self._first_moved(nest, written)
        if made is not None:
            return made
        # What a loop computes beside others gets a loop of its own only where that can be moved.
        for name, body in with_one_apart(nest.body, self._kernel.endings):
            made = self._first_moved(replace(nest, body=body), written, name)
            if made is not None:
                return made
        return None

    def _first_moved(
        self, nest: _Nest, written: Collection[str], name: str | None = None
    ) -> tuple[tuple[Node, ...], _Nest] | None:
        """Move the first variable out of a nest for which that is possible, or the one of a name."""
        for found in computations(nest.body, self._uses):
            if name is not None and found.array != name:
                continue
            if found.operands.isdisjoint(written) and self._is_of_block(found, nest.body):
                made = self._moved(found, nest)
                if made is not None:
                    return made
        return None

    def _is_of_block(self, found: Computation, body: tuple[Node, ...]) -> bool:
        """Return whether a computation is that of a variable that only its block knows, by loops."""
        array = self._kernel.arrays[found.array]
        run = body[found.begin : found.end]
        return (
            array.role is ArrayRole.SCALAR
            and array.initial is None
            and found.array not in self._needed
            and any(isinstance(node, RangeLoop) for node in run)
            and uses_of(body[found.begin :]).mentioned[found.array] == self._uses.mentioned[found.array]
        )

    def _moved(self, found: Computation, nest: _Nest) -> tuple[tuple[Node, ...], _Nest] | None:
        run = nest.body[found.begin : found.end]
        rest = (*nest.body[: found.begin], *nest.body[found.end :])
        names = {part.name for node in run for part in walk(node) if isinstance(part, Iterator)}
        along = [loop for loop in nest.loops if loop.iterator in names]
        others = [loop for loop in nest.loops if loop.iterator not in names]
        if not others or any(_has_iterators(loop, nest) for loop in others):
            return None
        if any(loop.start != ZERO or loop.step != 1 or _has_iterators(loop) for loop in along):
            return None
        if along:
            element = self._array(found.array, along)
            run = tuple(self._renamed(node, found.array, element) for node in run)
            rest = tuple(self._renamed(node, found.array, element) for node in rest)
        for loop in reversed(along):
            run = (replace(loop, body=run),)
        tests = [Compare("<" if loop.step > 0 else ">", loop.start, loop.stop) for loop in others]
        condition: Expression = tests[0] if len(tests) == 1 else Logical("and", tuple(tests))
        guard = Guard(condition, run, (), others[0].location)
        return (guard,), replace(nest, body=rest)

    def _array(self, name: str, along: Sequence[RangeLoop]) -> Element:
        """Make an array of a variable; return its element in an iteration of some loops."""
        kernel, old = self._kernel, self._kernel.arrays.pop(name)
        made = kernel.fresh(name)
        shape = tuple(maximum(ZERO, loop.stop) for loop in along)
        kernel.arrays[made] = Array(made, old.dtype, ArrayRole.LOCAL, shape, location=old.location)
        kernel.extents.update({(made, place): Value(extent, weak=True) for place, extent in enumerate(shape)})
        return Element(made, tuple(Iterator(loop.iterator) for loop in along), old.dtype)

    def _renamed(self, node: Any, name: str, element: Element) -> Any:
        """A node with an element in place of a variable."""
        if not (isinstance(node, Element) and node.array == name):
            return map_children(node, lambda child: self._renamed(child, name, element))
        location = self._kernel.locations.find(node)
        made = replace(element)
        return made if location is None else self._kernel.locations.record(made, location)


def _has_iterators(loop: RangeLoop, nest: _Nest | None = None) -> bool:
    """Return whether a loop's bounds depend on loops around, or on those of a nest."""
    names = None if nest is None else {each.iterator for each in nest.loops}
    parts = (part for end in (loop.start, loop.stop) for part in walk(end))
    return any(isinstance(part, Iterator) and (names is None or part.name in names) for part in parts)

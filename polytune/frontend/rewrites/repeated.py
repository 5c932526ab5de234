"""Arrays and variables that are computed like others before them are left out: what reads them reads the others.

``(X - X.mean(axis=0)) / X.std(axis=0)`` computes the mean twice, as the deviation needs it, too.  Compilers find such
expressions within a statement (common subexpression elimination); these are statements and loops.

Soundness rests on the structure of the program.  A *computation* is a run of neighbouring nodes of a block that is all
that ever writes to one array or variable, and begins with an assignment to each element that does not read it.  The
second of two in one block is left out if

- both are the same but for the names of what they compute and of their loops;
- nothing between them writes what they read;
- all that reads the second result stands behind it in the same block.

A block is executed from its beginning to its end before it is begun again.  So wherever the second result is read, the
first one was computed in the same execution of the block, from operands that were the same for both.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Hashable, Sequence
from collections.abc import Iterator as Iteration
from dataclasses import replace
from typing import Any

from polytune.frontend.array_expressions.affine_arithmetic import ONE, ZERO
from polytune.frontend.expression import (
    Assign,
    Branch,
    Constant,
    Element,
    Expression,
    Iterator,
    LibraryCall,
    map_children,
    walk,
)
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.frontend.scop import ArrayRole
from polytune.records import dataclass

__all__ = ["Computation", "Occurrences", "computations", "uses_of", "without_repetitions"]


def without_repetitions(nodes: Sequence[Node], kernel: KernelWalk) -> tuple[Node, ...]:
    """Return the program without what is computed a second time; the kernel loses its arrays, too.

    Args:
        nodes: the program.
        kernel: what the walk over the source has found.
    """
    return _Repetitions(kernel, uses_of(nodes)).block(tuple(nodes))


@dataclass
class Occurrences:
    """The occurrences of arrays and variables in a program: how many there are, and how many writes."""

    mentioned: Multiset[str]
    written: Multiset[str]


def uses_of(nodes: Any) -> Occurrences:
    """Count occurrences in nodes, or in one."""
    found = Occurrences(Multiset(), Multiset())
    for node in nodes if isinstance(nodes, tuple | list) else (nodes,):
        for part in walk(node):
            match part:
                case Element(array):
                    found.mentioned[array] += 1
                case Assign(Element(array)):
                    found.written[array] += 1
                case LibraryCall(results=results):
                    found.written.update(result.element.array for result in results)
    return found


@dataclass(frozen=True)
class Computation:
    """A run of nodes that computes an array or a variable.

    Attributes:
        array: its name.
        subscripts: by dimension the number of the loop that goes along it, or the constant that the subscript is.
        begin: where the run begins in its block.
        end: where the next node stands.
        operands: the arrays and variables that it reads.
        form: what is equal for computations of the same numbers.
    """

    array: str
    subscripts: tuple[int | Constant, ...]
    begin: int
    end: int
    operands: frozenset[str]
    form: Hashable


class _NoComputationError(Exception):
    """Nodes compute an array in another way than `Computation` says."""


class _Form:
    """Reads a run of nodes, with names in it that do not depend on what it computes and on its loops.

    A loop of one iteration is none, as those over the dimensions are that `keepdims` keeps.
    """

    def __init__(self, array: str):
        self._array = array
        self._target: Element | None = None
        self._subscripts: tuple[int | Constant, ...] = ()
        self._renamed: dict[str, Iterator | Constant] = {}
        self._loops = 0

    def of(self, nodes: Sequence[Node]) -> tuple[tuple[int | Constant, ...], Hashable]:
        """Return the subscripts of what the nodes compute, as `Computation` has them, and their form.

        Raises:
            _NoComputationError: an element is read before it is assigned, or there is more in the nodes than loops,
                assignments to the element of an iteration, and after the first one branches with such.
        """
        form = tuple(each for node in nodes for each in self._node(node, ()))
        return self._subscripts, form

    def _node(self, node: Node, around: tuple[Iterator, ...]) -> tuple[Hashable, ...]:
        match node:
            case RangeLoop(iterator=iterator, start=Constant(0), stop=Constant(1), step=1, body=body):
                self._renamed[iterator] = ZERO
                return tuple(each for child in body for each in self._node(child, around))
            case RangeLoop(iterator=iterator, start=start, stop=stop, step=step, body=body):
                ends = self._expression(start), self._expression(stop)
                own = self._renamed[iterator] = Iterator(f"${self._loops}")
                self._loops += 1
                inner = tuple(each for child in body for each in self._node(child, (*around, own)))
                return ((own, *ends, step, inner),)
            case Perform(operations):
                return tuple(self._assignment(operation, around) for operation in operations)
        raise _NoComputationError

    def _assignment(self, operation: Any, around: tuple[Iterator, ...]) -> Hashable:
        match operation:
            case Assign(Element(array) as target, value) if array == self._array and self._target is None:
                subscripts = [self._expression(each) for each in target.subscripts]
                if tuple(each for each in subscripts if not isinstance(each, Constant)) != around:
                    raise _NoComputationError
                form = self._expression(value)
                self._target = target
                self._subscripts = tuple(
                    each if isinstance(each, Constant) else around.index(each) for each in subscripts
                )
                return target.dtype, form
            case Assign(target, value):
                return self._expression(target), self._expression(value)
            case Branch(condition, then, otherwise) if self._target is not None:
                branches = (tuple(self._assignment(each, around) for each in part) for part in (then, otherwise))
                return self._expression(condition), *branches
        raise _NoComputationError

    def _expression(self, node: Any) -> Any:
        match node:
            case Iterator(name) if name in self._renamed:
                return self._renamed[name]
            case Element(array, subscripts) if array == self._array:
                if self._target is None or subscripts != self._target.subscripts:
                    raise _NoComputationError
                own = map(self._expression, subscripts)
                varying = tuple(each for each in own if not isinstance(each, Constant))
                return replace(node, array="$", subscripts=varying)
        return map_children(node, self._expression)


def computations(block: Sequence[Node], uses: Occurrences) -> Iteration[Computation]:
    """Give the runs of nodes of a block that compute an array or a variable.

    Args:
        block: neighbouring nodes.
        uses: the occurrences in the whole program.
    """
    writes = [uses_of(node).written for node in block]
    begin = 0
    while begin < len(block):
        end = begin + 1
        if len(writes[begin]) == 1:
            (array,) = writes[begin]
            while end < len(block) and list(writes[end]) == [array]:
                end += 1
            if sum(each[array] for each in writes[begin:end]) == uses.written[array]:
                try:
                    subscripts, form = _Form(array).of(block[begin:end])
                except _NoComputationError:
                    pass
                else:
                    operands = frozenset(uses_of(tuple(block[begin:end])).mentioned) - {array}
                    yield Computation(array, subscripts, begin, end, operands, form)
        begin = end


class _Repetitions:
    """Rewrites blocks.

    Args:
        kernel: what the walk over the source has found.
        uses: what is used how often in the whole program.
    """

    def __init__(self, kernel: KernelWalk, uses: Occurrences):
        self._kernel, self._uses = kernel, uses

    def block(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Rewrite neighbouring nodes, and those in them."""
        made = tuple(self._inside(node) for node in nodes)
        while (found := self._without_one(made)) is not None:
            made = found
        return made

    def _inside(self, node: Node) -> Node:
        match node:
            case RangeLoop(body=body):
                return replace(node, body=self.block(body))
            case Guard(then=then, otherwise=otherwise):
                return replace(node, then=self.block(then), otherwise=self.block(otherwise))
        return node

    def _without_one(self, block: tuple[Node, ...]) -> tuple[Node, ...] | None:
        """The block without one repetition; None where there is none."""
        known: dict[Hashable, list[Computation]] = {}
        for found in computations(block, self._uses):
            for first in known.setdefault(found.form, []):
                rest = self._replaced(first, found, block)
                if rest is not None:
                    return rest
            known[found.form].append(found)
        return None

    def _replaced(self, first: Computation, second: Computation, block: tuple[Node, ...]) -> tuple[Node, ...] | None:
        """The block with the first result in place of the second; None where that may be wrong."""
        arrays, array = self._kernel.arrays, second.array
        if arrays[array].role not in (ArrayRole.LOCAL, ArrayRole.SCALAR) or arrays[array].initial is not None:
            return None
        if arrays[first.array].role not in (ArrayRole.LOCAL, ArrayRole.RESULT, ArrayRole.SCALAR):
            return None
        between, rest = block[first.end : second.begin], block[second.end :]
        if not first.operands.isdisjoint(uses_of(between).written):
            return None
        own, later = (uses_of(nodes).mentioned[array] for nodes in (block[second.begin : second.end], rest))
        if own + later != self._uses.mentioned[array] or array in uses_of(self._kernel.result or ()).mentioned:
            return None
        try:
            changed = tuple(self._reading(node, first, second) for node in rest)
        except _NoComputationError:
            return None
        for name, times in uses_of(block[second.begin : second.end]).mentioned.items():
            self._uses.mentioned[name] -= times
        self._uses.mentioned[first.array] += later
        self._uses.mentioned[array] = self._uses.written[array] = 0
        del arrays[array]
        return (*block[: second.begin], *changed)

    def _reading(self, node: Any, first: Computation, second: Computation) -> Any:
        changed = map_children(node, lambda child: self._reading(child, first, second))
        if not isinstance(node, Element):
            return changed
        if node.array == second.array:
            along: dict[int, Expression] = {}
            for own, subscript, extent in zip(
                second.subscripts, changed.subscripts, self._kernel.arrays[second.array].shape, strict=True
            ):
                if isinstance(own, int):
                    along[own] = subscript
                elif subscript != own and extent != ONE:
                    raise _NoComputationError
            subscripts = tuple(along[each] if isinstance(each, int) else each for each in first.subscripts)
            changed = Element(first.array, subscripts, node.dtype)
        location = self._kernel.locations.find(node)
        return changed if location is None else self._kernel.locations.record(changed, location)

"""Variables that are needed only where a condition holds, computed whether or not it holds.

What follows ``if s == 0.0: return 0.0`` is under the test that the kernel has not returned.  A mean there would begin
with ``if s != 0.0: total = 0.0``, so that its updates depend on whether that has happened, and no two workers could add
up parts of it.  But nothing needs ``total`` where ``s`` is 0, and so it may be anything there: ``total = 0.0`` needs no
test, and the updates are those that `polytune.frontend.rewrites.guarded_updates` makes sums of.

Arrays are taken likewise, but for what is computed of other arrays: that is work, and may as well be left out.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from polytune.frontend.expression import (
    Argument,
    Assign,
    Binary,
    Branch,
    Cast,
    Compare,
    Constant,
    Counter,
    Element,
    Expression,
    Extent,
    Logical,
    Operation,
    ParameterValue,
    Power,
    Select,
    Unary,
    arrays_written,
    walk,
)
from polytune.frontend.expression import Iterator as LoopVariable
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.frontend.rewrites.forwarding import mentioned
from polytune.frontend.scop import ArrayRole

__all__ = ["guards_apart", "with_guards", "without_needless_guards"]


Conditions = tuple[Expression, ...]
"""Conditions of branches in one another, the outermost one first."""


def without_needless_guards(nodes: Sequence[Node], kernel: KernelWalk) -> tuple[Node, ...]:
    """Return the program with assignments without their condition where only what is under the same one needs them.

    Args:
        nodes: the program.
        kernel: what the walk over the source has found.
    """
    return _Unguarding(kernel, _mentions(nodes, kernel)).block(nodes)


def guards_apart(nodes: Sequence[Node], kernel: KernelWalk) -> tuple[tuple[Node, ...], dict[str, Conditions]]:
    """Return the program without conditions of assignments to local arrays that only what is under the same ones needs,
    and the conditions by the names of the arrays: arrays that only pass values on can be told so.

    Args:
        nodes: the program.
        kernel: what the walk over the source has found.
    """
    unguarding = _ArraysUnguarding(kernel, _mentions(nodes, kernel))
    return unguarding.block(nodes), unguarding.conditions


def with_guards(nodes: Sequence[Node], conditions: Mapping[str, Conditions]) -> tuple[Node, ...]:
    """Return the program with assignments under their conditions again.

    Args:
        nodes: the program.
        conditions: by the names of the arrays that are assigned.
    """
    return tuple(_guarded_again(node, conditions) for node in nodes) if conditions else tuple(nodes)


def _guarded_again(node: Node, conditions: Mapping[str, Conditions]) -> Node:
    match node:
        case RangeLoop(body=body):
            return replace(node, body=with_guards(body, conditions))
        case Guard(then=then, otherwise=otherwise):
            return replace(node, then=with_guards(then, conditions), otherwise=with_guards(otherwise, conditions))
        case Perform((Assign(target, _),)) if target.array in conditions:
            operations = node.operations
            for condition in reversed(conditions[target.array]):
                operations = (Branch(condition, operations),)
            return replace(node, operations=operations)
    return node


def _mentions(nodes: Sequence[Node], kernel: KernelWalk) -> Multiset[str]:
    """Count how often each array is mentioned in the program and beside it."""
    everywhere = mentioned(nodes) + mentioned(kernel.result or ()) + mentioned(tuple(kernel.size_conditions))
    for array in kernel.arrays.values():
        everywhere += mentioned(tuple(array.shape))
    return everywhere


class _Unguarding:
    """Rewrites blocks.

    Args:
        kernel: what the walk over the source has found.
        everywhere: how often each array or variable is mentioned.
    """

    def __init__(self, kernel: KernelWalk, everywhere: Multiset[str]):
        roles = {name: array.role for name, array in kernel.arrays.items()}
        self._own = {name for name, role in roles.items() if role in (ArrayRole.SCALAR, ArrayRole.LOCAL)}
        self._own -= set(kernel.endings.values())
        self._given = {name for name, role in roles.items() if role in (ArrayRole.ARGUMENT, ArrayRole.CONSTANT)}
        self._variables = {name for name, role in roles.items() if role is ArrayRole.SCALAR}
        self._everywhere = everywhere

    def block(self, nodes: Sequence[Node], is_repeated: bool = False) -> tuple[Node, ...]:
        """Rewrite neighbouring nodes, and those in them.

        Args:
            nodes: the nodes.
            is_repeated: whether they are in a loop.
        """
        rest = list(nodes)
        for place in range(len(rest)):
            for name, conditions in dict.fromkeys(self._beginnings(rest[place], is_repeated)):
                if self._is_needed_under(name, conditions, rest[place:]):
                    rest[place:] = [self._without(node, name, conditions, ()) for node in rest[place:]]
            if not is_repeated:
                self._given |= self._variables & set(_assigned(rest[place]))
        return tuple(self._inside(node, is_repeated) for node in rest)

    def _inside(self, node: Node, is_repeated: bool) -> Node:
        match node:
            case RangeLoop(body=body):
                return replace(node, body=self.block(body, True))
            case Guard(then=then, otherwise=otherwise):
                then, otherwise = (self.block(side, is_repeated) for side in (then, otherwise))
                return replace(node, then=then, otherwise=otherwise)
        return node

    def _is_needed_under(self, name: str, conditions: Conditions, following: Sequence[Node]) -> bool:
        """Return whether an array or variable is mentioned under conditions alone, all of the time with the same
        outcome.

        Args:
            name: the array or variable.
            conditions: those of its first assignment.
            following: the nodes from that on, to the end of their block.
        """
        if name not in self._own or sum(_mentions_under(conditions, name, following)) != self._everywhere[name]:
            return False
        last = max(place for place, node in enumerate(following) if name in mentioned(node))
        written = {array for node in following[: last + 1] for array in arrays_written(node)}
        inside = {node.iterator for top in following for node in _loops(top)}
        read = {each.name for part in conditions for each in walk(part) if isinstance(each, LoopVariable)}
        return not written & mentioned(conditions).keys() and not inside & read

    def _beginnings(self, node: Node, is_repeated: bool, in_loop: bool = False) -> Iterator[tuple[str, Conditions]]:
        """The arrays and variables that a node assigns under conditions, with these.

        In a loop those are only the ones that are assigned whole: of others, an earlier iteration may have left a part.
        """
        match node:
            case RangeLoop(body=body) if not is_repeated:
                for child in body:
                    yield from self._beginnings(child, is_repeated, True)
            case Perform():
                guarded = _guarded(node)
                if guarded is not None:
                    conditions, target, value = guarded
                    is_whole = not target.subscripts and target.array not in mentioned(value)
                    if (is_whole or not is_repeated) and self._is_harmless(value, target, in_loop):
                        yield target.array, conditions

    def _is_harmless(self, value: Expression, target: Element, in_loops: bool) -> bool:
        """Return whether a value can be computed without its condition, at no cost to speak of.

        Args:
            value: the value.
            target: what it is assigned to.
            in_loops: whether that happens more than once.
        """
        if isinstance(value, Constant):
            return True
        for part in walk(value):
            match part:
                case Element(array, subscripts):
                    is_given = array in self._given and not in_loops
                    if (array != target.array and not is_given) or mentioned(subscripts):
                        return False
                case Binary(operator, dtype=dtype) if not dtype.startswith("float"):
                    if operator not in _WITHOUT_ERRORS:
                        return False
                case Unary(dtype=dtype) | Power(dtype=dtype) | Cast(dtype=dtype):
                    if not dtype.startswith("float"):
                        return False
                case Binary() | Select() | Compare() | Logical():
                    pass
                case _ if not isinstance(part, _HARMLESS):
                    return False
        return True

    def _without(self, node: Node, name: str, conditions: Conditions, around: tuple[str, ...]) -> Node:
        """A node with assignments of an array or variable without their condition.

        Args:
            node: the node.
            name: the array or variable.
            conditions: those that only what needs it is under.
            around: the iterators of the loops around it, from those that all of them are in.
        """
        match node:
            case RangeLoop(iterator=iterator, body=body):
                inside = tuple(self._without(each, name, conditions, (*around, iterator)) for each in body)
                return replace(node, body=inside)
            case Guard(then=then, otherwise=otherwise):
                then, otherwise = (
                    tuple(self._without(each, name, conditions, around) for each in side) for side in (then, otherwise)
                )
                return replace(node, then=then, otherwise=otherwise)
            case Perform():
                guarded = _guarded(node)
                if guarded is not None and guarded[0] == conditions and guarded[1].array == name:
                    _, target, value = guarded
                    # What a loop does again and again to one element is work.
                    is_single = set(around) <= {each.name for each in walk(target) if isinstance(each, LoopVariable)}
                    if is_single and self._is_harmless(value, target, bool(around)):
                        return replace(node, operations=(Assign(target, value),))
        return node


class _ArraysUnguarding(_Unguarding):
    """Takes the conditions of local arrays away, whatever is assigned to them, outside of loops that repeat the
    condition.

    Attributes:
        conditions: those that were taken away, by the names of the arrays.
    """

    def __init__(self, kernel: KernelWalk, everywhere: Multiset[str]):
        super().__init__(kernel, everywhere)
        self._own -= self._variables
        self.conditions: dict[str, Conditions] = {}

    def _inside(self, node: Node, is_repeated: bool) -> Node:
        return node

    def _is_harmless(self, value: Expression, target: Element, in_loops: bool) -> bool:
        return True

    def _is_needed_under(self, name: str, conditions: Conditions, following: Sequence[Node]) -> bool:
        # Arrays that conditions read might be told to pass values on, too, and be gone.
        is_lasting = mentioned(conditions).keys() <= self._variables | self._given
        found = is_lasting and super()._is_needed_under(name, conditions, following)
        if found:
            self.conditions[name] = conditions
        return found


def _assigned(node: Node) -> Iterator[str]:
    """The variables that a node assigns in any case."""
    match node:
        case Perform((Assign(target, _),)):
            yield target.array


def _loops(node: Node) -> Iterator[RangeLoop]:
    """The loops of a node."""
    match node:
        case RangeLoop(body=body):
            yield node
            for child in body:
                yield from _loops(child)
        case Guard(then=then, otherwise=otherwise):
            for child in (*then, *otherwise):
                yield from _loops(child)


def _guarded(node: Node) -> tuple[Conditions, Element, Expression] | None:
    """The conditions, the target and the value of an assignment under conditions; None for anything else."""
    if not isinstance(node, Perform):
        return None
    conditions, operations = [], node.operations
    while True:
        match operations:
            case (Branch(condition, operations, ()),):
                conditions.append(condition)
            case (Assign(target, value),) if conditions and not mentioned(target.subscripts):
                return tuple(conditions), target, value
            case _:
                return None


_WITHOUT_ERRORS = ("+", "-", "*")
"""Operators of integers that processors have no errors of."""

_HARMLESS = (Argument, Constant, Counter, Element, Extent, LoopVariable, ParameterValue)
"""Parts of expressions that name a number."""


def _mentions_under(conditions: Conditions, name: str, nodes: Sequence[Node]) -> Iterator[int]:
    """Count how often nodes mention an array under conditions."""
    for node in nodes:
        match node:
            case RangeLoop(body=body):
                yield from _mentions_under(conditions, name, body)
            case Guard(then=then, otherwise=otherwise):
                yield from _mentions_under(conditions, name, (*then, *otherwise))
            case Perform(operations):
                yield mentioned(_inside_of(conditions, operations))[name]


def _inside_of(conditions: Conditions, operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """The operations that are done only where conditions hold."""
    if not conditions:
        return tuple(operations)
    first, *others = conditions
    branches = (each for each in operations if isinstance(each, Branch) and each.condition == first)
    return tuple(part for each in branches for part in _inside_of(tuple(others), each.then))

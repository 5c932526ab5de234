"""Updates under conditions on data are updates that change nothing where the condition does not hold.

``if d < r: s = 1 / d; e += s * s`` becomes ``e += (1 / d) * (1 / d) if d < r else 0``: a sum, whose terms may come in
any order, where a branch is one statement that reads and writes ``e``.  Branches in branches, ``elif`` and ``else``
become choices, several sums a statement each, and numbers that only the branch uses are computed where it used them.

The operand of an update is evaluated only where the condition holds, as before.  It may move behind the updates of
other sums, as nothing in the branch reads these, and nothing in it writes anything else that lasts.

Variables that are assigned under conditions, too, keep their branches: where both conditions are one, as in what is
left of a loop after a ``break``, this says that an update sees that assignment.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Iterator as Iteration
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from polytune.frontend.expression import (
    Assign,
    Binary,
    Branch,
    Constant,
    Element,
    Expression,
    Iterator,
    Operation,
    Select,
    Unary,
    map_children,
    walk,
)
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.polyhedral.reductions import neutral_element
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.frontend.rewrites.forwarding import mentioned
from polytune.frontend.scop import ArrayRole

__all__ = ["assigned_under_conditions", "update_operator", "with_guarded_updates"]

MOST_OPERATIONS = 80
"""The most nodes that the operand of an update may have afterwards."""

_GROUPS = {"+": "+", "-": "+", "*": "*", "min": "min", "max": "max"}


def with_guarded_updates(nodes: Sequence[Node], kernel: KernelWalk) -> tuple[Node, ...]:
    """Return the program with updates of variables in place of branches on data that do nothing else.

    The kernel loses the variables that are not needed any more.

    Args:
        nodes: the program.
        kernel: what the walk over the source has found.
    """
    scalars = {name for name, array in kernel.arrays.items() if array.role is ArrayRole.SCALAR}
    local = {name for name, array in kernel.arrays.items() if array.role is ArrayRole.LOCAL}
    everywhere = mentioned(nodes) + mentioned(kernel.result or ()) + mentioned(tuple(kernel.size_conditions))
    for array in kernel.arrays.values():
        everywhere += mentioned(tuple(array.shape))
    rewriting = _Rewriting(scalars, local, set(assigned_under_conditions(nodes)), everywhere)
    made = rewriting.block(nodes)
    for name in rewriting.left_out:
        del kernel.arrays[name]
    return made


def assigned_under_conditions(nodes: Sequence[Node]) -> Iteration[str]:
    """Give the variables that branches on data assign anything but updates."""
    for node in nodes:
        match node:
            case RangeLoop(body=body):
                yield from assigned_under_conditions(body)
            case Guard(then=then, otherwise=otherwise):
                yield from assigned_under_conditions((*then, *otherwise))
            case Perform(operations):
                inside = (
                    each for operation in operations if not isinstance(operation, Assign) for each in walk(operation)
                )
                yield from (
                    each.target.array for each in inside if isinstance(each, Assign) and update_operator(each) is None
                )


class _NotUpdatesError(Exception):
    """A branch does something else than to update variables."""


class _Rewriting:
    """Rewrites blocks.

    Args:
        scalars: the names of variables.
        local: the names of the kernel's own arrays, whose elements are updated under conditions that are the same for
            all of them.
        kept: those of either of which updates stay in branches.
        everywhere: how often each array or variable is mentioned.
    """

    def __init__(self, scalars: set[str], local: set[str], kept: set[str], everywhere: Multiset[str]):
        self._scalars, self._local, self._kept, self._everywhere = scalars, local, kept, everywhere
        self.left_out: set[str] = set()
        # What an iteration of the outermost loop around may leave as an earlier one has.
        self._unsure: frozenset[str] = frozenset()

    def block(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """Rewrite neighbouring nodes, and those in them."""
        return tuple(made for node in nodes for made in self._rewritten(node))

    def _rewritten(self, node: Node) -> tuple[Node, ...]:
        match node:
            case RangeLoop(body=body):
                outside = self._unsure
                self._unsure = outside or frozenset(assigned_under_conditions(body))
                made = replace(node, body=self.block(body))
                self._unsure = outside
                return (made,)
            case Guard(then=then, otherwise=otherwise):
                return (replace(node, then=self.block(then), otherwise=self.block(otherwise)),)
            case Perform(operations):
                branches = tuple(map(_as_branch, operations))
                if not any(isinstance(each, Branch) for each in branches):
                    return (node,)
                try:
                    updates = self._updates(branches)
                except _NotUpdatesError:
                    return (node,)
                return tuple(Perform((update,), node.location, node.text) for update in updates)
        return (node,)

    def _updates(self, operations: tuple[Operation, ...]) -> list[Assign]:
        """The updates that operations come to.

        Raises:
            _NotUpdatesError: they do anything else.
        """
        assigned = _assignments(operations)
        targets = dict.fromkeys(each.target for each in assigned)
        if not all(self._may_update(target, operations) for target in targets):
            raise _NotUpdatesError
        inside = mentioned(operations)
        groups: dict[Element, str] = {}
        passing = set()
        for target in targets:
            own = [each for each in assigned if each.target == target]
            found = {update_operator(each) for each in own}
            # Each update mentions its target twice, and nothing else does.
            is_update = len(found) == 1 and None not in found and inside[target.array] == 2 * len(own)
            if is_update and target.array not in self._kept:
                groups[target] = next(iter(found)) or ""
            elif not target.subscripts and inside[target.array] == self._everywhere[target.array]:
                passing.add(target.array)
            else:
                raise _NotUpdatesError
        read = mentioned([each.value for each in assigned]).keys() - {target.array for target in targets}
        if not groups or read & self._unsure:
            # Of an update that reads what the same branch assigns elsewhere, nothing would show that it does so where
            # that has been assigned.
            raise _NotUpdatesError
        operands: dict[Element, Expression] = {}
        _run(operations, {}, operands, groups, passing)
        self.left_out |= passing
        return [
            Assign(target, Binary(groups[target], target, operand, target.dtype))
            for target, operand in operands.items()
        ]

    def _may_update(self, target: Element, operations: Sequence[Operation]) -> bool:
        """Return whether updates of a target may take the place of branches: where elements are, which are written in
        any case then, only where all of them are or none is."""
        if not target.subscripts:
            return target.array in self._scalars
        read = [part for operation in operations if isinstance(operation, Branch) for part in walk(operation.condition)]
        return (
            target.array in self._local
            and not any(isinstance(part, Iterator) for part in read)
            and not mentioned(target.subscripts)
        )


def _as_branch(operation: Operation) -> Operation:
    """An assignment of a choice of which a side reads the target, as a branch; anything else as it is."""
    match operation:
        case Assign(Element(subscripts=()) as target, Select(condition, then, otherwise)):
            if any(target in walk(side) for side in (then, otherwise)):
                yes, no = ((_as_branch(Assign(target, side)),) if side != target else () for side in (then, otherwise))
                return Branch(condition, yes, no)
    return operation


def _assignments(operations: Sequence[Operation]) -> list[Assign]:
    """The assignments in branches.

    Raises:
        _NotUpdatesError: there is anything else.
    """
    found: list[Assign] = []
    for operation in operations:
        match operation:
            case Assign():
                found.append(operation)
            case Branch(_, then, otherwise):
                found += _assignments((*then, *otherwise))
            case _:
                raise _NotUpdatesError
    return found


def update_operator(assignment: Assign) -> str | None:
    """Return the operator of an update, ``-`` being ``+``; None for any other assignment."""
    target, value = assignment.target, assignment.value
    if not target.dtype.startswith(("float", "int")) or not isinstance(value, Binary) or value.dtype != target.dtype:
        return None
    group = _GROUPS.get(value.operator)
    is_left = value.left == target
    if group in ("min", "max") and not is_left and target.dtype.startswith("float"):
        return None  # which of two numbers the least is depends on their order where one is no number
    if is_left or (value.right == target and value.operator != "-"):
        return group
    return None


def _operand(assignment: Assign) -> Expression:
    """The number that an update adds, or multiplies with, or compares with."""
    value = assignment.value
    assert isinstance(value, Binary), "updates are"
    operand = value.right if value.left == assignment.target else value.left
    return Unary("-", operand, value.dtype) if value.operator == "-" else operand


def _run(
    operations: Sequence[Operation],
    values: dict[str, Expression],
    operands: dict[Element, Expression],
    groups: Mapping[Element, str],
    passing: set[str],
) -> None:
    """Run operations on expressions in place of numbers.

    Args:
        operations: assignments and branches.
        values: of the variables that only these operations use; changed to what they are afterwards.
        operands: what each of the other variables is updated by until then; changed likewise.
        groups: the operators of the updates.
        passing: the variables that only these operations use.

    Raises:
        _NotUpdatesError: one of them is read where it may have no value yet.
    """
    for operation in operations:
        match operation:
            case Assign(target, value):
                if target in groups:
                    operand = _with_values(_operand(operation), values, passing)
                    operands[target] = _joined(groups[target], operands.get(target), operand, target.dtype)
                else:
                    values[target.array] = _bounded(_with_values(value, values, passing))
            case Branch(condition, then, otherwise):
                test = _with_values(condition, values, passing)
                sides = []
                for side in (then, otherwise):
                    own, changed = dict(values), dict[Element, Expression]()
                    _run(side, own, changed, groups, passing)
                    sides.append((own, changed))
                (left, left_changed), (right, right_changed) = sides
                values.clear()
                for name in left.keys() & right.keys():
                    same, other = left[name], right[name]
                    values[name] = same if same == other else _bounded(Select(test, same, other, same.dtype))
                for target in groups:
                    if target in left_changed or target in right_changed:
                        nothing = Constant(neutral_element(groups[target], target.dtype), target.dtype)
                        yes, no = (each.get(target, nothing) for each in (left_changed, right_changed))
                        operand = Select(test, yes, no, target.dtype)
                        operands[target] = _joined(groups[target], operands.get(target), operand, target.dtype)


def _joined(group: str, before: Expression | None, operand: Expression, dtype: str) -> Expression:
    """The operand of two updates, one after the other."""
    return _bounded(operand if before is None else Binary(group, before, operand, dtype))


def _with_values(node: Any, values: Mapping[str, Expression], passing: set[str]) -> Any:
    """An expression with what variables are in their place.

    Raises:
        _NotUpdatesError: one of them may have no value yet.
    """
    if isinstance(node, Element) and node.array in passing:
        if node.array not in values:
            raise _NotUpdatesError
        return values[node.array]
    return map_children(node, lambda child: _with_values(child, values, passing))


def _bounded(expression: Expression) -> Expression:
    """The expression.

    Raises:
        _NotUpdatesError: it is too large.
    """
    if sum(1 for _ in islice(walk(expression), MOST_OPERATIONS + 1)) > MOST_OPERATIONS:
        raise _NotUpdatesError
    return expression

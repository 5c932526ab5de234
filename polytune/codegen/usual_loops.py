"""Innermost loops in the form that they mostly have: with all subscripts that depend on data in range.

Where a subscript may be out of range, an operation does something else, and what follows it waits for that: compilers
make no vectors of such a loop.  In its usual form an iteration with such a subscript does nothing from there on but
count.  If any were counted, the loop runs once more, as it is: it reads nothing that it has written to arrays, sums
are what they were before, and no other variable hands anything on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from polytune.codegen.joined_tests import JoinedTests, fewer_tests, joined, joined_statements
from polytune.codegen.loops import Block, Compute, For, If, Node
from polytune.codegen.subscript_tests import alternatives
from polytune.frontend.array_expressions.affine_arithmetic import coefficients
from polytune.frontend.expression import (
    Assign,
    Binary,
    Branch,
    Checked,
    Constant,
    Element,
    Expression,
    Iterator,
    Operation,
    Unary,
    walk,
)
from polytune.frontend.generated_names import generated
from polytune.records import dataclass

__all__ = ["OUTSIDE", "PrivateVariables", "UsualLoop", "before_name", "private_variables", "usual_loop"]

OUTSIDE = generated("outside")
"""The variable that counts iterations with subscripts that are out of range."""

_NUMBER = Element(OUTSIDE, (), "int64")
_COUNT = Assign(_NUMBER, Binary("+", _NUMBER, Constant(1, "int64"), "int64"))
_NEVER = Constant(False, "bool")

_Usual = Callable[[Checked], Checked | None]


@dataclass(frozen=True)
class UsualLoop:
    """A loop in its usual form.

    Attributes:
        operations: those of an iteration, which count where a subscript is out of range.
        sums: the variables that iterations add to.
        others: the variables that hand nothing on from iteration to iteration, nor to what comes after the loop.
    """

    operations: tuple[Operation, ...]
    sums: tuple[str, ...]
    others: tuple[Element, ...]


def before_name(variable: str) -> str:
    """The name of what a variable was before a loop."""
    return generated(variable, "before")


@dataclass(frozen=True)
class PrivateVariables:
    """The variables of a region alone.

    Attributes:
        all: all of them.
        used_at_once: those of which no statement needs what another one has assigned.
    """

    all: frozenset[str] = frozenset()
    used_at_once: frozenset[str] = frozenset()


def private_variables(body: Node, own: frozenset[str]) -> PrivateVariables:
    """Return the variables of a region alone.

    Args:
        body: its loops and statements.
        own: the scalars that are.
    """
    return PrivateVariables(own, own - _handed_on(body))


def usual_loop(loop: For, private: PrivateVariables, usual: _Usual, *, strict: bool) -> UsualLoop | None:
    """Return the usual form of a loop; None where compilers would make no vectors of it, or it cannot run again.

    Args:
        loop: the loop.
        private: the variables of its region alone.
        usual: gives the form of an operation that it mostly has, with fewer tests; None where it has none.
        strict: whether sums keep their order.
    """
    nodes = joined_statements(loop.body.children) if isinstance(loop.body, Block) else [loop.body]
    if len(nodes) != 1 or not isinstance(nodes[0], Compute) or loop.ending is not None or loop.step != 1:
        return None
    operations = nodes[0].operations
    parts = [part for operation in operations for part in walk(operation)]
    if not any(isinstance(part, Checked) for part in parts) or not _are_plain(parts):
        return None
    form = _usual(operations, usual)
    if form is None:
        return None
    stored = [part.target for operation in form for part in walk(operation) if isinstance(part, Assign)]
    if _NUMBER not in stored:
        return None
    arrays = {target.array for target in stored if target.subscripts}
    variables = {target.array: target for target in stored if not target.subscripts and target != _NUMBER}
    read = {element.array for element in _elements_read(operations)}
    if arrays & read or not all(_is_along(each, loop.variable) for each in stored):
        return None
    sums = _read_first(form) & variables.keys()
    others = variables.keys() - sums
    if not others <= private.used_at_once or not sums <= private.all or (sums and strict):
        return None
    if not (arrays or sums) or not all(_is_sum(name, form) for name in sums):
        return None
    return UsualLoop(form, tuple(sorted(sums)), tuple(variables[name] for name in sorted(others)))


def _handed_on(body: Node) -> frozenset[str]:
    """Return the variables of which a statement may need what another one, or the same one before, has assigned.

    Where a subscript was out of range it does not matter what variables are, as the call raises.
    """
    match body:
        case Block(children):
            return frozenset().union(*map(_handed_on, joined_statements(children)))
        case Compute(operations=operations):
            return _read_first(operations)
        case For(start=start, stop=stop, body=below, ending=ending):
            ends = (start, stop) if ending is None else (start, stop, ending)
            return _handed_on(below).union(*map(_variables, ends))
        case If(condition, then, otherwise):
            sides = (then,) if otherwise is None else (then, otherwise)
            return _variables(condition).union(*map(_handed_on, sides))
        case _:
            return _variables(body)


def _variables(part: Any) -> frozenset[str]:
    """The variables in an expression, an operation or a node."""
    return frozenset(each.array for each in walk(part) if isinstance(each, Element) and not each.subscripts)


def _are_plain(parts: Iterable[Any]) -> bool:
    """Return whether all operations among some parts are assignments, branches and tests that leave no loop."""
    kinds = Assign, Branch, Checked
    return all(isinstance(part, kinds) for part in parts if isinstance(part, Operation)) and not any(
        isinstance(part, Checked) and part.leaves for part in parts
    )


def _usual(operations: Sequence[Operation], usual: _Usual) -> tuple[Operation, ...] | None:
    """Operations that count, and do no more, from where a subscript is out of range; None where something follows that
    would not know of it."""
    found: list[Operation] = []
    parts = [*joined(operations, usual)]
    for number, part in enumerate(parts):
        following = [each for later in parts[number + 1 :] for each in _tested(later)]
        match part:
            case Checked():
                form = usual(part) or part
                violation, body = fewer_tests(alternatives(form.violation)), form.body
            case JoinedTests():
                violation, body = part.violation, part.usual
            case Branch(condition, then, otherwise) if any(isinstance(each, Checked) for each in walk(part)):
                first, second = _usual(then, usual), _usual(otherwise, usual)
                if following or first is None or second is None:
                    return None
                return (*found, Branch(condition, first, second))
            case _:
                found.append(part)
                continue
        rest = _usual((*body, *following), usual)
        if rest is None:
            return None
        if violation == _NEVER:
            return (*found, *rest)
        return (*found, Branch(Unary("not", violation, "bool"), rest, (_COUNT,)))
    return tuple(found)


def _tested(part: Operation | JoinedTests) -> tuple[Operation, ...]:
    return part.tested if isinstance(part, JoinedTests) else (part,)


def _elements_read(operations: Iterable[Operation]) -> list[Element]:
    """The elements that operations read."""
    parts = [part for operation in operations for part in walk(operation)]
    targets = {id(part.target) for part in parts if isinstance(part, Assign)}
    reports = {id(part.report) for part in parts if isinstance(part, Checked)}
    return [part for part in parts if isinstance(part, Element) and id(part) not in targets | reports]


def _is_along(target: Element, variable: str) -> bool:
    """Return whether what a loop stores to is a variable, or elements that lie next to one another, of arrays whose
    rows do.

    Args:
        target: what is stored to.
        variable: the loop's.
    """
    if not target.subscripts:
        return True
    *far, near = target.subscripts
    if any(isinstance(leaf, Iterator) and leaf.name == variable for each in far for leaf in walk(each)):
        return False
    steps = {leaf: factor for leaf, factor in coefficients(near)[0].items() if _depends_on(leaf, variable)}
    return [*steps.values()] == [1] and all(isinstance(leaf, Iterator) for leaf in steps)


def _depends_on(leaf: Expression, variable: str) -> bool:
    return any(isinstance(part, Iterator) and part.name == variable for part in walk(leaf))


def _read_first(operations: Sequence[Operation]) -> frozenset[str]:
    """The variables that operations, in their order, may read before they have assigned them."""
    found: set[str] = set()

    def read(expression: Any, assigned: frozenset[str]) -> None:
        found.update(_variables(expression) - assigned)

    def follow(parts: Sequence[Operation], assigned: frozenset[str]) -> frozenset[str]:
        for part in parts:
            match part:
                case Assign(target, value):
                    for expression in (value, *target.subscripts):
                        read(expression, assigned)
                    if not target.subscripts:
                        assigned |= {target.array}
                case Branch(condition, then, otherwise):
                    read(condition, assigned)
                    assigned = follow(then, assigned) & follow(otherwise, assigned)
                case Checked(violation, body=body):
                    read(violation, assigned)
                    assigned = follow(body, assigned)
                case _:  # loops may have no iterations, or end anywhere
                    read(part, assigned)
        return assigned

    follow(operations, frozenset())
    return frozenset(found)


def _is_sum(name: str, operations: Sequence[Operation]) -> bool:
    """Return whether all that operations do with a variable is to add to it what does not depend on it."""
    parts = [part for operation in operations for part in walk(operation)]
    sums = [
        part
        for part in parts
        if isinstance(part, Assign)
        and not part.target.subscripts
        and part.target.array == name
        and isinstance(part.value, Binary)
        and part.value.operator == "+"
        and part.value.left == part.target
    ]
    elements = [part for part in parts if isinstance(part, Element) and part.array == name]
    return len(elements) == 2 * len(sums)

"""Counted loops that a ``break`` or a ``return`` ends, no loops around them; and loops that count in place of others.

Such a loop runs through all of its iterations in the polyhedral model, and each does what it says.  That is sound only
as those after the end never happen, for which all versions have to see: their code ends the loop at the beginning of an
iteration if an earlier one has set the loop's flag (``polytune.codegen.early_ends``).  The flag says which one has, so
that workers that come there sooner or later see the same:

    flag = iterator - start + 1
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from polytune.frontend.array_expressions.shorter import key_of
from polytune.frontend.expression import (
    Assign,
    Binary,
    Branch,
    Constant,
    Element,
    Expression,
    Iterator,
    Loop,
    Operation,
    map_children,
)
from polytune.frontend.loops.rotation import rotated
from polytune.frontend.lowering.frame import Frame, NewKnowledgeError, ReconsiderError, assigned_names
from polytune.frontend.lowering.meanings import ObjectBinding
from polytune.frontend.program import RangeLoop
from polytune.frontend.syntax.jumps import Ending, Turns

AnyLoop = TypeVar("AnyLoop", ast.For, ast.While)


def ending_of(frame: Frame, node: ast.For, iterator: str) -> Ending | None:
    """The end of a loop that may come early, where the code may end it there; None where it may not, or a flag has to
    say in each iteration whether it does anything.

    Args:
        frame: where the loop stands.
        node: the loop.
        iterator: that which it has.

    Raises:
        ReconsiderError: its flag is not known yet to be in memory.
    """
    ending: Ending | None = getattr(node, "ends", None)
    kernel = frame.kernel
    if ending is None or not _may_end(frame) or (ending.may_not_begin and frame.conditional):
        return None
    flag = frame.unique(ending.flag)
    if flag not in kernel.knowledge.in_memory:
        raise ReconsiderError(flag)
    # The body of a loop over a tuple is written out: flags are set anew then, which workers may not have seen yet.
    if iterator in kernel.endings or flag in kernel.endings.values():
        return None
    return ending


def _may_end(frame: Frame) -> bool:
    """Return whether the code may end a loop that stands somewhere: there is none around, and its subscripts are not
    tested one by one, which is by what says that an access happens."""
    kernel = frame.kernel
    return kernel.may_end and not (kernel.signature.any_subscripts or frame.iterators or frame.opaque)


def lower_instead(frame: Frame, node: ast.For | ast.While, lower: Callable[[Frame, Sequence[ast.stmt]], None]) -> bool:
    """Lower a loop that counts in place of one that is part of a statement, where that is known to be worth it.

    Args:
        frame: where it stands.
        node: the loop that is part of a statement.
        lower: lowers statements.

    Returns:
        Whether that has been done.
    """
    turns = _turns_of(frame, node)
    if turns is None or key_of(frame, node) not in frame.kernel.knowledge.counting:
        return False
    for name, times in assigned_names(turns.statements).items():
        frame.assigned.setdefault(name, times)
    if turns.function:
        frame.bindings[turns.function] = ObjectBinding(range)
    lower(frame, turns.statements)
    return True


def count_instead(frame: Frame, node: ast.For | ast.While, body: Sequence[Operation]) -> None:
    """Find out whether a loop is to count, and not to be part of a statement: where there are loops inside, over as
    many elements as arguments have.

    Args:
        frame: where it stands.
        node: the loop.
        body: what its iterations do.

    Raises:
        NewKnowledgeError: it is to count from now on.
    """
    if _turns_of(frame, node) is not None and _has_loops(frame, body):
        frame.kernel.knowledge.counting.add(key_of(frame, node))
        raise NewKnowledgeError


def _turns_of(frame: Frame, node: ast.For | ast.While) -> Turns | None:
    """Return the loop that may count in place of another one, if there is one."""
    turns: Turns | None = getattr(node, "instead", None)
    kernel = frame.kernel
    # Under a condition that does not hold nothing would say that the loop has no iteration.
    if turns is None or not _may_end(frame) or frame.conditional:
        return None
    is_taken = bool(turns.flag) and frame.unique(turns.flag) in kernel.endings.values()
    return None if is_taken or key_of(frame, node) in kernel.knowledge.not_counting else turns


def _has_loops(frame: Frame, operations: Sequence[Operation]) -> bool:
    """Return whether there are loops that are not over as few elements as the source says, of which some arguments say
    how many iterations they have."""
    for operation in operations:
        match operation:
            case Loop(counter, start, stop):
                is_short = isinstance(start, Constant) and isinstance(stop, Constant)
                if frame.kernel.affine.counters.get(counter) and not is_short:
                    return True
            case Branch(then=then, otherwise=otherwise) if _has_loops(frame, (*then, *otherwise)):
                return True
    return False


def with_body(node: AnyLoop, body: Sequence[ast.stmt]) -> AnyLoop:
    """A loop with another body, at the same place."""
    made = copy.copy(node)
    made.body = list(body)
    return made


def ending_early(frame: Frame, loop: RangeLoop, name: str) -> RangeLoop:
    """The loop with the number of the iteration that ends it in its flag; the kernel knows it as one that does.

    Args:
        frame: where it stands.
        loop: the loop, which assigns 1 to the flag.
        name: the flag's local name.
    """
    flag = frame.unique(name)
    frame.kernel.endings[loop.iterator] = flag
    loop = rotated(loop, flag, frame.kernel)
    low, high = loop.start, Iterator(loop.iterator)
    distance = Binary("-", high, low, "int64") if loop.step > 0 else Binary("-", low, high, "int64")
    number = Binary("+", distance, Constant(1, "int64"), "int64")
    numbered: RangeLoop = _numbered(loop, flag, number)
    return numbered


def _numbered(part: Any, flag: str, number: Expression) -> Any:
    """A part of the program that assigns a number to a flag in place of 1."""
    match part:
        case Assign(Element(array, ()) as target) if array == flag:
            return Assign(target, number)
    return map_children(part, lambda child: _numbered(child, flag, number))

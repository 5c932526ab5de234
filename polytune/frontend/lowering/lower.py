"""The walk over a kernel, repeated until the types and places of its variables no longer change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from polytune.errors import Obstacle, SourceLocation, UnsupportedSourceError
from polytune.frontend.array_expressions.data_sizes import refuse_later_changes
from polytune.frontend.array_expressions.reshaping import write_back
from polytune.frontend.expression import Assign, Cast, Constant, Element
from polytune.frontend.inlining.called_functions import CalledFunctions, meaning_in
from polytune.frontend.inlining.inline import inline_call
from polytune.frontend.inlining.returns import result_of_kernel
from polytune.frontend.loops.numpy_loops import without_shapes
from polytune.frontend.loops.opaque import performed
from polytune.frontend.loops.tuple_loops import is_over_values
from polytune.frontend.lowering.frame import (
    Exits,
    Frame,
    KernelWalk,
    Knowledge,
    NewKnowledgeError,
    NumPyLoopError,
    RaisingFunctionError,
    ReconsiderError,
    SeveralArraysError,
    SidesOfBranchError,
    TupleVariableError,
    assigned_names,
)
from polytune.frontend.lowering.growing import settle_room
from polytune.frontend.lowering.meanings import ScalarBinding
from polytune.frontend.lowering.obstacles import in_source_order, note
from polytune.frontend.lowering.parameters import declare_arguments
from polytune.frontend.lowering.statements import lower_block
from polytune.frontend.lowering.stored_scalars import store_scalar
from polytune.frontend.polyhedral.affine import AffineBuilder
from polytune.frontend.program import Node, Perform
from polytune.frontend.promotion import ScalarKind, constant, impossible_power, unconvertible
from polytune.frontend.scalars import bits, complex_numbers
from polytune.frontend.scalars.expressions import evaluate
from polytune.frontend.scop import Array, ArrayRole
from polytune.frontend.syntax.branch_tails import with_tails_in_branches
from polytune.frontend.syntax.calls_first import RAISED, with_calls_first
from polytune.frontend.syntax.desugaring import desugared
from polytune.frontend.syntax.jumps import structured
from polytune.frontend.syntax.preconditions import preconditions, structure_lines, without_tests
from polytune.frontend.syntax.source import Source, definition_of, meaning_outside
from polytune.frontend.syntax.tuple_variables import with_items
from polytune.frontend.syntax.webs import with_webs
from polytune.records import dataclass
from polytune.signature import ScalarType, Signature


@dataclass(frozen=True)
class Lowered:
    """A kernel as a typed program, with the tables that were filled on the way, and its source."""

    kernel: KernelWalk
    nodes: tuple[Node, ...]
    source: Source


def lower(
    source: Source,
    signature: Signature,
    *,
    strict: bool = False,
    may_end: bool = True,
    refused: Mapping[str, Obstacle] | None = None,
) -> Lowered:
    """Walk the kernel until a walk learns nothing new.

    A variable only ever moves to memory, and types only grow by promotion, so that this ends.

    Args:
        source: the kernel.
        signature: the types of its arguments.
        strict: whether sums keep their source order.
        may_end: whether the code of versions may end loops early.
        refused: what stands in the way of some arguments.

    Raises:
        UnsupportedSourceError: something is outside the language; says all that is.
    """
    knowledge = Knowledge()
    try:
        return _lower(source, signature, knowledge, strict=strict, may_end=may_end, refused=refused)
    except UnsupportedSourceError:
        if not knowledge.counting:
            raise
        # A loop that counts may have more to refuse than one that is part of a statement.
        knowledge = Knowledge(not_counting=knowledge.counting)
        return _lower(source, signature, knowledge, strict=strict, may_end=may_end, refused=refused)


def _lower(
    source: Source,
    signature: Signature,
    knowledge: Knowledge,
    *,
    strict: bool,
    may_end: bool,
    refused: Mapping[str, Obstacle] | None,
) -> Lowered:
    integers = (
        name for name, kind in signature.arguments if isinstance(kind, ScalarType) and kind.dtype in ("int32", "int64")
    )
    affine = AffineBuilder(frozenset(integers))
    obstacles: list[Obstacle] = []
    is_refused = False
    while True:
        affine.forget_counters()
        unknown = set(knowledge.unknown)
        kernel = KernelWalk(signature, affine, knowledge, inline_call, evaluate, strict=strict, may_end=may_end)
        try:
            nodes = _walk(kernel, source, refused or {})
        except (NewKnowledgeError, NumPyLoopError, SeveralArraysError, SidesOfBranchError, TupleVariableError):
            knowledge.unknown &= unknown  # what was refused is found again
            continue
        except RaisingFunctionError:
            obstacles = kernel.obstacles or obstacles
            continue
        except ReconsiderError as found:
            assert found.name not in knowledge.in_memory
            knowledge.in_memory.add(found.name)
            obstacles = kernel.obstacles or obstacles
            continue
        if kernel.skipped and not is_refused:  # what the first whole walk finds; later ones find what follows from it
            obstacles = without_shapes(kernel, kernel.obstacles) or obstacles
            is_refused = unknown == knowledge.unknown
        grown = {name: kind.joined(knowledge.kinds.get(name, kind)) for name, kind in kernel.kinds.items()}
        if grown == knowledge.kinds and unknown == knowledge.unknown:
            impossible = list(_impossible(kernel, source, nodes))
            if not kernel.skipped and not impossible and not is_refused:
                return Lowered(kernel, tuple(nodes), source)
            obstacles = list(dict.fromkeys([*obstacles, *impossible]))
            raise UnsupportedSourceError.of(in_source_order(obstacles, source.file))
        knowledge.kinds = grown


def _walk(kernel: KernelWalk, source: Source, refused: Mapping[str, Obstacle]) -> list[Node]:
    bindings = declare_arguments(kernel, source, refused)
    note(kernel, refused.values())
    try:
        tests = preconditions(source)
    except UnsupportedSourceError as error:
        note(kernel, error.obstacles)
        tests = without_tests(source)
    kernel.preconditions = (*structure_lines(source, kernel.signature, tests.lines), *tests.lines)
    frame = Frame(kernel, source, bindings, [], assigned_names(tests.body))
    meaning = meaning_outside(source, {*frame.assigned, *bindings})
    meaning = meaning_in(bindings, meaning)
    statements = desugared(tests.body, meaning, kernel.fresh, bindings)
    functions = CalledFunctions(kernel.knowledge.raising, kernel.knowledge.writing)
    statements = with_calls_first(statements, meaning, kernel.fresh, functions)
    definition = definition_of(source.function)
    statements = with_items(statements, definition, kernel.knowledge.tuples, frame.bindings.__setitem__)
    statements = with_webs(source.tree, statements, kernel.knowledge.separated.get(definition, ()))
    statements = with_tails_in_branches(statements, source, kernel.knowledge.divided, is_kernel=True)
    if kernel.knowledge.raising:
        kernel.raised = kernel.fresh("raised")
        store_scalar(frame, tests.body[0], kernel.raised, constant(0))
        bindings[RAISED] = ScalarBinding(kernel.raised)
    frame.assigned = assigned_names(statements)
    body = structured(statements, kernel.fresh, partial(is_over_values, frame))
    frame.assigned, frame.exits = assigned_names(body.statements), Exits(body.returned)
    kernel.calls.append(source.function)
    lower_block(frame, body.statements)
    write_back(frame)
    refuse_later_changes(kernel)
    settle_room(frame)
    if not kernel.skipped:
        kernel.result = result_of_kernel(frame)
        if kernel.result is not None and not any(
            performed(frame.nodes)
        ):  # a kernel has a statement, if nothing but this
            store_scalar(frame, body.statements[-1], kernel.fresh("unused"), constant(0))
    for name, kind in kernel.kinds.items():
        kernel.arrays[name] = _scalar(kernel, name, kind.kind)
    return frame.nodes


def _impossible(kernel: KernelWalk, source: Source, nodes: Sequence[Node]) -> Iterator[Obstacle]:
    """Constants that the types they meet cannot hold, and negative powers of integers: only now are all types known."""
    computed: list[tuple[SourceLocation, Any]] = [
        (perform.location, operation) for perform in performed(nodes) for operation in perform.operations
    ]
    computed += [(source.location(source.tree), parameter.source) for parameter in kernel.parameters.values()]
    if kernel.result is not None:
        computed.append((source.location(source.tree.body[-1]), kernel.result))
    for location, computation in computed:
        wrong = complex_numbers.what_is_wrong(computation) or bits.what_is_wrong(computation)
        if wrong is not None:
            yield Obstacle(location, *wrong)
        found = unconvertible(computation)
        is_complex = found is not None and isinstance(found.operand, Constant) and found.operand.dtype == "complex128"
        if found is not None and not is_complex:  # of those it is said above
            yield _unconvertible(location, found)
        if impossible_power(computation) is not None:
            yield Obstacle(
                location,
                "a negative power of a NumPy integer",
                "it is no integer, and NumPy raises an error here",
                "make a float of it first: float(x) ** -2",
            )


def _unconvertible(location: SourceLocation, found: Cast) -> Obstacle:
    assert isinstance(found.operand, Constant)
    value, dtype = found.operand.value, found.dtype
    return Obstacle(
        location,
        f"the constant {value} where {dtype} is computed",
        f"{dtype} holds integers from {np.iinfo(dtype).min} to {np.iinfo(dtype).max}; Python and NumPy raise an "
        "error here",
        "use a float64 array or variable for it"
        + (f", or the greatest or the least integer, as np.iinfo(np.{dtype}).max" if value == value else ""),
    )


def assigned_unused(kernel: KernelWalk, source: Source) -> Perform:
    """Return a statement that assigns a variable which nothing reads, for a kernel that has no other one.

    Args:
        kernel: what is known of it, to which the variable is added.
        source: the kernel's.
    """
    last = source.tree.body[-1]
    name, location = kernel.fresh("unused"), source.location(last)
    variable = Element(name, (), "int64")
    kernel.arrays[name] = Array(name, variable.dtype, ArrayRole.SCALAR, location=location)
    kernel.locations.record(variable, location)
    return Perform((Assign(variable, Constant(0, "int64")),), location, source.segment(last))


def _scalar(kernel: KernelWalk, name: str, kind: ScalarKind) -> Array:
    return Array(
        name, kind.dtype, ArrayRole.SCALAR, initial=kernel.initial.get(name), location=kernel.scalar_locations[name]
    )

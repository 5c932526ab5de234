"""The passes of the frontend in order, from a Python function to a SCoP."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.lowering.lower import Lowered, assigned_unused, lower
from polytune.frontend.lowering.parameters import refused_arguments, replace_parameters
from polytune.frontend.polyhedral.affine import as_index
from polytune.frontend.polyhedral.build import ModelBuilder
from polytune.frontend.polyhedral.equal_extents import with_equal_extents
from polytune.frontend.polyhedral.prune import (
    checked,
    choose_parameters,
    context_of,
    nodes_without_parameters,
    replacements,
    simplified,
    without_parameters,
)
from polytune.frontend.rewrites.checked import check_subscripts, has_tests
from polytune.frontend.rewrites.contraction import with_values_in_variables
from polytune.frontend.rewrites.conversions import with_frozen_conversions
from polytune.frontend.rewrites.forwarding import with_values_passed_on
from polytune.frontend.rewrites.guarded_updates import with_guarded_updates
from polytune.frontend.rewrites.half_precision import lower_half_precision
from polytune.frontend.rewrites.index_copies import with_indices_read_in_place
from polytune.frontend.rewrites.invariant import with_invariants_before_loops
from polytune.frontend.rewrites.partial_reductions import with_partial_reductions
from polytune.frontend.rewrites.powers import choose_powers
from polytune.frontend.rewrites.prechecked import check_before
from polytune.frontend.rewrites.quotients import choose_quotients
from polytune.frontend.rewrites.repeated import without_repetitions
from polytune.frontend.rewrites.sequential_nests import along_rows
from polytune.frontend.rewrites.slice_loops import with_slices_from_their_beginnings
from polytune.frontend.rewrites.unguarded import guards_apart, with_guards, without_needless_guards
from polytune.frontend.scop import ArrayRole, Scop
from polytune.frontend.syntax.source import read_source
from polytune.signature import ArrayType, Signature


def analyse(
    function: Any,
    signature: Signature,
    *,
    strict: bool = False,
    fastmath: frozenset[str] = frozenset(),
    may_end: bool = True,
    lowered: Lowered | None = None,
) -> Scop:
    """The polyhedral model of a Python function, for arguments of the given types.

    All isl objects of one SCoP share an isl context of their own (``scop.context.get_ctx()``).

    Args:
        function: a plain function, or an object whose ``__wrapped__`` is one.
        signature: the types of its arguments, by name and in order.
        strict: whether sums keep their source order, and powers Python's bits.
        fastmath: the flags that ``fastmath`` gives.
        may_end: whether the code of versions may end loops early; else a flag says of each iteration whether it does
            anything.
        lowered: the function as ``lower`` has made it for the same types, and nobody has changed; None where it has to
            be lowered.

    Raises:
        UnsupportedSourceError: the source is outside the language; tells the places, the reasons and remedies of all
            that stands in its way.
        ValueError: the signature names other arguments than the function.
    """
    if lowered is None:
        lowered = lower_function(function, signature, strict=strict, may_end=may_end)
    source, kernel = lowered.source, lowered.kernel
    extents = {place: as_index(extent.expression) for place, extent in kernel.extents.items()}
    prefix, tests = _statement_prefix(kernel), signature.any_subscripts
    model = ModelBuilder(kernel.affine, kernel.locations, extents, prefix, tests, kernel.endings)
    nodes = lower_half_precision(lowered.nodes, kernel)
    nodes = with_invariants_before_loops(without_repetitions(nodes, kernel), kernel)
    nodes, guards = guards_apart(nodes, kernel)
    nodes = with_guards(with_values_passed_on(nodes, kernel), guards)
    nodes = with_values_in_variables(nodes, kernel)
    nodes = with_indices_read_in_place(nodes, kernel)
    nodes = with_slices_from_their_beginnings(nodes, kernel)
    if not strict:
        nodes = with_guarded_updates(without_needless_guards(nodes, kernel), kernel)
        nodes = with_partial_reductions(nodes, kernel)
    nodes, reports = check_subscripts(nodes, kernel, extents)
    layouts = {name: kind.layout for name, kind in signature.arguments if isinstance(kind, ArrayType)}
    nodes = choose_powers([along_rows(node, layouts) for node in nodes], kernel, strict=strict)
    if not strict:
        variables = {name for name, array in kernel.arrays.items() if array.role is ArrayRole.SCALAR}
        outside = (kernel.result, *(array.shape for array in kernel.arrays.values()), *kernel.size_conditions)
        nodes = choose_quotients(nodes, variables, outside)
    if fastmath:
        nodes = with_frozen_conversions(nodes, kernel.locations)
    order = model.build(nodes)
    if order is None and kernel.result is not None:
        # Python computes the result; a kernel has a statement, if nothing but this.
        order = model.build((assigned_unused(kernel, source),))
    if order is None:
        raise source.refusal(
            source.tree,
            f"{source.name} has no statement that is ever executed",
            "there is nothing to compile",
            "assign elements of its array arguments",
        )
    model, order = with_equal_extents(model, order, nodes, kernel)
    parameters = choose_parameters(kernel, model.statements)
    context = context_of(parameters, kernel.affine.context)
    size_conditions = simplified(kernel.size_conditions, context)
    replaced = replacements(kernel, parameters)
    statements, checks = check_before(
        model.statements, kernel.arrays.values(), reports, extents, kernel.affine, context
    )
    is_tested = has_tests(statements)
    return Scop(
        name=source.name,
        signature=signature,
        parameters=parameters,
        context=checked(context, size_conditions),
        arrays=tuple(each for each in kernel.arrays.values() if is_tested or each.role is not ArrayRole.REPORT),
        statements=tuple(without_parameters(statement, replaced) for statement in statements),
        schedule=order.schedule,
        nodes=nodes_without_parameters(order.nodes, replaced),
        loops=tuple(model.loops),
        result=None if kernel.result is None else replace_parameters(kernel.result, replaced),
        location=source.location(source.tree),
        source=source.text,
        strict=strict,
        fastmath=fastmath,
        reports=reports if is_tested else (),
        checks=checks,
        preconditions=kernel.preconditions,
        result_location=source.location(source.tree.body[-1]),
        size_conditions=size_conditions,
        early_ends=tuple(replace(end, start=replace_parameters(end.start, replaced)) for end in model.ends),
    )


def lower_function(function: Any, signature: Signature, *, strict: bool = False, may_end: bool = True) -> Lowered:
    """A Python function as a typed program, with which ``analyse`` goes on.

    Args:
        function: a plain function, or an object whose ``__wrapped__`` is one.
        signature: the types of its arguments, by name and in order.
        strict: whether sums keep their source order.
        may_end: whether the code of versions may end loops early.

    Raises:
        UnsupportedSourceError: the source is outside the language.
        ValueError: the signature names other arguments than the function.
    """
    source = read_source(function)
    refused = refused_arguments(source, signature)
    return lower(source, signature, strict=strict, may_end=may_end, refused=refused)


def _statement_prefix(kernel: KernelWalk) -> str:
    """A prefix for statement names that no array's name begins with as a statement's would."""
    prefix = "S"
    while any(re.fullmatch(rf"{prefix}\d+", name) for name in kernel.arrays):
        prefix += "_"
    return prefix

"""The compiler's stages as text, for ``polytune inspect``."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytune.codegen.loops import Program
from polytune.codegen.module import size_choices, teams_of
from polytune.codegen.python_expressions import expression_text, result_text
from polytune.frontend.expression import Expression
from polytune.frontend.scop import Scop
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.candidate import Candidate


def show_scop(scop: Scop) -> str:
    """Parameters, arrays, and per statement its source, domain and accesses."""
    lines = [f"{scop.name}({scop.signature})", f"context: {scop.context}", "parameters:"]
    for parameter in scop.parameters:
        lines.append(f"  {parameter.name} = {expression_text(parameter.source, compiled=False)}")
    lines.append("arrays:")
    for array in scop.arrays:
        shape = ", ".join(expression_text(extent, compiled=False) for extent in array.shape)
        lines.append(f"  {array.name}: {array.dtype}[{shape}], {array.role.value}")
    lines.append("statements:")
    for statement in scop.statements:
        lines.append(f"  {statement.name}: {statement.location}: {' '.join(statement.text.split())}")
        lines.append(f"    domain: {statement.domain}")
        for access in statement.accesses:
            lines.append(f"    {access.kind.value} {access.reference}: {access.relation}")
        if statement.reduction is not None:
            lines.append(f"    reduction: {statement.reduction.operator}")
    if scop.result is not None:

        def text(node: Expression) -> str:
            return expression_text(node, lambda element: element.array, compiled=False)

        lines.append(f"result: {result_text(scop.result, text, lambda name: name)}")
    return "\n".join(lines)


def show_dependences(dependences: Dependences) -> str:
    """The flow and false dependences of each array, and which are more than there really are."""
    lines = []
    for array in dependences.flow:
        copies = " (each worker may have a copy)" if array in dependences.privatisable else ""
        lines.append(f"{array}{copies}:")
        lines.append(f"  flow: {dependences.flow[array]}")
        lines.append(f"  order: {dependences.order[array]}")
    lines.append(f"reductions: {dependences.reductions}")
    lines += dependences.approximations
    return "\n".join(lines)


def show_schedules(candidates: Sequence[Candidate], given_up: Sequence[str]) -> str:
    """The schedule tree of every candidate, and why others are missing."""
    return "\n".join([*(f"{candidate.name}:\n{show_tree(candidate.schedule)}" for candidate in candidates), *given_up])


def show_tree(schedule: isl.Schedule) -> str:
    """A schedule tree in isl's block style, a node a line."""
    printer = isl.Printer.to_str(schedule.get_ctx()).set_yaml_style(isl.yaml_style.BLOCK)
    return printer.print_schedule(schedule).get_str().rstrip()


def show_space(programs: Sequence[Program]) -> str:
    """The tunable choices, one parameter a line."""
    lines = [f"version: one of {', '.join(program.name for program in programs)}"]
    if teams := teams_of(programs):
        lines.append(f"threads: from 1 to the number of cores, when version is one of {', '.join(teams)}")
    for size in size_choices(programs):
        versions = ", ".join(size.versions)
        lines.append(f"{size.name}: from 1 to {size.most} {size.unit}, by ratio, when version is one of {versions}")
    return "\n".join(lines)

"""The compiler's stages as text, for ``polytune inspect``.

One of them is the kernel as a self-contained C text: its source order as a function, with the helper functions that it
calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import islpy as isl

from polytune.codegen.c_source import CFunction, CRole, c_function
from polytune.codegen.loops import Program
from polytune.codegen.module import size_choices, teams_of
from polytune.codegen.python_expressions import expression_text, result_text
from polytune.frontend.expression import Expression
from polytune.frontend.scop import Scop
from polytune.runtime.devices.arithmetic_text import C_NAMES, FLOAT_CALLS, FLOAT_TEXT, INTEGER_TEXT
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


_FLOATS = {"f32": "f", "f64": ""}
"""The floats of the helper functions, each with the suffix of its functions in the C library."""

_TYPEDEFS = {
    "i32": "int32_t",
    "i64": "int64_t",
    "f32": "float",
    "f64": "double",
    "pt_u32": "uint32_t",
    "pt_u64": "uint64_t",
}
_CONSTANTS = {
    f"PT_{name}_{kind}": f"(({_TYPEDEFS[kind]}){value})"
    for kind in _FLOATS
    for name, value in (("INFINITY", "INFINITY"), ("NAN", "NAN"))
}
_MEMORY = """
PT_FUNCTION void *pt_memory(int64_t count, size_t size)
{
    void *memory = malloc(count > 0 ? (size_t)count * size : 1);
    if (memory == NULL) abort();
    return memory;
}
PT_FUNCTION void *pt_zeros(int64_t count, size_t size)
{
    void *memory = calloc(count > 0 ? (size_t)count : 1, size);
    if (memory == NULL) abort();
    return memory;
}
"""
_WORD = re.compile(r"\b(?:pt|PT)_\w+|\b[if](?:32|64)\b")


def show_c(scop: Scop) -> str:
    """A kernel as C text, with a comment that says what the function takes."""
    return c_text_of(c_function(scop))


def c_text_of(function: CFunction) -> str:
    """The whole text of a C function, a translation unit of its own."""
    needed, definitions = _needed(function.text)
    words = {word for text in (function.text, *definitions) for word in _WORD.findall(text)}
    headers = [f"#include <{header}>" for header in ("math.h", "stddef.h", "stdint.h", "stdlib.h")]
    own = [f"typedef {kind} {name};" for name, kind in _TYPEDEFS.items() if name in words]
    own += [f"#define {name} {value}" for name, value in _CONSTANTS.items() if name in needed]
    parts = [[_comment(function), *headers], own, *([definition] for definition in definitions), [function.text]]
    text = "\n\n".join("\n".join(part) for part in parts if part)
    return text.replace("PT_FUNCTION", "static inline")


def _needed(text: str) -> tuple[set[str], list[str]]:
    """The words of ours in a text and in all that it calls, and the definitions of those that are functions, each
    before it is called."""
    known = _functions()
    needed, frontier = set(), set(_WORD.findall(text))
    while frontier:
        needed |= frontier
        frontier = {word for name in frontier for word in _WORD.findall(known.get(name, ""))} - needed
    return needed, [definition for name, definition in known.items() if name in needed]


def _functions() -> dict[str, str]:
    """Every helper function by its name, in an order in which each comes after those that it calls."""
    parts = [_MEMORY]
    for kind, suffix in _FLOATS.items():
        for name, arity in FLOAT_CALLS.items():
            taken = ("x", "y")[:arity]
            typed = ", ".join(f"{kind} {argument}" for argument in taken)
            call = f"{C_NAMES.get(name, name)}{suffix}({', '.join(taken)})"
            parts.append(f"\nPT_FUNCTION {kind} pt_{name}_{kind}({typed}) {{ return {call}; }}\n")
        parts.append(FLOAT_TEXT.replace("TYPE", kind))
    parts.append(INTEGER_TEXT)
    found = {}
    for definition in re.split(r"\n(?=PT_FUNCTION )", "".join(parts)):
        named = re.search(r"(pt_\w+)\(", definition)
        if named is not None:
            found[named[1]] = definition.strip()
    return found


def _comment(function: CFunction) -> str:
    sentences = {
        CRole.EXTENT: "{name}: the extent of {of} along axis {axis}",
        CRole.STRIDE: "{name}: how many elements are from one to the next along axis {axis} of {of}",
        CRole.SCALAR: "{name}: a number",
        CRole.ARRAY: "{name}: the elements of {of}",
    }
    lines = [
        f" * {sentences[argument.role].format(name=argument.name, of=argument.of, axis=argument.axis)}"
        for argument in function.arguments
    ]
    return "\n".join([f"/* {function.name}, written by polytune from the source order of its loops.", *lines, " */"])

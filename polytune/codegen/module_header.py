"""The beginning of a generated module: what it is, and what its text imports."""

from __future__ import annotations

from collections.abc import Sequence

from polytune.codegen.loops import Program
from polytune.codegen.names import Namespace, builtin_names
from polytune.codegen.source_writer import SourceWriter
from polytune.codegen.statement_source import has_library_call
from polytune.draws import MAKING
from polytune.fastmath import OF_EVERY_KERNEL
from polytune.frontend.expression import Binary, Call, Cast, LibraryCall, Power, walk
from polytune.frontend.generated_names import generated
from polytune.frontend.polyhedral.bounds import BoundsCondition
from polytune.frontend.polyhedral.unassigned import UnassignedRead
from polytune.frontend.results import raised_errors
from polytune.frontend.scop import ArrayRole, Scop
from polytune.signature import COMPLEX_TYPES
from polytune.version import __version__

VECTOR_OPERATIONS = (
    "between",
    "lane_sum",
    "load",
    "load_masked",
    "misalignment",
    "prefetch",
    "select",
    "shifted",
    "splat",
    "store",
    "store_masked",
)
"""The names that modules with vectors import from ``polytune.runtime.intrinsics.vectors``."""

APART_OPERATIONS = ("load_apart", "load_apart_masked", "store_apart", "store_apart_masked")
"""The names that modules with such vectors import from ``polytune.runtime.intrinsics.vectors_apart``."""


def _of_versions(programs: Sequence[Program], namespace: Namespace) -> str:
    """The imports of what versions do as teams, with sums of workers and with vectors."""
    lines = []
    if any(program.has_sums for program in programs):
        names = _imported(namespace, "complete_all", "enter", "leave", "pieces")
        lines.append(f"from polytune.runtime.intrinsics.private_sums import {names}\n")
    lines.append(f"from polytune.runtime.teams.team import {_imported(namespace, 'claim', 'complete', 'wait')}\n")
    if any(program.flags for program in programs):
        lines.append(f"from polytune.runtime.intrinsics.early_ends import {_imported(namespace, 'has_ended')}\n")
    if any(program.has_vectors for program in programs):
        lines.append(f"from polytune.runtime.intrinsics.vectors import {_imported(namespace, *VECTOR_OPERATIONS)}\n")
    if any(program.has_vectors_apart for program in programs):
        lines.append(
            f"from polytune.runtime.intrinsics.vectors_apart import {_imported(namespace, *APART_OPERATIONS)}\n"
        )
    return "".join(lines)


def _arithmetic(scop: Scop) -> list[str]:
    """Return what versions use of ``polytune.runtime.intrinsics.arithmetic``."""
    # Bounds, checks and subscripts that passes make have these too.
    names = ["floor_quotient", "greatest", "least", "quotient", "remainder"]
    nodes = [node for statement in scop.statements for operation in statement.operations for node in walk(operation)]
    if any(isinstance(node, Power) for node in nodes):
        names.append("power")
    functions = {node.function for node in nodes if isinstance(node, Call)}
    names += [name for function, name in (("pow", "library_pow"), ("rounded", "rounded")) if function in functions]
    shifts = {"<<": "shifted_left", ">>": "shifted_right"}
    used = {node.operator for node in nodes if isinstance(node, Binary)}
    names += [shift for operator, shift in shifts.items() if operator in used]
    if any(isinstance(node, Cast) and node.is_frozen for node in nodes):
        names.append("frozen")
    if any(isinstance(node, Binary) and node.operator == "/" and node.dtype in COMPLEX_TYPES for node in nodes):
        names.append("complex_quotient")
    return names


def _of_half_precision(scop: Scop, namespace: Namespace) -> str:
    """The import of the conversions of float16."""
    nodes = (node for statement in scop.statements for operation in statement.operations for node in walk(operation))
    called = {node.function for node in nodes if isinstance(node, Call)}
    used = [name for name in ("half_bits", "half_rounded", "half_value") if name in called]
    return f"from polytune.runtime.intrinsics.half_precision import {_imported(namespace, *used)}\n" if used else ""


def _of_local_arrays(scop: Scop, namespace: Namespace) -> str:
    """The import of the memory of local arrays."""
    makers = {ArrayRole.LOCAL: "local_array", ArrayRole.RESULT: "result_array"}
    used = [maker for role, maker in makers.items() if any(array.role is role for array in scop.arrays)]
    return f"from polytune.runtime.teams.local_arrays import {_imported(namespace, *used)}\n" if used else ""


def _of_library(scop: Scop, programs: Sequence[Program], namespace: Namespace) -> str:
    """The import of what calls NumPy."""
    names = _imported(namespace, "call_library", "has_failed", "library_error", "memory_of")
    lines = f"from polytune.runtime.intrinsics.library import {names}\n" if calls_library(scop, programs) else ""
    if made_generators(scop):
        lines += f"from polytune.runtime.draws.states import {_imported(namespace, 'release_generator')}\n"
    return lines


def _errors(scop: Scop, conditions: Sequence[BoundsCondition | UnassignedRead]) -> list[str]:
    """Return which classes of errors the checks of calls raise, and what these are told."""
    names = ["ArgumentError", "SourceLocation"]
    if any(isinstance(condition, BoundsCondition) and not condition.is_of_uncommon for condition in conditions):
        names.append("BoundsError")
    if any(not condition.is_of_sizes for condition in scop.size_conditions):
        names.append("IntegerRangeError")
    if any(isinstance(condition, UnassignedRead) for condition in conditions):
        names.append("UnassignedVariableError")
    if any(isinstance(condition, BoundsCondition) and condition.is_of_uncommon for condition in conditions):
        names.append("UncommonSubscriptError")
    if scop.reports:
        names.append("found_late")
    return names


def _options(scop: Scop) -> str:
    """The options with which Numba compiles."""
    # Not "reassoc" unless the kernel has it: that is free to take (x + e) - x for e.  The translation says it of the
    # updates of sums alone.
    flags = ", ".join(f'"{flag}"' for flag in sorted(OF_EVERY_KERNEL | scop.fastmath))
    fastmath = "" if scop.strict else f", fastmath={{{flags}}}"
    return f'dict(error_model="numpy", nogil=True{fastmath})'


def _of_errors(scop: Scop, namespace: Namespace) -> str:
    """The import of what raises exceptions."""
    names = _imported(namespace, "raised")
    return f"from polytune.runtime.calls.raising import {names}\n" if raised_errors(scop.result) else ""


def _of_index_checks(scop: Scop, namespace: Namespace) -> str:
    """The import of what tests index arrays."""
    return (
        f"from polytune.runtime.intrinsics.subscripts import {_imported(namespace, 'require_range')}\n"
        if scop.checks
        else ""
    )


def header_text(
    scop: Scop,
    programs: Sequence[Program],
    conditions: Sequence[BoundsCondition | UnassignedRead],
    namespace: Namespace,
    *,
    partitioned: bool,
) -> str:
    """The text of a module before its first function.

    Args:
        scop: the kernel.
        programs: the versions that the module has.
        conditions: those under which it refuses calls.
        namespace: the spellings of names in it.
        partitioned: whether it has a version that is shared among platforms.
    """
    parts = (
        "from polytune.runtime.partitioned.description import DeviceCode, Part, Partitioned\n" if partitioned else ""
    )
    teams = _of_versions(programs, namespace)
    of_checks = _of_errors(scop, namespace) + _of_index_checks(scop, namespace)
    of_elements = (
        _of_half_precision(scop, namespace) + _of_library(scop, programs, namespace) + _of_local_arrays(scop, namespace)
    )
    views = _imported(namespace, "keep_alive", "one_by_one", "view")
    header = f'''"""{scop.name}, compiled by polytune {__version__} from {scop.location}

for ({scop.signature}){", strict" if scop.strict else ", fastmath" if scop.fastmath else ""}.
"""

import {_as("math", namespace, "math")}

import {_as("numpy", namespace, "np")}
from numba import {_imported(namespace, "njit")}

from polytune.errors import {_imported(namespace, *_errors(scop, conditions))}
from polytune.runtime.intrinsics.arithmetic import {_imported(namespace, *_arithmetic(scop))}
from polytune.runtime.modules.compilation import keeps_code
from polytune.runtime.teams.context import {_imported(namespace, "attach", "integer", "number")}
{of_elements}from polytune.runtime.intrinsics.memory import {views}
{parts}{of_checks}{teams}from polytune.runtime.teams.threads import current_threads
from polytune.runtime.version import Version
from polytune.signature import ArrayType, ScalarType, Signature
from polytune.tuner import Integer, Is, Nominal, Space

{namespace.spelling(generated("CACHE"))} = keeps_code(__file__)
{namespace.spelling(generated("OPTIONS"))} = {_options(scop)}
'''
    writer = SourceWriter()
    for line in header.splitlines():
        writer.line(line.replace("\\", "\\\\"))
    for builtin, spelling in builtin_names(namespace):
        writer.line(f"{spelling} = {builtin}")
    writer.line()
    writer.line()
    return writer.text()


def _imported(namespace: Namespace, *names: str) -> str:
    return ", ".join(_as(name, namespace, name) for name in names)


def _as(name: str, namespace: Namespace, wanted: str) -> str:
    """Return what an import statement has for a name, under the spelling that it has in the module."""
    spelling = namespace.spelling(generated(wanted))
    return name if spelling == name else f"{name} as {spelling}"


def made_generators(scop: Scop) -> list[str]:
    """The arrays in which the addresses of generators of random numbers are that a kernel makes."""
    nodes = (node for statement in scop.statements for operation in statement.operations for node in walk(operation))
    calls = (node for node in nodes if isinstance(node, LibraryCall) and node.function.partition(" ")[0] == MAKING)
    return list(dict.fromkeys(call.results[0].element.array for call in calls))


def calls_library(scop: Scop, programs: Sequence[Program]) -> bool:
    """Return whether statements of a kernel, or of a version of it, call NumPy."""
    operations = (operation for statement in scop.statements for operation in statement.operations)
    return any(map(has_library_call, operations)) or any(
        has_library_call(region.body) for program in programs for region in program.regions
    )

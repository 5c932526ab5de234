"""One generated module per kernel and type signature: every version, the argument checks, the counts, and the space,
with the one list of the sizes that can be chosen of versions for the processor.
"""

from __future__ import annotations

from collections.abc import Sequence

from polytune.codegen.checks import (
    integers_of_numpy,
    report_text,
    write_checks,
    write_index_checks,
    write_integers,
)
from polytune.codegen.loops import LARGEST_TILE, MOST_INNER_TILES, Program
from polytune.codegen.module_header import calls_library, header_text, made_generators
from polytune.codegen.names import module_namespace
from polytune.codegen.numba_source import write_version
from polytune.codegen.partitioned import PartitionedProgram, write_partitioned
from polytune.codegen.python_expressions import expression_text, result_text
from polytune.codegen.source_writer import SourceWriter
from polytune.codegen.storage import array_types, dynamic_axes, scratch_name, storage_of
from polytune.codegen.work import write_works
from polytune.frontend.expression import Constant, Element, Expression, Extent
from polytune.frontend.generated_names import MARK, REPORT, generated
from polytune.frontend.polyhedral.bounds import BoundsCondition
from polytune.frontend.polyhedral.unassigned import UnassignedRead
from polytune.frontend.results import ReturnedArray, ReturnedTuple, imports_of
from polytune.frontend.scop import Array, ArrayRole, Scop
from polytune.records import dataclass
from polytune.schedule.counting.counts import Counts

__all__ = ["size_choices", "teams_of"]


def write_module(
    scop: Scop,
    programs: Sequence[Program],
    conditions: Sequence[BoundsCondition | UnassignedRead],
    counts: Counts,
    partitioned: PartitionedProgram | None = None,
    *,
    describes_memory: bool = False,
) -> str:
    """The text of the generated module.

    It needs numpy, numba and ``polytune.runtime`` / ``polytune.tuner`` alone.

    Args:
        scop: the kernel.
        programs: its versions, the most promising first.
        conditions: when an access is out of range, or a variable is read that nothing has assigned.
        counts: what the kernel computes and touches.
        partitioned: the version that is shared among platforms; None where there is none.
        describes_memory: whether it says what memory the kernel makes, for those who make parts of that themselves.
    """
    namespace = module_namespace(scop)
    writer = SourceWriter()
    of_parts = () if partitioned is None else tuple(part.program for part in partitioned.parts)
    part_words = 0 if partitioned is None else partitioned.part_words
    written = (*programs, *of_parts)
    nested = {program.function for program in programs if program.outer}
    for program in written:
        if not program.shares:
            write_version(writer, program, scop, part_words, is_nested=program.name in nested)
    _write_preconditions(writer, scop)
    _write_parameters(writer, scop)
    write_checks(writer, scop, conditions)
    write_index_checks(writer, scop)
    _write_constants(writer, scop)
    _write_scratch(writer, scop)
    if describes_memory:
        _write_memory(writer, scop)
    _write_words(writer, scop)
    _write_result(writer, scop)
    _write_verification(writer, scop, written)
    _write_counts(writer, counts)
    if partitioned is not None:
        write_partitioned(writer, partitioned, scop)
    write_works(writer, programs, scop)
    _write_tables(writer, scop, programs)
    text = namespace.finish(writer.text())
    return header_text(scop, written, conditions, namespace, partitioned=partitioned is not None) + text


def _arguments(scop: Scop) -> list[str]:
    return [name for name, _ in scop.signature.arguments]


def _write_preconditions(writer: SourceWriter, scop: Scop) -> None:
    if not scop.preconditions:
        return
    with writer.indented(f"def require({', '.join(_arguments(scop))}):"):
        writer.line('"""Raise what the kernel raises before anything else."""')
        for line in scop.preconditions:
            writer.line(line.replace(MARK, "\\x24"))  # in literals of text alone
    writer.line()
    writer.line()


def _write_parameters(writer: SourceWriter, scop: Scop) -> None:
    with writer.indented(f"def parameters({', '.join(_arguments(scop))}):"):
        writer.line('"""The integers that everything else is a function of."""')
        own = integers_of_numpy(scop)
        names = []
        for parameter in scop.parameters:
            text = expression_text(parameter.source, compiled=False)
            if text != parameter.name:
                writer.line(f"{parameter.name} = {text}")
            is_own = parameter.name in own or not (text == parameter.name or isinstance(parameter.source, Extent))
            names.append(f"{MARK}int({parameter.name})" if is_own else parameter.name)
        writer.line(f"return ({''.join(f'{name}, ' for name in names)})")
    writer.line()
    writer.line()


def _write_scratch(writer: SourceWriter, scop: Scop) -> None:
    storage = storage_of(scop)
    with writer.indented(f"def scratch({', '.join(_with_parameters(scop))}):"):
        writer.line('"""Memory for local arrays and for scalars that workers share, for one call."""')
        write_integers(writer, scop)
        for name in storage.scratch:
            array = scop.array(name)
            memory = constant_name(name) if array.role is ArrayRole.CONSTANT else _allocation(array)
            writer.line(f"{scratch_name(name)} = {memory}")
        writer.line(f"return ({''.join(f'{scratch_name(name)}, ' for name in storage.scratch)})")
    writer.line()
    writer.line()


def constant_name(array: str) -> str:
    """The name of the memory of a constant array, which all calls use."""
    return generated("constant", array)


def _write_constants(writer: SourceWriter, scop: Scop) -> None:
    arrays = [array for array in scop.arrays if array.role is ArrayRole.CONSTANT]
    for array in arrays:
        values = ", ".join(expression_text(Constant(value, array.dtype), compiled=False) for value in array.values)
        shape = ", ".join(expression_text(extent, compiled=False) for extent in array.shape)
        made = f"{MARK}np.array([{values}], {MARK}np.{array.dtype}).reshape({shape})"
        writer.line(f"{constant_name(array.name)} = {made}")
    if arrays:
        writer.line()
        writer.line()


def _allocation(array: Array) -> str:
    if not array.shape:
        if array.initial is not None:
            return f"{MARK}np.full(1, {array.initial}, {MARK}np.{array.dtype})"
        return f"{MARK}np.zeros(1, {MARK}np.{array.dtype})"
    shape = ", ".join(f"{MARK}max(0, {expression_text(extent, compiled=False)})" for extent in array.shape)
    zeroed = ", zeroed=True" if array.zeroed else ""
    if array.role is ArrayRole.RESULT:
        return f"{MARK}result_array(({shape},), {MARK}np.{array.dtype}{zeroed})"
    return f"{MARK}local_array(({shape},), {MARK}np.{array.dtype}{zeroed})"


def _write_memory(writer: SourceWriter, scop: Scop) -> None:
    """Write a function that says what ``scratch`` makes, without making it: per array its shape, dtype and what all of
    its elements begin with, or the constant array that it is."""
    with writer.indented(f"def memory({', '.join(_with_parameters(scop))}):"):
        writer.line('"""The shape, dtype and first value of each local array and shared scalar."""')
        write_integers(writer, scop)
        writer.line(f"{MARK}described = []")
        for name in storage_of(scop).scratch:
            array = scop.array(name)
            if array.role is ArrayRole.CONSTANT:
                described = f"{constant_name(name)}.shape, {array.dtype!r}, {constant_name(name)}"
            else:
                extents = (f"{MARK}max(0, {expression_text(extent, compiled=False)}), " for extent in array.shape)
                described = f"({''.join(extents) or '1, '}), {array.dtype!r}, {array.initial or 0}"
            writer.line(f"{MARK}described.append(({described}))")
        writer.line(f"return {MARK}described")
    writer.line()
    writer.line()


def _write_words(writer: SourceWriter, scop: Scop) -> None:
    """Write what a context holds of arrays and scalars, see ``polytune.runtime.teams.context``."""
    storage = storage_of(scop)
    words = []
    for name, kind in array_types(storage, scop).items():
        value = name if name in storage.arrays else scratch_name(name)
        words.append(f'{value}.__array_interface__["data"][0]')
        words += [f"{value}.strides[{axis}]" for axis in dynamic_axes(kind)]
    words += [f"{name} * 1" if scop.signature[name].dtype == "bool" else name for name in storage.scalars]
    names = [*_arguments(scop), *map(scratch_name, storage.scratch)]
    with writer.indented(f"def words({', '.join(names)}):"):
        writer.line('"""Addresses and strides of the arrays, and the scalars, as versions take them."""')
        with writer.indented("return ("):
            for word in words:
                writer.line(f"{word},")
        writer.line(")")
    writer.line()
    writer.line()


def _write_result(writer: SourceWriter, scop: Scop) -> None:
    if scop.result is None:
        return
    names = [*_with_parameters(scop), *map(scratch_name, storage_of(scop).scratch)]

    def text(node: Expression) -> str:
        return expression_text(node, lambda element: f"{scratch_name(element.array)}[0]", compiled=False)

    with writer.indented(f"def result({', '.join(names)}):"):
        writer.line('"""What the kernel returns."""')
        for line in imports_of(scop.result):
            writer.line(line.replace(MARK, "\\x24"))
        writer.line(f"return {result_text(scop.result, text, lambda name: _memory_name(scop, name))}")
    writer.line()
    writer.line()


def _write_verification(writer: SourceWriter, scop: Scop, programs: Sequence[Program]) -> None:
    """Write what raises the error of a subscript that was out of range while the kernel ran."""
    if not any(array.role is ArrayRole.REPORT for array in scop.arrays):
        return
    with writer.indented(f"def verify({', '.join(map(scratch_name, storage_of(scop).scratch))}):"):
        writer.line('"""Raise what has failed: where a subscript was out of range, or what NumPy has raised."""')
        for name in made_generators(scop):
            writer.line(f"{MARK}release_generator({scratch_name(name)})")
        if calls_library(scop, programs):
            with writer.indented(f"if {scratch_name(REPORT)}[0] < 0:"):
                writer.line(f"raise {MARK}library_error({scratch_name(REPORT)})")
        if scop.reports:
            with writer.indented(f"if {scratch_name(REPORT)}[0]:"):
                found = f"{MARK}REPORTS[{scratch_name(REPORT)}[0] - 1]"
                writer.line(f"raise {MARK}found_late(*{found})")
    writer.line()
    writer.line()
    if not scop.reports:
        return
    with writer.indented(f"{MARK}REPORTS = ("):
        for report in scop.reports:
            writer.line(f"{report_text(report)},")
    writer.line(")")
    writer.line()
    writer.line()


def _memory_name(scop: Scop, name: str) -> str:
    """Return what an array is called beside a call's arguments."""
    return name if scop.array(name).role is ArrayRole.ARGUMENT else scratch_name(name)


def _with_parameters(scop: Scop) -> list[str]:
    return [*_arguments(scop), *(p.name for p in scop.parameters if p.name not in _arguments(scop))]


def _write_counts(writer: SourceWriter, counts: Counts) -> None:
    for line in counts.python().splitlines():
        writer.line(line)
    writer.line()
    writer.line()


def _write_tables(writer: SourceWriter, scop: Scop, programs: Sequence[Program]) -> None:
    storage = storage_of(scop)
    written = {access.array for statement in scop.statements for access in statement.accesses if access.is_write}
    writer.line(f"NAME = {scop.name!r}")
    writer.line(f"STRICT = {scop.strict}")
    if scop.signature.arguments:
        with writer.indented("SIGNATURE = Signature(("):
            for name, kind in scop.signature.arguments:
                writer.line(f"({name!r}, {kind!r}),")
        writer.line("))")
    else:
        writer.line("SIGNATURE = Signature(())")
    writer.line(f"ARGUMENTS = {tuple(_arguments(scop))!r}")
    writer.line(f"ARRAYS = {storage.arrays!r}")
    kinds = array_types(storage, scop)
    writer.line(f"MEMORY = {tuple(str(kinds[name]) for name in storage.memory)!r}")
    writer.line(f"WRITTEN = {tuple(name for name in storage.arrays if name in written)!r}")
    writer.line(f"INDEXES = {tuple(dict.fromkeys(check.array for check in scop.checks))!r}")
    writer.line(f"SCALARS = {storage.scalars!r}")
    writer.line(f"SCRATCH = {storage.scratch!r}")
    kept = (ArrayRole.RESULT, ArrayRole.CONSTANT)
    returned = (array.name for array in scop.arrays if array.role is ArrayRole.RESULT)
    writer.line(f"RETURNED = {tuple(returned)!r}")
    writer.line(f"RETURNS = {_returned_whole(scop)!r}")
    report = next((array.name for array in scop.arrays if array.role is ArrayRole.REPORT), None)
    # Generators are released after each run, whatever it reports.
    writer.line(f"REPORT = {None if made_generators(scop) else report!r}")
    writer.line(f"ZEROED = {tuple(array.name for array in scop.arrays if array.zeroed)!r}")
    writer.line(f"KEPT = {tuple(array.name for array in scop.arrays if array.role in kept)!r}")
    writer.line(f"PARAMETERS = {storage.parameters!r}")
    writer.line(f"LOOPS = {max((len(statement.iterators) for statement in scop.statements), default=0)}")
    if not programs:
        writer.line("VERSIONS = ()")
        return
    _write_versions(writer, programs)
    _write_space(writer, programs)


def _returned_whole(scop: Scop) -> str | tuple[str, ...] | None:
    """Return the array that the kernel makes and returns, or the variable, ``"total[0]"``, or those in the tuple that
    it returns; None where it returns something else."""
    made = {array.name for array in scop.arrays if array.role is ArrayRole.RESULT}
    items = scop.result.items if isinstance(scop.result, ReturnedTuple) else (scop.result,)
    if isinstance(scop.result, ReturnedTuple) and (scop.result.kind != "" or scop.result.is_list):
        return None
    names: list[str] = []
    for item in items:
        match item:
            case ReturnedArray(name) if name in made:
                names.append(name)
            case Element(name, ()) if scop.array(name).role is ArrayRole.SCALAR:
                names.append(f"{name}[0]")
            case _:
                return None
    if not made.issubset(names):
        return None
    return tuple(names) if isinstance(scop.result, ReturnedTuple) else names[0]


def _write_versions(writer: SourceWriter, programs: Sequence[Program]) -> None:
    with writer.indented("VERSIONS = ("):
        for program in programs:
            function = f"{MARK}run_{program.function}"
            outer = f", outer={program.outer!r}" if program.outer else ""
            by_library = ", by_library=True" if program.has_products else ""
            writer.line(
                f"Version({program.name!r}, {function}, team={program.team}, tiles={program.tiles!r}{outer}, "
                f"work={MARK}work_{program.name}{by_library}),"
            )
    writer.line(")")
    writer.line()
    writer.line()


def _write_space(writer: SourceWriter, programs: Sequence[Program]) -> None:
    with writer.indented("def space():"):
        writer.line('"""Every choice that there is for calls from this thread."""')
        names = [program.name for program in programs]
        writer.line("threads = current_threads()")
        with writer.indented("return Space(["):
            writer.line(f'Nominal("version", {tuple(names)!r}),')
            if teams := teams_of(programs):
                condition = ", ".join(map(repr, teams))
                writer.line(f'Integer("threads", 1, threads, default=threads, when=Is("version", {condition})),')
            for size in size_choices(programs):
                condition = ", ".join(map(repr, size.versions))
                writer.line(f'Integer("{size.name}", 1, {size.most}, logarithmic=True, default={size.first},')
                writer.line(f'        when=Is("version", {condition})),')
        writer.line("])")


@dataclass(frozen=True)
class SizeChoice:
    """A size that versions take as an argument, from 1 on, where ratios count and not differences.

    Attributes:
        name: the parameter's.
        most: the largest.
        first: where the search begins.
        versions: the versions that take it.
        unit: what it counts, in words.
    """

    name: str
    most: int
    first: int
    versions: tuple[str, ...]
    unit: str


def teams_of(programs: Sequence[Program]) -> tuple[str, ...]:
    """The versions that are shared out among threads, of which the number is chosen too."""
    return tuple(program.name for program in programs if program.team)


def size_choices(programs: Sequence[Program]) -> tuple[SizeChoice, ...]:
    """The sizes of tiles, and then of outer tiles, member by member.

    Args:
        programs: the versions, the most promising first: where a search begins, it says.
    """
    found = []
    for member in range(max((program.tile_depth for program in programs), default=0)):
        tiled = [program for program in programs if program.tile_depth > member]
        names = tuple(program.name for program in tiled)
        found.append(SizeChoice(f"tile_{member}", LARGEST_TILE, tiled[0].tiles[member], names, "iterations"))
    for member in range(max((len(program.outer) for program in programs), default=0)):
        nested = [program for program in programs if len(program.outer) > member]
        names = tuple(program.name for program in nested)
        found.append(SizeChoice(f"outer_{member}", MOST_INNER_TILES, nested[0].outer[member], names, "tiles"))
    return tuple(found)

"""The source order of a kernel as one C99 function, for people to read and for other compilers to compile.

It is printed from the loop IR, by the same expressions as device text, so it calls the same helper functions
(``polytune.runtime.devices.arithmetic_text``), which are not part of what is written here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import assert_never

from polytune.codegen.ast_conversion import convert_node
from polytune.codegen.device.c_expressions import Context, c_name, c_text
from polytune.codegen.loops import Block, Compute, For, If, Let, Node, Prefetch, RegionCall, Store, walk_nodes
from polytune.codegen.names import Namespace
from polytune.codegen.source_loops import source_loops
from polytune.codegen.source_writer import CWriter
from polytune.codegen.storage import storage_of
from polytune.codegen.tiles.windows import WindowNames, ast_build, loops_of_schedule, schedule_depth
from polytune.errors import CompilationError, PolytuneError, UnprovenError
from polytune.frontend.expression import (
    Argument,
    Assign,
    Branch,
    Break,
    Checked,
    Continue,
    Element,
    Expression,
    Extent,
    LibraryCall,
    Loop,
    Operation,
    While,
    walk,
)
from polytune.frontend.results import (
    ReturnedArray,
    ReturnedChoice,
    ReturnedError,
    ReturnedList,
    ReturnedPart,
    ReturnedTuple,
)
from polytune.frontend.scop import Array, ArrayRole, Scop
from polytune.records import dataclass
from polytune.signature import ArrayType, ScalarType

TYPES = {"int32": "int32_t", "int64": "int64_t", "float32": "float", "float64": "double", "bool": "int"}
"""The C names of the element types."""

# fmt: off
RESERVED = frozenset((
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm",
    "typeof", "int32_t", "int64_t", "size_t", "i32", "i64", "f32", "f64", "free", "abort", "linux", "unix",
    "signbit", "isnan", "isinf", "isfinite", "isnormal", "fpclassify", "isgreater", "isless", "isunordered",
    "islessgreater", "isgreaterequal", "islessequal",
))
# fmt: on
"""Words of C, and what the text itself and its headers define, that begin with a lower-case letter."""

_PLAIN = re.compile(r"[a-zA-Z]\w*", re.ASCII)


class CRole(Enum):
    """The role of an argument of the C function: how long or how far apart an array's elements are along an axis, a
    number, or the first element of an array."""

    EXTENT = "extent"
    STRIDE = "stride"
    SCALAR = "scalar"
    ARRAY = "array"


@dataclass(frozen=True)
class CArgument:
    """An argument of the C function.

    Attributes:
        name: its name in the text.
        dtype: of the number, or of the array's elements.
        role: what it is; a stride is counted in elements.
        of: the argument of the kernel that it comes from.
        axis: of an extent or a stride, along which axis.
    """

    name: str
    dtype: str
    role: CRole
    of: str
    axis: int = 0


@dataclass(frozen=True)
class CFunction:
    """A kernel as a C function.

    Attributes:
        name: the function's.
        arguments: what it takes, in order: extents and strides, then numbers, then arrays.
        result: the dtype of what it returns; None for nothing.
        text: its definition, without the helper functions that it calls.
    """

    name: str
    arguments: tuple[CArgument, ...]
    result: str | None
    text: str


def source_order(scop: Scop) -> Node:
    """The loops of a kernel in source order, untiled, in the loop IR: isl's, or where those are not proven, the
    source's own."""
    names = WindowNames()
    build = ast_build(scop.context, names, schedule_depth(scop.schedule.get_root()))
    try:
        return convert_node(loops_of_schedule(build, scop.schedule), scop)
    except UnprovenError:
        return source_loops(scop)


def c_function(
    scop: Scop, *, marked: bool = False, constants: Mapping[str, int] | None = None, restrict: bool = True
) -> CFunction:
    """A kernel's source order as a C function.

    Arrays are passed as C99 has them, ``double A[restrict n][m]``; one in Fortran order with its axes reversed, and
    one of any strides as a pointer, with a stride for each axis.

    Args:
        scop: the kernel.
        marked: whether ``#pragma scop`` and ``#pragma endscop`` stand around the loops, as polyhedral compilers for C
            want it, with the loop variables declared before.
        constants: values of arguments that are integers, by their names in C, for a function of these sizes alone; it
            does not take them.
        restrict: whether the text says that arrays do not overlap.

    Raises:
        PolytuneError: the kernel returns something else than a number, or works on other types than these functions.
    """
    other = next((array for array in scop.arrays if array.dtype not in TYPES or array.dtype == "bool"), None)
    if other is not None:
        raise PolytuneError(
            f"{scop.name} works on {other.name!r}, an array of {other.dtype}; kernels of int32, int64, "
            "float32 and float64 can be printed as C"
        )
    if isinstance(
        scop.result, ReturnedArray | ReturnedPart | ReturnedList | ReturnedTuple | ReturnedChoice | ReturnedError
    ):
        raise PolytuneError(
            f"{scop.name} returns arrays or several values, and functions in C return one number: print it as C with "
            "arrays as arguments that take what it returns"
        )
    return _FunctionWriter(scop, marked, constants or {}, "restrict " if restrict else "").write()


@dataclass(frozen=True)
class _CPlace(Context):
    """Names as they are in the source where C allows it."""

    names: dict[str, str] = field(default_factory=dict)
    extents: dict[tuple[str, int], str] = field(default_factory=dict)

    def name(self, name: str) -> str:
        return self.names.get(name, name)

    def extent(self, array: str, dimension: int) -> str:
        return self.extents[array, dimension]

    def type_name(self, dtype: str) -> str:
        return TYPES[dtype]


class _FunctionWriter:
    def __init__(self, scop: Scop, marked: bool, constants: Mapping[str, int], restrict: str):
        self.scop, self.marked, self.restrict = scop, marked, restrict
        self.storage = storage_of(scop)
        self.writer = CWriter()
        self.body = source_order(scop)
        self.loops = list(dict.fromkeys(part.variable for part in walk_nodes(self.body) if isinstance(part, For)))
        self.names = Namespace(words=RESERVED)
        self.loop_names = {name: self.names.spelling(name) for name in self.loops}
        self.arrays = {array.name: self.unique(array.name) for array in scop.arrays}
        self.counters = {counter: self.unique(counter) for counter in _counters(scop)}
        self.parameters = {parameter.name: self.unique(parameter.name) for parameter in scop.parameters}
        # What the kernel assigns to is a variable, whatever it starts as.
        variables = self.arrays.values()
        self.constants = {name: value for name, value in constants.items() if name not in variables}
        # A parameter that is an argument, or the extent of an array, is not computed but passed under its name.
        sources = {parameter.source: self.parameters[parameter.name] for parameter in reversed(scop.parameters)}
        self.scalars = {
            name: sources.get(Argument(name, kind.dtype)) or self.scalar_name(name, kind)
            for name, kind in scop.signature.arguments
            if isinstance(kind, ScalarType)
        }
        axes = [(name, axis) for name in self.storage.arrays for axis in range(scop.array(name).ndim)]
        self.extents = {
            place: sources.get(Extent(*place)) or self.unique("{}_extent_{}".format(*place)) for place in axes
        }
        strided = [place for place in axes if self.layout(place[0]) == "A"]
        self.strides = {place: self.unique("{}_stride_{}".format(*place)) for place in strided}

    # Names

    def unique(self, name: str) -> str:
        """A name that is no word of C and that nothing else has."""
        macro = name.isupper() and len(name) > 2
        plain = _PLAIN.fullmatch(name) and name not in RESERVED and not macro and not name.startswith("pt_")
        wanted = name if plain else c_name(name)
        return self.names.unique(wanted)

    def scalar_name(self, name: str, kind: ScalarType) -> str:
        """An argument that starts a variable of its own name and type is that variable."""
        variables = [array for array in self.scop.arrays if array.initial == name == array.name]
        if variables and variables[0].dtype == kind.dtype:
            return self.arrays[name]
        return self.unique(name)

    def layout(self, array: str) -> str:
        kind = self.scop.signature[array]
        assert isinstance(kind, ArrayType)
        return kind.layout

    # The function

    def write(self) -> CFunction:
        scop, writer = self.scop, self.writer
        arguments = tuple(argument for argument in self.arguments() if argument.name not in self.constants)
        value = scop.result if isinstance(scop.result, Expression) else None
        result = None if value is None else value.dtype
        name = f"kernel_{scop.name}" if scop.name.isascii() else c_name(scop.name)
        head = f"{'void' if result is None else TYPES[result]} {name}("
        if self.constants:
            writer.line(f"enum {{ {', '.join(f'{name} = {value}' for name, value in self.constants.items())} }};")
        with writer.braces(f"{head}{', '.join(self.declaration(argument) for argument in arguments)})\n"):
            self.declare()
            if self.marked:
                if self.loops:
                    writer.line(f"int64_t {', '.join(self.loop_names.values())};")
                writer.line("#pragma scop")
            self.node(self.body)
            if self.marked:
                writer.line("#pragma endscop")
            if value is not None:
                writer.line(f"const {TYPES[value.dtype]} pt_result = {_bare(self.value(value))};")
            for array in self.local_arrays():
                writer.line(f"free({self.arrays[array.name]});")
            if value is not None:
                writer.line("return pt_result;")
        return CFunction(name, arguments, result, writer.text())

    def arguments(self) -> tuple[CArgument, ...]:
        """Return what the function takes; an extent that is named by two arrays, or that is a number as well, once."""
        found = [CArgument(name, "int64", CRole.EXTENT, *place) for place, name in self.extents.items()]
        found += [CArgument(name, "int64", CRole.STRIDE, *place) for place, name in self.strides.items()]
        for name, kind in self.scop.signature.arguments:
            if isinstance(kind, ScalarType):
                found.append(CArgument(self.scalars[name], kind.dtype, CRole.SCALAR, name))
        for name in self.storage.arrays:
            found.append(CArgument(self.arrays[name], self.scop.array(name).dtype, CRole.ARRAY, name))
        return tuple(found)

    def declaration(self, argument: CArgument) -> str:
        kind = TYPES[argument.dtype]
        if argument.role is not CRole.ARRAY:
            return f"{kind} {argument.name}"
        layout = self.layout(argument.of)
        if layout == "A":
            return f"{kind} *{self.restrict}{argument.name}"
        extents = [self.extents[argument.of, axis] for axis in range(self.scop.array(argument.of).ndim)]
        first, *rest = extents if layout == "C" else reversed(extents)
        return f"{kind} {argument.name}[{self.restrict}{first}]{''.join(f'[{extent}]' for extent in rest)}"

    def local_arrays(self) -> list[Array]:
        return [array for array in self.scop.arrays if array.role is ArrayRole.LOCAL]

    def declare(self) -> None:
        """Declare parameters that are computed, local arrays, and scalars."""
        writer, passed = self.writer, {*self.extents.values(), *self.scalars.values()}
        outside = self.place(index=False, names={**self.parameters, **self.scalars})
        for parameter in self.scop.parameters:
            name = self.parameters[parameter.name]
            if name not in passed:
                writer.line(f"const int64_t {name} = {_bare(c_text(parameter.source, outside))};")
        for array in self.local_arrays():
            kind, name = TYPES[array.dtype], self.arrays[array.name]
            extents = [_bare(self.index(extent)) for extent in array.shape]
            inner = "".join(f"[{extent}]" for extent in extents[1:])
            pointer = f"{kind} (*{self.restrict}{name}){inner}" if inner else f"{kind} *{self.restrict}{name}"
            count = " * ".join(self.index(extent) for extent in array.shape)
            writer.line(f"{pointer} = pt_{'zeros' if array.zeroed else 'memory'}({count}, sizeof({kind}));")
        for array in self.scop.arrays:
            name = self.arrays[array.name]
            if array.ndim or name in self.scalars.values():
                continue
            start = "0" if array.initial is None else self.scalars[array.initial]
            writer.line(f"{TYPES[array.dtype]} {name} = {start};")

    # Loops and statements

    def node(self, node: Node) -> None:
        writer = self.writer
        match node:
            case Block(children):
                for child in children:
                    self.node(child)
            case For(variable, start, stop, step, body):
                kind = "" if self.marked else "int64_t "
                variable = self.loop_names[variable]
                advance = f"{variable}++" if step == 1 else f"{variable} += {step}"
                begin, end = _bare(self.index(start)), _bare(self.index(stop))
                with writer.braces(f"for ({kind}{variable} = {begin}; {variable} < {end}; {advance}) "):
                    self.node(body)
            case If(condition, then, otherwise):
                with writer.braces(f"if ({_bare(self.index(condition))}) "):
                    self.node(then)
                if otherwise is not None:
                    with writer.braces("else "):
                        self.node(otherwise)
            case Compute(operations=operations):
                self.operations(operations)
            case Let() | Store() | Prefetch() | RegionCall():
                raise AssertionError(f"C text has no {type(node).__name__}")
            case _:
                assert_never(node)

    def operations(self, operations: Sequence[Operation]) -> None:
        writer = self.writer
        for operation in operations:
            match operation:
                case Assign(target, value):
                    writer.line(f"{self.element(target)} = {_bare(self.value(value))};")
                case Branch(condition, then, otherwise):
                    with writer.braces(f"if ({_bare(self.value(condition))}) "):
                        self.operations(then)
                    if otherwise:
                        with writer.braces("else "):
                            self.operations(otherwise)
                case Loop(counter, start, stop, step, body):
                    compare, advance = ("<", "+=") if step > 0 else (">", "-=")
                    name = self.counters[counter]
                    # As in Python, the stop is computed once, and the counter is not changed by the body.
                    end = self.names.unique(f"{name}_stop")
                    writer.line(f"const int64_t {end} = {_bare(self.value(stop))};")
                    head = f"int64_t {name} = {_bare(self.value(start))}; {name} {compare} {end}"
                    with writer.braces(f"for ({head}; {name} {advance} {abs(step)}) "):
                        self.operations(body)
                case Break():
                    writer.line("break;")
                case Continue():
                    writer.line("continue;")
                case Checked(violation, _, _, body, _):
                    with writer.braces(f"if ({_bare(self.value(violation))}) "):
                        writer.line("abort();")
                    with writer.braces("else "):
                        self.operations(body)
                case LibraryCall(function):
                    name = function.partition(" ")[0]
                    raise CompilationError(
                        f"{self.scop.name} calls {name}, which NumPy computes, and of which there is no C"
                    )
                case While(condition, body):
                    with writer.braces(f"while ({_bare(self.value(condition))}) "):
                        self.operations(body)

    # Expressions

    def place(self, *, index: bool, names: dict[str, str] | None = None) -> _CPlace:
        names = {**self.scalars, **self.parameters, **self.loop_names, **self.counters} if names is None else names
        return _CPlace(self.element, index=index, names=names, extents=self.extents)

    def value(self, expression: Expression) -> str:
        return c_text(expression, self.place(index=False))

    def index(self, expression: Expression) -> str:
        return c_text(expression, self.place(index=True))

    def element(self, element: Element) -> str:
        name, subscripts = self.arrays[element.array], [self.index(subscript) for subscript in element.subscripts]
        if self.scop.array(element.array).role is ArrayRole.ARGUMENT:
            layout = self.layout(element.array)
            if layout == "A":
                terms = (f"{text} * {self.strides[element.array, axis]}" for axis, text in enumerate(subscripts))
                return f"{name}[{' + '.join(terms)}]"
            if layout == "F":
                subscripts.reverse()
        return name + "".join(f"[{_bare(subscript)}]" for subscript in subscripts)


def _counters(scop: Scop) -> list[str]:
    """The counters of loops inside of statements, each once."""
    operations = (operation for statement in scop.statements for operation in statement.operations)
    loops = (part for operation in operations for part in walk(operation) if isinstance(part, Loop))
    return list(dict.fromkeys(loop.counter for loop in loops))


def _bare(text: str) -> str:
    """The text without parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0 and position < len(text) - 1:
            return text
    return text[1:-1]

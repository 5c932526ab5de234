"""The checks of a call in C, in the order in which Python makes them."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Mapping, Sequence
from types import ModuleType

from polytune.codegen.c_source import RESERVED
from polytune.codegen.source_writer import CWriter
from polytune.errors import SubscriptError
from polytune.shared_library.expressions import C_TYPES, NotInCError, PlainArray, Scalar, Translator, c_string
from polytune.signature import ArrayType, ScalarType

__all__ = ["CallChecks", "ascii_name", "strides_without_gaps"]

_PLAIN = re.compile(r"[a-zA-Z]\w*", re.ASCII)
_STATUS = {
    "ArgumentError": "PT_ARGUMENT",
    "BoundsError": "PT_ARGUMENT",
    "IntegerRangeError": "PT_ARGUMENT",
    "UncommonSubscriptError": "PT_ARGUMENT",
    "UnassignedVariableError": "PT_UNASSIGNED",
}
_WIDE = "the integers that are computed from the arguments before all loops cannot be: too large, or divided by zero"


class CallChecks:
    """Writes what a C function does before the kernel runs.

    Args:
        package: the name of the package, with which the function's begins.
        module: the generated module.
        text: its text.
    """

    def __init__(self, package: str, module: ModuleType, text: str):
        self.package, self.module = package, module
        body = ast.parse(text).body
        self.functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        self.modules = _meanings(body)
        self.taken = {*RESERVED, "bool", "false", "main", "true"}
        self.writer = CWriter()
        self.arguments: list[tuple[str, str]] = []
        """The parameters of the C function: types and names."""
        self.outs: list[tuple[str, str]] = []
        self.wanted: list[tuple[ast.expr, str, str]] = []
        """The values that are returned, with the arguments that take them, and for arrays those that take their
        extents."""
        self.notes: list[str] = []
        self.strides: dict[str, tuple[str, ...]] = {}
        self.names: dict[str, Scalar | PlainArray] = {}
        self.translator = Translator(self.names, self.modules)
        self.declared: list[str] = []
        self.taken_memory: list[tuple[str, str, str]] = []
        """The memory that was taken: its name in Python, in C, and the variable that has its bytes."""

    # Names

    def unique(self, wanted: str) -> str:
        """A name that is no word of C and that nothing else has."""
        may_be_macro = wanted.isupper() and len(wanted) > 2
        is_plain = _PLAIN.fullmatch(wanted) and not wanted.startswith("pt_") and not may_be_macro
        name = wanted if is_plain else f"v_{ascii_name(wanted)}"
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def take_argument(self, name: str, kind: ArrayType | ScalarType) -> None:
        own = self.unique(name)
        element = C_TYPES[kind.dtype]
        if isinstance(kind, ScalarType):
            # Integers of any width are taken as the widest: they are sizes and subscripts, and exact.
            wide = element if kind.dtype not in ("int32", "int64") else "int64_t"
            self.arguments.append((wide, own))
            self.names[name] = Scalar(own, kind.dtype)
            return
        constant = "" if name in self.module.WRITTEN else "const "
        self.arguments.append((f"{constant}{element} *", own))
        extents = tuple(self.unique(f"{name}_extent_{axis}") for axis in range(kind.ndim))
        self.arguments += [("int64_t", extent) for extent in extents]
        array = PlainArray(own, kind.dtype, extents)
        self.names[name] = array
        if kind.layout == "A":
            self.strides[name] = tuple(self.unique(f"{name}_stride_{axis}") for axis in range(kind.ndim))
            self.arguments += [("int64_t", stride) for stride in self.strides[name]]
            how = f"strides in bytes, as NumPy's: {', '.join(self.strides[name])}"
        else:
            self.strides[name] = strides_without_gaps(array, kind.layout)
            how = "in C order, without gaps" if kind.layout == "C" else "in Fortran order, without gaps"
        self.notes.append(f"{own}: {kind.dtype}[{', '.join(extents)}], {how}{'' if constant else '; written'}")
        for axis, extent in kind.extents:
            self.notes.append(f"{extents[axis]}: has to be {extent}")

    # Checks

    def fail(self, status: str, message: Sequence[str] | str) -> None:
        """Write that the call ends with a status and a message, of texts and calls that say a part of it."""
        parts = [f"pt_say({c_string(message)});"] if isinstance(message, str) else message
        self.writer.line(f'pt_status = pt_fail({status}, "");')
        for part in parts:
            self.writer.line(part)
        self.writer.line("goto pt_end;")

    def if_wide(self) -> None:
        with self.writer.braces("if (pt_wide) "):
            self.fail("PT_ARGUMENT", f"{self.module.NAME}: {_WIDE}")

    def check_arguments(self) -> None:
        for name, kind in self.module.SIGNATURE.arguments:
            array = self.names[name]
            if not isinstance(array, PlainArray) or not isinstance(kind, ArrayType):
                continue
            negative = " || ".join(f"{extent} < 0" for extent in array.extents)
            present = " && ".join(f"{extent} > 0" for extent in array.extents)
            with self.writer.braces(f"if ({negative} || ({array.name} == NULL && {present})) "):
                self.fail("PT_ARGUMENT", f"argument '{name}': a null pointer, or a negative extent")
            for axis, extent in kind.extents:
                with self.writer.braces(f"if ({array.extents[axis]} != {extent}) "):
                    self.fail("PT_ARGUMENT", f"argument '{name}': its extent along axis {axis} has to be {extent}")
        if self.outs:
            absent = " || ".join(f"{name} == NULL" for _, name in self.outs)
            with self.writer.braces(f"if ({absent}) "):
                self.fail("PT_ARGUMENT", "a null pointer for a result")

    def write_require(self) -> None:
        function = self.functions.get("require")
        if function is not None:
            known = dict(self.names)
            self.statements(function.body, requirement=True)
            self.names.clear()
            self.names.update(known)

    def write_parameters(self) -> None:
        self.statements(self.functions["parameters"].body)
        self.if_wide()

    def write_check(self) -> None:
        known = dict(self.names)
        self.statements(self.functions["check"].body)
        self.if_wide()
        self.names.clear()
        self.names.update(known)

    def statements(self, body: Sequence[ast.stmt], *, requirement: bool = False) -> None:
        for statement in body:
            self.statement(statement, requirement)

    def statement(self, statement: ast.stmt, requirement: bool) -> None:
        translator, writer = self.translator, self.writer
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Return() | ast.Import() | ast.ImportFrom():
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found = translator.value(value)
                own = self.unique(name)
                self.declared.append(f"{'pt_integer' if found.kind == 'int' else C_TYPES[found.kind]} {own} = 0;")
                writer.line(f"{own} = {found.text};")
                self.names[name] = Scalar(own, "int64" if found.kind == "int" else found.kind)
            case ast.Assert(test=test, msg=message):
                with writer.braces(f"if (!{translator.truth(test)}) "):
                    self.fail("PT_REQUIREMENT", "AssertionError" if message is None else self.message(message))
            case ast.If(test=test, body=then, orelse=otherwise):
                with writer.braces(f"if ({translator.truth(test)}) "):
                    if not requirement:
                        self.if_wide()
                    self.statements(then, requirement=requirement)
                if otherwise:
                    with writer.braces("else "):
                        self.statements(otherwise, requirement=requirement)
            case ast.Raise(exc=ast.Call(func=ast.Name(id=error), args=arguments)):
                status = "PT_REQUIREMENT" if requirement else _STATUS[self.modules[error]]
                self.fail(status, self.message(arguments[0]) if arguments else error)
            case ast.Raise(exc=ast.Name(id=error)) if requirement:
                self.fail("PT_REQUIREMENT", error)
            case _:
                raise NotInCError(ast.unparse(statement).partition("\n")[0])

    def message(self, node: ast.expr) -> list[str]:
        """Return what says a message with the values of the call in it."""
        parts: list[str | ast.expr] = []
        match node:
            case ast.Constant(value=text):
                parts = [str(text)]
            case ast.JoinedStr(values=values):
                for part in values:
                    if isinstance(part, ast.Constant):
                        parts.append(str(part.value))
                    elif isinstance(part, ast.FormattedValue):
                        parts.append(part.value)
            case _:
                parts = [node]
        said: list[str] = []
        for each in parts:
            said.append(f"pt_say({c_string(each)});" if isinstance(each, str) else self.said(each))
        return said

    def said(self, node: ast.expr) -> str:
        """Return what says a value."""
        place = self.place(node)
        if place is not None:
            return f"pt_say({c_string(place)});"
        match node:
            case ast.Attribute(value=array, attr="shape"):
                extents = self.translator.array(array).extents
                return f"pt_say_shape({len(extents)}, (const int64_t[]){{{', '.join(extents)}}});"
        try:
            found = self.translator.value(node)
        except NotInCError:
            return f"pt_say({c_string(ast.unparse(node))});"
        if found.kind == "int" or found.kind in ("int64", "bool"):
            return f"pt_say_integer({found.text});"
        return f"pt_say_number({found.text});"

    def place(self, node: ast.expr) -> str | None:
        """Return what an expression says that is about a place in the source."""
        match node:
            case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=int(number))) if self.is_place(node):
                return str(self.module.PLACES[number])
            case ast.Attribute(
                value=ast.Subscript(slice=ast.Constant(value=int(number))) as inner,
                attr="segment" | "caret_below" as what,
            ) if self.is_place(inner):
                return str(getattr(self.module.PLACES[number], what))
        return None

    def is_place(self, node: ast.Subscript) -> bool:
        check = self.functions["check"].args.kwonlyargs
        return isinstance(node.value, ast.Name) and node.value.id in {argument.arg for argument in check}

    def write_overlap(self) -> None:
        arrays = [(name, self.names[name]) for name in self.module.ARRAYS]
        if not self.module.WRITTEN:
            return
        with self.writer.braces(""):
            texts = []
            for number, (name, array) in enumerate(arrays):
                assert isinstance(array, PlainArray)
                self.writer.line(f"const int64_t pt_extents_{number}[] = {{{', '.join(array.extents)}}};")
                self.writer.line(f"const int64_t pt_strides_{number}[] = {{{', '.join(self.strides[name])}}};")
                texts.append(
                    f"{{{c_string(name)}, {array.name}, sizeof *{array.name}, {len(array.extents)}, "
                    f"{int(name in self.module.WRITTEN)}, pt_extents_{number}, pt_strides_{number}}}"
                )
            self.writer.line(f"const struct pt_array pt_arrays[] = {{{', '.join(texts)}}};")
            self.writer.line(f"pt_status = pt_check_overlap(pt_arrays, {len(arrays)});")
            self.writer.line("if (pt_status != PT_OK) goto pt_end;")

    def write_index_checks(self) -> None:
        function = self.functions.get("check_indexes")
        for statement in () if function is None else function.body:
            match statement:
                case ast.Expr(value=ast.Constant()):
                    continue
                case ast.If(test=test, body=[ast.Expr(value=call)], orelse=[]):
                    with self.writer.braces(f"if ({self.translator.truth(test)}) "):
                        self.index_check(call)
                case _:
                    raise NotInCError(ast.unparse(statement))
        if function is not None:
            self.if_wide()

    def index_check(self, call: ast.expr) -> None:
        match call:
            case ast.Call(
                args=[
                    ast.Subscript(value=ast.Name(id=name) as array, slice=subscripts),
                    extent,
                    ast.Subscript(slice=ast.Constant(value=int(number))),
                ]
            ):
                pass
            case _:
                raise NotInCError(ast.unparse(call))
        memory = self.translator.array(array)
        slices = subscripts.elts if isinstance(subscripts, ast.Tuple) else [subscripts]
        ends: list[tuple[str, str]] = []
        for each in slices:
            if not isinstance(each, ast.Slice) or each.lower is None or each.upper is None:
                raise NotInCError(ast.unparse(call))
            ends.append((self.translator.integer(each.lower), self.translator.integer(each.upper)))
        writer = self.writer
        writer.line(f"const int64_t pt_extents[] = {{{', '.join(memory.extents)}}};")
        writer.line(f"const int64_t pt_strides[] = {{{', '.join(self.strides[name])}}};")
        for which, place in (("low", 0), ("high", 1)):
            writer.line(f"const pt_integer pt_{which}[] = {{{', '.join(end[place] for end in ends)}}};")
        writer.line(
            f"const struct pt_array pt_indexes = {{{c_string(name)}, {memory.name}, sizeof *{memory.name}, "
            f"{len(memory.extents)}, 0, pt_extents, pt_strides}};"
        )
        self.if_wide()
        limit = self.translator.integer(extent)
        test = f"pt_is_outside(&pt_indexes, {c_string(memory.kind)}, pt_low, pt_high, {limit})"
        with writer.braces(f"if ({test}) "):
            self.fail("PT_SUBSCRIPT", str(SubscriptError(*self.module.INDEX_REPORTS[number])))


def _meanings(body: Sequence[ast.stmt]) -> Mapping[str, str]:
    """Return what names of a module mean that are imported or built in: ``np`` is ``numpy``."""
    found = {name: name for name in dir(builtins)}
    for node in body:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {alias.asname or alias.name: alias.name for alias in names}
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=meant)) if hasattr(builtins, meant):
                found[name] = meant
    return found


def strides_without_gaps(array: PlainArray, layout: str) -> tuple[str, ...]:
    """The strides of an array without gaps, in bytes."""
    order = range(len(array.extents))
    inner = [
        [array.extents[other] for other in (order[axis + 1 :] if layout == "C" else order[:axis])] for axis in order
    ]
    return tuple(" * ".join([f"(int64_t)sizeof({C_TYPES[array.kind]})", *extents]) for extents in inner)


def ascii_name(name: str) -> str:
    """Return a name in letters that C has, another one for each."""
    return "".join(letter if letter.isascii() else f"_{ord(letter):x}_" for letter in name)

"""The C function of a kernel, which checks a call as Python does and runs it."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType

import numpy as np

from polytune.codegen.c_source import RESERVED
from polytune.codegen.source_writer import CWriter
from polytune.errors import SubscriptError
from polytune.records import dataclass
from polytune.shared_library.expressions import C_TYPES, NotInCError, PlainArray, Scalar, Translator, c_string
from polytune.signature import ArrayType, ScalarType, parse_type

__all__ = ["CEntry", "write_entry"]

_PLAIN = re.compile(r"[a-zA-Z]\w*", re.ASCII)
_STATUS = {"ArgumentError": "PT_ARGUMENT", "UnassignedVariableError": "PT_UNASSIGNED"}
_WIDE = "the integers that are computed from the arguments before all loops cannot be: too large, or divided by zero"


@dataclass(frozen=True)
class CEntry:
    """A function of a library.

    Attributes:
        declaration: its head, as the header has it, without a semicolon.
        definition: its text.
        notes: sentences about its arguments, for the header.
    """

    declaration: str
    definition: str
    notes: tuple[str, ...]


def write_entry(package: str, module: ModuleType, text: str) -> CEntry:
    """The C function of a kernel.

    Args:
        package: the name of the package, with which its name begins.
        module: the generated module.
        text: its text.

    Raises:
        NotInCError: a part of it has no counterpart in C.
    """
    return _EntryWriter(package, module, text).write()


class _EntryWriter:
    def __init__(self, package: str, module: ModuleType, text: str):
        self.package, self.module = package, module
        body = ast.parse(text).body
        self.functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        self.modules = _meanings(body)
        self.taken = {*RESERVED, "bool", "main"}
        self.writer = CWriter()
        self.arguments: list[tuple[str, str]] = []
        """What the C function takes: types and names."""
        self.outs: list[tuple[str, str]] = []
        self.wanted: list[tuple[ast.expr, str, str]] = []
        """What is returned, with the arguments that take it, and for arrays those that take their extents."""
        self.notes: list[str] = []
        self.strides: dict[str, tuple[str, ...]] = {}
        self.names: dict[str, Scalar | PlainArray] = {}
        self.translator = Translator(self.names, self.modules)
        self.declared: list[str] = []
        self.taken_memory: list[tuple[str, str, str]] = []
        """Of memory that was taken: its name in Python, in C, and the variable that has its bytes."""

    # Names

    def unique(self, wanted: str) -> str:
        name = wanted if _PLAIN.fullmatch(wanted) and not wanted.startswith("pt_") else f"v_{_ascii(wanted)}"
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    # The function

    def write(self) -> CEntry:
        module = self.module
        for name, kind in module.SIGNATURE.arguments:
            self.take_argument(name, kind)
        self.name_results()
        head = f"int {self.package}_{_ascii(module.NAME)}("
        taken = ", ".join(f"{kind}{'' if kind.endswith('*') else ' '}{name}" for kind, name in self.all_arguments())
        declaration = f"{head}{taken or 'void'})"
        inner = CWriter()
        outer, self.writer = self.writer, inner
        self.check_arguments()
        self.write_require()
        self.write_parameters()
        self.write_check()
        self.write_overlap()
        self.write_index_checks()
        self.write_scratch()
        self.write_run()
        self.write_verify()
        self.write_results()
        self.writer = outer
        with outer.braces(f"{declaration}\n"):
            outer.line("int pt_wide = 0, pt_status = PT_OK;")
            for line in dict.fromkeys(self.declared):
                outer.line(line)
            outer.line("(void)pt_wide;")
            for line in inner.text().splitlines():
                outer.line(line)
            outer.line("pt_end:")
            for _, name, size in self.taken_memory:
                outer.line(f"pt_give_back({name}, {size});")
            outer.line("return pt_status;")
        return CEntry(declaration, outer.text(), tuple(self.notes))

    def all_arguments(self) -> list[tuple[str, str]]:
        return [*self.arguments, *self.outs]

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
            self.strides[name] = _contiguous(array, kind.layout)
            how = "in C order, without gaps" if kind.layout == "C" else "in Fortran order, without gaps"
        self.notes.append(f"{own}: {kind.dtype}[{', '.join(extents)}], {how}{'' if constant else '; written'}")
        for axis in kind.ones:
            self.notes.append(f"{extents[axis]}: has to be 1")

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
            for axis in kind.ones:
                with self.writer.braces(f"if ({array.extents[axis]} != 1) "):
                    self.fail("PT_ARGUMENT", f"argument '{name}': its extent along axis {axis} has to be 1")
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

    # Memory

    def write_scratch(self) -> None:
        for statement in self.functions["scratch"].body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.memory(name, value)
        self.if_wide()

    def memory(self, name: str, value: ast.expr) -> None:
        match value:
            case ast.Name(id=constant):
                self.constant(name, getattr(self.module, constant))
                return
            case ast.Call(func=ast.Attribute(attr="zeros"), args=[ast.Constant(value=1), kind]):
                self.scalar_memory(name, _dtype(kind), "0")
                return
            case ast.Call(func=ast.Attribute(attr="full"), args=[ast.Constant(value=1), start, kind]):
                self.scalar_memory(name, _dtype(kind), self.start(start))
                return
            case ast.Call(func=ast.Name(id=maker), args=[ast.Tuple(elts=shape), kind], keywords=keywords) if (
                self.modules.get(maker) in ("local_array", "result_array")
            ):
                pass
            case _:
                raise NotInCError(ast.unparse(value))
        dtype, own, size = _dtype(kind), self.unique(name), self.unique(f"{name}_bytes")
        element = C_TYPES[dtype]
        extents = tuple(self.unique(f"{name}_extent_{axis}") for axis in range(len(shape)))
        self.declared += [f"{element} *{own} = NULL;", f"pt_integer {size} = 0;"]
        bytes_ = f"(pt_integer)sizeof({element})"
        for extent, node in zip(extents, shape, strict=True):
            self.declared.append(f"int64_t {extent} = 0;")
            self.writer.line(f"{extent} = pt_word({self.translator.integer(node)}, &pt_wide);")
            bytes_ = f"pt_multiply({bytes_}, {extent}, &pt_wide)"
        self.writer.line(f"{size} = {bytes_};")
        self.if_wide()
        self.writer.line(f"{own} = pt_take({size}, {int(bool(keywords))});")
        with self.writer.braces(f"if ({own} == NULL) "):
            self.fail("PT_NO_MEMORY", f"{self.module.NAME}: there is no memory for its local arrays")
        self.names[name] = PlainArray(own, dtype, extents)
        self.strides[name] = _contiguous(PlainArray(own, dtype, extents), "C")
        self.taken_memory.append((name, own, size))

    def start(self, node: ast.expr) -> str:
        """Return what memory begins with."""
        found = self.names.get(node.id) if isinstance(node, ast.Name) else None
        return found.name if isinstance(found, Scalar) else self.translator.value(node).text

    def scalar_memory(self, name: str, dtype: str, start: str) -> None:
        own = self.unique(name)
        self.declared.append(f"{C_TYPES[dtype]} {own}[1] = {{0}};")
        self.writer.line(f"{own}[0] = {start};")
        self.names[name] = PlainArray(own, dtype, ("1",))
        self.strides[name] = (f"sizeof({C_TYPES[dtype]})",)

    def constant(self, name: str, values: np.ndarray) -> None:
        own, dtype = self.unique(name), values.dtype.name
        if dtype.startswith("complex") or not np.isfinite(values).all():
            raise NotInCError(f"the constant array {name}")
        suffix = {"int64": "LL", "uint64": "ULL"}.get(dtype, "")
        texts = ", ".join(f"({C_TYPES[dtype]}){value!r}{suffix}" for value in values.reshape(-1).tolist())
        self.declared.append(f"static {C_TYPES[dtype]} {own}[] = {{{texts or '0'}}};")
        array = PlainArray(own, dtype, tuple(map(str, values.shape)))
        self.names[name] = array
        self.strides[name] = _contiguous(array, "C")

    # The run

    def write_run(self) -> None:
        (returned,) = [node for node in self.functions["words"].body if isinstance(node, ast.Return)]
        assert isinstance(returned.value, ast.Tuple)
        words = [self.word(node) for node in returned.value.elts]
        for name in self.module.PARAMETERS:
            parameter = self.names[name]
            assert isinstance(parameter, Scalar)
            words.append(f"pt_word((pt_integer){parameter.name}, &pt_wide)")
        with self.writer.braces(""):
            self.writer.line("const int64_t pt_words[] = {")
            for word in words:
                self.writer.line(f"    {word},")
            self.writer.line("    0};")
            self.if_wide()
            self.writer.line(f"pt_status = pt_run(&pt_kernel_{_ascii(self.module.NAME)}, pt_words);")
            self.writer.line("if (pt_status != PT_OK) goto pt_end;")

    def word(self, node: ast.expr) -> str:
        match node:
            case ast.Subscript(value=ast.Subscript(value=ast.Attribute(value=array, attr="__array_interface__"))):
                return f"(int64_t)(intptr_t){self.translator.array(array).name}"
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="strides"), slice=ast.Constant(value=int(axis))
            ):
                return f"(int64_t)({self.strides[name][axis]})"
            case ast.BinOp(left=ast.Name(id=name)) | ast.Name(id=name):
                scalar = self.names[name]
                assert isinstance(scalar, Scalar)
                is_float = scalar.kind.startswith("float")
                return f"pt_bits({scalar.name})" if is_float else f"(int64_t){scalar.name}"
        raise NotInCError(ast.unparse(node))

    def write_verify(self) -> None:
        function = self.functions.get("verify")
        for statement in () if function is None else function.body:
            match statement:
                case ast.Expr(value=ast.Constant()):
                    continue
                case ast.If(test=ast.Subscript(value=report), body=[ast.Raise()]):
                    number = f"{self.translator.array(report).name}[0]"
                case _:
                    raise NotInCError(ast.unparse(statement))
            texts = [
                str(SubscriptError(place, arrays, references, is_late=True))
                for place, arrays, references in self.module.REPORTS
            ]
            self.declared.append(f"static const char *const pt_late[] = {{{', '.join(map(c_string, texts))}}};")
            with self.writer.braces(f"if ({number} != 0) "):
                self.writer.line(f"pt_status = pt_fail(PT_LATE_SUBSCRIPT, pt_late[{number} - 1]);")
                self.writer.line("goto pt_end;")

    # Results

    def name_results(self) -> None:
        """Find out what is returned, as arguments that take it."""
        function = self.functions.get("result")
        if function is None:
            return
        (returned,) = [node for node in function.body if isinstance(node, ast.Return)]
        assert returned.value is not None
        with self.results_known():
            wanted = [item for item in _items(returned.value) if not self.is_argument(item)]
            names = [ast.unparse(item) for item in wanted if self.memory_of(item) is not None]
            if len(set(names)) < len(names):
                raise NotInCError("one array returned twice")
            for number, item in enumerate(wanted):
                self.name_result(self.unique("result" if len(wanted) == 1 else f"result_{number}"), item)

    @contextmanager
    def results_known(self) -> Iterator[None]:
        """Have the names that results are made of, which the function only makes later."""
        known = dict(self.names)
        memory = dict(zip(self.module.SCRATCH, self.module.MEMORY[len(self.module.ARRAYS) :], strict=True))
        parameters = self.functions["result"].args.args
        spelled = [each.arg for each in parameters][-len(memory) :] if memory else []
        for name, (_, kind) in zip(spelled, memory.items(), strict=True):
            parsed = parse_type(kind)
            assert isinstance(parsed, ArrayType)
            extents = tuple(f"{name}_extent_{axis}" for axis in range(parsed.ndim))
            self.names[name] = PlainArray(name, parsed.dtype, extents)
        for name in self.module.PARAMETERS:
            self.names.setdefault(name, Scalar(name, "int64"))
        yield
        self.names.clear()
        self.names.update(known)

    def is_argument(self, item: ast.expr) -> bool:
        return isinstance(item, ast.Name) and item.id in self.module.ARRAYS

    def memory_of(self, item: ast.expr) -> PlainArray | None:
        """An array that is returned; None for a number."""
        found = self.names.get(item.id) if isinstance(item, ast.Name) else None
        return found if isinstance(found, PlainArray) else None

    def name_result(self, name: str, item: ast.expr) -> None:
        array = self.memory_of(item)
        if array is None:
            kind = self.kind_of(item)
            self.outs.append((f"{C_TYPES[kind]} *", name))
            self.wanted.append((item, name, ""))
            self.notes.append(f"{name}: where {_text_of(item)} is written, of {kind}")
            return
        extents = self.unique(f"{name}_extents")
        self.outs += [(f"{C_TYPES[array.kind]} **", name), ("int64_t *", extents)]
        self.wanted.append((item, name, extents))
        self.notes.append(
            f"{name}: a new array of {array.kind} in C order, which the caller frees by {self.package}_free"
        )
        self.notes.append(f"{extents}: where its extents are written, {len(array.extents)} of them")

    def kind_of(self, item: ast.expr) -> str:
        kind = self.translator.value(item).kind
        return "int64" if kind == "int" else kind

    def write_results(self) -> None:
        writer = self.writer
        for item, name, extents in self.wanted:
            if not extents:
                found = self.translator.value(item)
                value = f"pt_word({found.text}, &pt_wide)" if found.kind == "int" else found.text
                writer.line(f"*{name} = {value};")
        self.if_wide()
        for item, name, extents in self.wanted:
            array = self.memory_of(item)
            if array is not None:
                writer.line(f"*{name} = {array.name};")
                writer.line(f"{array.name} = NULL;")
                for axis, extent in enumerate(array.extents):
                    writer.line(f"{extents}[{axis}] = {extent};")


def _text_of(item: ast.expr) -> str:
    return ast.unparse(item).replace("scratch_", "").replace("[0]", "")


def _items(node: ast.expr) -> Iterator[ast.expr]:
    """The parts of what is returned, those of tuples one by one."""
    if isinstance(node, ast.Tuple):
        for element in node.elts:
            yield from _items(element)
    elif not (isinstance(node, ast.Constant) and node.value is None):
        yield node


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


def _dtype(node: ast.expr) -> str:
    assert isinstance(node, ast.Attribute)
    return node.attr.rstrip("_")


def _contiguous(array: PlainArray, layout: str) -> tuple[str, ...]:
    """The strides of an array without gaps, in bytes."""
    order = range(len(array.extents))
    inner = [
        [array.extents[other] for other in (order[axis + 1 :] if layout == "C" else order[:axis])] for axis in order
    ]
    return tuple(" * ".join([f"(int64_t)sizeof({C_TYPES[array.kind]})", *extents]) for extents in inner)


def _ascii(name: str) -> str:
    return "".join(letter if letter.isascii() else f"_{ord(letter):x}_" for letter in name)

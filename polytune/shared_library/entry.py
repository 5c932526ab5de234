"""The C function of a kernel, which checks a call as Python does and runs it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np

from polytune.codegen.source_writer import CWriter
from polytune.errors import found_late
from polytune.records import dataclass
from polytune.shared_library.call_checks import CallChecks, ascii_name, strides_without_gaps
from polytune.shared_library.expressions import C_TYPES, NotInCError, PlainArray, Scalar, c_string
from polytune.signature import ArrayType, parse_type

__all__ = ["CEntry", "write_entry"]


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


class _EntryWriter(CallChecks):
    """Writes the whole function: checks, memory, the run, and what is returned."""

    def write(self) -> CEntry:
        module = self.module
        for name, kind in module.SIGNATURE.arguments:
            self.take_argument(name, kind)
        self.name_results()
        head = f"int {self.package}_{ascii_name(module.NAME)}("
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
        self.strides[name] = strides_without_gaps(PlainArray(own, dtype, extents), "C")
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
        self.strides[name] = strides_without_gaps(array, "C")

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
            self.writer.line(f"pt_status = pt_run(&pt_kernel_{ascii_name(self.module.NAME)}, pt_words);")
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
                case ast.If(test=ast.Compare(ops=[ast.Lt()]), body=[ast.Raise()]):
                    continue  # that NumPy has failed, which no version in a library calls
                case ast.If(test=ast.Subscript(value=report), body=[ast.Raise()]):
                    number = f"{self.translator.array(report).name}[0]"
                case _:
                    raise NotInCError(ast.unparse(statement))
            texts = [
                str(found_late(place, arrays, references, extents))
                for place, arrays, references, extents in self.module.REPORTS
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


def _dtype(node: ast.expr) -> str:
    assert isinstance(node, ast.Attribute)
    return node.attr.rstrip("_")

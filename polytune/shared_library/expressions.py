"""The expressions that check and prepare a call, as C: Python's text in, C's text out.

Integers of Python are ``pt_integer`` there, of 128 bits, and each operation says by the variable ``pt_wide`` when they
do not suffice; those of NumPy, which are elements of memory, wrap round as they do there.  What is not translated is
refused, never guessed at.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

from polytune.records import dataclass
from polytune.relations import RELATIONS

__all__ = ["C_TYPES", "CValue", "NotInCError", "PlainArray", "Scalar", "Translator", "c_string"]

C_TYPES: Mapping[str, str] = {
    "bool": "bool",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "uint16_t",
    "float32": "float",
    "float64": "double",
    "complex64": "float _Complex",
    "complex128": "double _Complex",
}
"""The C types of elements."""

EXACT = "int"
"""The type of Python's integers; all other types have NumPy's names."""

_FLOATS = ("float32", "float64")
_EXACT_OPERATIONS: Mapping[type[ast.operator], str] = {
    ast.Add: "pt_add",
    ast.Sub: "pt_subtract",
    ast.Mult: "pt_multiply",
    ast.FloorDiv: "pt_quotient",
    ast.Mod: "pt_remainder",
}
_OPERATORS: Mapping[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


class NotInCError(Exception):
    """A part of what checks a call has no counterpart in C; the text says which."""


class CValue(NamedTuple):
    """An expression of C, with its type."""

    text: str
    kind: str


@dataclass(frozen=True)
class Scalar:
    """A number that has a name in C.

    Attributes:
        name: its name there.
        kind: its type.
    """

    name: str
    kind: str


@dataclass(frozen=True)
class PlainArray:
    """An array that has a name in C.

    Attributes:
        name: of the pointer to its first element.
        kind: the type of its elements.
        extents: of its extents, an int64_t each.
    """

    name: str
    kind: str
    extents: tuple[str, ...]


class Translator:
    """Translates expressions.

    Args:
        names: what names of Python stand for; the caller adds to it.
        modules: the names that ``numpy`` and built-in functions have in the text, by those that they have everywhere.
    """

    def __init__(self, names: dict[str, Scalar | PlainArray], modules: Mapping[str, str]):
        self.names, self._modules = names, modules

    def integer(self, node: ast.expr) -> str:
        """An exact integer.

        Raises:
            NotInCError: it is something else.
        """
        found = self.value(node)
        if found.kind not in (EXACT, "bool") and not found.kind.startswith("int"):
            raise NotInCError(f"{ast.unparse(node)} where an integer is wanted")
        return f"(pt_integer){found.text}"

    def truth(self, node: ast.expr) -> str:
        """A condition.

        Raises:
            NotInCError: it is not translated.
        """
        found = self.value(node)
        return found.text if found.kind == "bool" else f"({found.text} != 0)"

    def value(self, node: ast.expr) -> CValue:
        """Any number.

        Raises:
            NotInCError: it is not translated.
        """
        match node:
            case ast.Constant() | ast.Name():
                return self._leaf(node)
            case ast.Subscript() | ast.Attribute():
                return self._of_array(node)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._binary(node, operator, self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return CValue(f"(!{self.truth(operand)})", "bool")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negated(node, self.value(operand))
            case ast.Compare(left=left, ops=operators, comparators=rest):
                parts = [left, *rest]
                pairs = zip(parts, operators, parts[1:], strict=False)
                return CValue(f"({' && '.join(self._compared(*pair) for pair in pairs)})", "bool")
            case ast.BoolOp(op=operator, values=operands):
                word = "&&" if isinstance(operator, ast.And) else "||"
                return CValue(f"({f' {word} '.join(map(self.truth, operands))})", "bool")
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return self._chosen(self.truth(test), self.value(then), self.value(otherwise))
            case ast.Call(keywords=[]):
                return self._call(node)
        raise NotInCError(ast.unparse(node))

    def _leaf(self, node: ast.Constant | ast.Name) -> CValue:
        """A constant, or a number that has a name."""
        match node:
            case ast.Constant(value=bool(value)):
                return CValue(str(int(value)), "bool")
            case ast.Constant(value=int(value)):
                return CValue(_integer_text(value), EXACT)
            case ast.Constant(value=float(value)):
                return CValue(repr(value), "float64")
            case ast.Name(id=name):
                named = self.names.get(name)
                if isinstance(named, Scalar):
                    exact = named.kind.startswith(("int", "uint"))
                    return CValue(
                        f"((pt_integer){named.name})" if exact else named.name, EXACT if exact else named.kind
                    )
        raise NotInCError(ast.unparse(node))

    def _of_array(self, node: ast.Subscript | ast.Attribute) -> CValue:
        """An extent, the number of dimensions or elements, or the first element of an array."""
        match node:
            case ast.Subscript(value=ast.Attribute(value=array, attr="shape"), slice=ast.Constant(value=int(axis))):
                return CValue(f"((pt_integer){self.array(array).extents[axis]})", EXACT)
            case ast.Attribute(value=array, attr="ndim"):
                return CValue(f"((pt_integer){len(self.array(array).extents)})", EXACT)
            case ast.Attribute(value=array, attr="size"):
                text = "((pt_integer)1)"
                for extent in self.array(array).extents:
                    text = f"pt_multiply({text}, {extent}, &pt_wide)"
                return CValue(text, EXACT)
            case ast.Subscript(value=array, slice=ast.Constant(value=0)):
                memory = self.array(array)
                return CValue(f"(*{memory.name})", memory.kind)
        raise NotInCError(ast.unparse(node))

    def _negated(self, node: ast.expr, operand: CValue) -> CValue:
        if operand.kind == EXACT:
            return CValue(f"pt_subtract(0, {operand.text}, &pt_wide)", EXACT)
        if operand.kind in _FLOATS:
            return CValue(f"(-{operand.text})", operand.kind)
        raise NotInCError(ast.unparse(node))

    def _chosen(self, condition: str, then: CValue, otherwise: CValue) -> CValue:
        if then.kind != otherwise.kind:
            raise NotInCError(f"a value of {then.kind} or {otherwise.kind}")
        return CValue(f"({condition} ? {then.text} : {otherwise.text})", then.kind)

    def array(self, node: ast.expr) -> PlainArray:
        """An array, by its name.

        Raises:
            NotInCError: it is something else.
        """
        found = self.names.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(found, PlainArray):
            raise NotInCError(ast.unparse(node))
        return found

    def _binary(self, node: ast.expr, operator: ast.operator, left: CValue, right: CValue) -> CValue:
        kinds = {left.kind, right.kind} - {"bool"}
        if isinstance(operator, ast.Pow):
            return self._power(node, left)
        if kinds <= {EXACT} and type(operator) in _EXACT_OPERATIONS:
            function = _EXACT_OPERATIONS[type(operator)]
            return CValue(f"{function}({left.text}, {right.text}, &pt_wide)", EXACT)
        if "int64" in kinds and kinds <= {EXACT, "int64"} and type(operator) in _OPERATORS and kinds:
            if isinstance(operator, ast.Div):
                return CValue(f"((double){left.text} / (double){right.text})", "float64")
            word = _OPERATORS[type(operator)]
            return CValue(f"((int64_t)((uint64_t){left.text} {word} (uint64_t){right.text}))", "int64")
        if "float64" in kinds and kinds <= {EXACT, "int64", "float64"} and type(operator) in _OPERATORS:
            return CValue(f"((double){left.text} {_OPERATORS[type(operator)]} (double){right.text})", "float64")
        if kinds == {"float32"} and left.kind == right.kind and type(operator) in _OPERATORS:
            return CValue(f"({left.text} {_OPERATORS[type(operator)]} {right.text})", "float32")
        raise NotInCError(ast.unparse(node))

    def _power(self, node: ast.expr, base: CValue) -> CValue:
        match node:
            case ast.BinOp(right=ast.Constant(value=int(exponent))) if 1 <= exponent <= 8 and base.kind in (
                EXACT,
                "int64",
            ):
                result = base
                for _ in range(exponent - 1):
                    result = self._binary(node, ast.Mult(), result, base)
                return result
        raise NotInCError(ast.unparse(node))

    def _compared(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> str:
        if type(operator) not in RELATIONS:
            raise NotInCError(f"{ast.unparse(left)} compared with {ast.unparse(right)}")
        shapes = [self._shape(left), self._shape(right)]
        if all(shape is not None for shape in shapes) and isinstance(operator, ast.Eq | ast.NotEq):
            first, second = shapes
            assert first is not None and second is not None
            is_equal = "0"
            if len(first) == len(second):
                is_equal = " && ".join(f"{one} == {other}" for one, other in zip(first, second, strict=True)) or "1"
            return f"({is_equal})" if isinstance(operator, ast.Eq) else f"(!({is_equal}))"
        values = self.value(left), self.value(right)
        if any(value.kind.startswith("complex") for value in values):
            raise NotInCError(f"{ast.unparse(left)} compared with {ast.unparse(right)}")
        return f"({values[0].text} {RELATIONS[type(operator)]} {values[1].text})"

    def _shape(self, node: ast.expr) -> list[str] | None:
        """The extents of what stands for a shape: ``A.shape``, or a tuple of integers."""
        match node:
            case ast.Attribute(value=array, attr="shape"):
                return list(self.array(array).extents)
            case ast.Tuple(elts=elements):
                return [self.value(element).text for element in elements]
        return None

    def _call(self, node: ast.Call) -> CValue:
        match node:
            case ast.Call(func=ast.Name(id=function), args=[array]) if self._modules.get(function) == "len":
                return CValue(f"((pt_integer){self.array(array).extents[0]})", EXACT)
            case ast.Call(func=ast.Name(id=function), args=arguments):
                return self._built_in(node, self._modules.get(function, ""), [self.value(each) for each in arguments])
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=kind), args=[operand]) if (
                self._modules.get(module) == "numpy" and kind in (*_FLOATS, "int64", "bool_")
            ):
                return self._cast(node, self.value(operand), kind.rstrip("_"))
        raise NotInCError(ast.unparse(node))

    def _built_in(self, node: ast.expr, function: str, arguments: list[CValue]) -> CValue:
        """A call of a built-in function."""
        kinds = {argument.kind for argument in arguments}
        if function in ("min", "max") and len(arguments) > 1 and kinds in ({EXACT}, {"float64"}):
            relation, result = "<" if function == "min" else ">", arguments[0].text
            for argument in arguments[1:]:
                result = f"({argument.text} {relation} {result} ? {argument.text} : {result})"
            return CValue(result, kinds.pop())
        if function == "abs" and kinds == {EXACT}:
            (number,) = arguments
            return CValue(f"({number.text} < 0 ? pt_subtract(0, {number.text}, &pt_wide) : {number.text})", EXACT)
        if function in ("int", "float", "bool") and len(arguments) == 1:
            return self._cast(node, arguments[0], {"int": EXACT, "float": "float64", "bool": "bool"}[function])
        raise NotInCError(ast.unparse(node))

    def _cast(self, node: ast.expr, value: CValue, kind: str) -> CValue:
        if value.kind == kind:
            return value
        if value.kind.startswith("complex"):
            raise NotInCError(ast.unparse(node))
        if kind == EXACT:
            if value.kind in _FLOATS:
                return CValue(f"pt_truncated({value.text}, &pt_wide)", EXACT)
            return CValue(f"((pt_integer){value.text})", EXACT)
        if kind == "int64" and value.kind in _FLOATS:
            raise NotInCError(ast.unparse(node))
        if kind == "bool":
            return CValue(f"({value.text} != 0)", "bool")
        return CValue(f"(({C_TYPES[kind]}){value.text})", kind)


def _integer_text(value: int) -> str:
    if abs(value) >= 2**63:
        raise NotInCError(f"the integer {value}")
    return f"((pt_integer){value}LL)" if value >= 0 else f"(-(pt_integer){-value}LL)"


def c_string(text: str) -> str:
    """A literal of C of text, in UTF-8."""
    parts = []
    for byte in text.encode():
        letter = chr(byte)
        plain = 32 <= byte < 127 and letter not in '"\\?'
        parts.append(letter if plain else f"\\{byte:03o}")
    return f'"{"".join(parts)}"'

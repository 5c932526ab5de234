"""Random expressions as C text, run on the stand-in for a CUDA device, against Python's meaning of them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from polytune.codegen.device.c_expressions import C_TYPES, Context, c_name, c_text
from polytune.frontend.expression import (
    Argument,
    Binary,
    Cast,
    Compare,
    Constant,
    Element,
    Expression,
    Iterator,
    Logical,
    Select,
    Unary,
)
from polytune.frontend.generated_names import generated
from polytune.runtime.devices.device import Device
from tests.runtime.devices.kernels import compiled, run

NUMBER = 150
NAMES = {"int32": ("x", "y"), "int64": ("p", "q"), "float64": ("a", "b"), "float32": ("f", "g")}
VALUES = {
    "int32": (-7, 2**31 - 1, 3, -(2**31), 0, 12),
    "int64": (-9, 2**63 - 1, 4, -(2**63), 0, 10**12),
    "float64": (-2.5, 1e300, 0.1, -0.0, 3.0, 7.25),
    "float32": (-1.5, 3e38, 0.1, -0.0, 3.0, 8.75),
}
CONSTANTS = {
    "int32": (0, 1, -1, 7, 2**31 - 1, -(2**31)),
    "int64": (0, -1, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)),
    "float64": (0.5, -0.0, 1e-300, 1e300, float("inf"), -float("inf")),
    "float32": (0.5, -0.0, 1e-30, float("inf")),
}


class Author:
    """Draws typed expressions; divisors are never zero, and casts of floats are within range."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def expression(self, dtype: str, depth: int) -> Expression:
        choose = self.random.choice
        if depth == 0 or self.random.random() < 0.1:
            if self.random.random() < 0.4:
                return Constant(choose(CONSTANTS[dtype]), dtype)
            return Argument(choose(NAMES[dtype]), dtype)
        part = depth - 1
        operator = choose(("+", "-", "*", "//", "%", "min", "max", "neg", "abs", "select", "cast"))
        if operator == "neg":
            return Unary("-", self.expression(dtype, part), dtype)
        if operator == "abs":
            return Unary("abs", self.expression(dtype, part), dtype)
        if operator == "select":
            return Select(self.condition(part), self.expression(dtype, part), self.expression(dtype, part), dtype)
        if operator == "cast":
            narrower = {"int64": "int32", "float64": choose(("int32", "float32", "int64")), "float32": "int32"}
            other = narrower.get(dtype)
            return self.expression(dtype, part) if other is None else Cast(self.expression(other, part), dtype)
        right = self.expression(dtype, part)
        if operator in ("//", "%"):
            right = Constant(choose((1, 3, -2, 7)), dtype)
        return Binary(operator, self.expression(dtype, part), right, dtype)

    def condition(self, depth: int) -> Expression:
        choose = self.random.choice
        if depth and self.random.random() < 0.4:
            parts = (self.condition(depth - 1), self.condition(depth - 1))
            return (
                Unary("not", parts[0], "bool") if self.random.random() < 0.3 else Logical(choose(("and", "or")), parts)
            )
        dtype = choose(tuple(NAMES))
        operator = choose(("<", "<=", ">", ">=", "==", "!="))
        return Compare(operator, self.expression(dtype, depth), self.expression(dtype, depth))


def meaning(node: Expression, names: dict[str, object]) -> object:
    """The value of an expression as NumPy scalars compute it; integers wrap round."""
    match node:
        case Constant(value, dtype):
            return np.dtype(dtype).type(value)
        case Argument(name):
            return names[name]
        case Unary("not", operand):
            return not meaning(operand, names)
        case Unary(operator, operand, dtype):
            value = meaning(operand, names)
            return np.dtype(dtype).type(-value if operator == "-" else abs(value))  # type: ignore[operator, arg-type]
        case Compare(operator, left, right):
            x, y = meaning(left, names), meaning(right, names)
            return {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[operator]  # type: ignore[operator]
        case Logical(operator, operands):
            return (all if operator == "and" else any)(meaning(operand, names) for operand in operands)
        case Select(condition, then, otherwise):
            return meaning(then if meaning(condition, names) else otherwise, names)
        case Cast(operand, dtype):
            return np.dtype(dtype).type(meaning(operand, names))  # type: ignore[arg-type]
        case Binary(operator, left, right, dtype):
            return binary(operator, meaning(left, names), meaning(right, names), dtype)
    raise AssertionError(node)


def binary(operator: str, x, y, dtype: str):
    match operator:
        case "min":
            return y if y < x else x
        case "max":
            return y if y > x else x
        case "//" if dtype.startswith("int"):
            return wrapped(int(x) // int(y), dtype)
        case "%" if dtype.startswith("int"):
            return wrapped(int(x) % int(y), dtype)
        case "//":
            return np.dtype(dtype).type(np.floor_divide(x, y))
        case "%":
            return np.dtype(dtype).type(np.remainder(x, y))
    return {"+": x + y, "-": x - y, "*": x * y}[operator]


def wrapped(value: int, dtype: str):
    """An integer of a type, modulo its range."""
    bits = 8 * np.dtype(dtype).itemsize
    return np.dtype(dtype).type((value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1))


@pytest.mark.parametrize("dtype", NAMES)
def test_values(cuda: Device, dtype: str) -> None:
    author = Author(len(dtype) * 7 + int(dtype[-2:]))
    expressions = [author.expression(dtype, 4) for _ in range(NUMBER)]
    names = [name for group in NAMES.values() for name in group]
    types = {name: kind for kind, group in NAMES.items() for name in group}
    declared = ", ".join(f"{C_TYPES[types[name]]} {c_name(name)}" for name in names)
    lines = [f"to[{number}] = {c_text(each, Context())};" for number, each in enumerate(expressions)]
    kind = C_TYPES[dtype]
    body = "\n".join(lines)
    text = f"PT_KERNEL(1, 1, 1) values(PT_GLOBAL {kind} *PT_RESTRICT to, {declared})\n{{\n{body}\n}}\n"
    kernel = compiled(cuda, text, "values")
    for first in range(6):
        given = {
            name: np.dtype(types[name]).type(VALUES[types[name]][(first + 2 * position) % 6])
            for position, name in enumerate(names)
        }
        found = np.zeros(NUMBER, dtype)
        run(cuda, kernel, (1, 1, 1), (1, 1, 1), [found, *given.values()])
        with np.errstate(all="ignore"):
            wanted = [meaning(each, dict(given)) for each in expressions]
        for number, (value, right) in enumerate(zip(found, wanted, strict=True)):
            same = np.array_equal(value, right, equal_nan=dtype.startswith("float"))
            assert same, f"{lines[number]} with {given}: {value!r} instead of {right!r}"


def test_subscripts(cuda: Device) -> None:
    """Quotients round down, as Python's do, for dividends of either sign."""
    i, j = Iterator(generated("i")), Iterator(generated("j"))
    seven, three = Constant(7, "int64"), Constant(3, "int64")
    expressions: list[Expression] = [
        Binary("//", Binary("-", i, seven, "int64"), three, "int64"),
        Binary("%", Binary("-", i, j, "int64"), three, "int64"),
        Binary("min", i, Binary("*", j, three, "int64"), "int64"),
        Binary("max", Unary("-", i, "int64"), j, "int64"),
        Select(Compare("<", i, j), i, Binary("+", j, seven, "int64"), "int64"),
    ]
    place = Context(index=True)
    lines = [f"to[{number}] = {c_text(each, place)};" for number, each in enumerate(expressions)]
    text = "PT_KERNEL(1, 1, 1) values(PT_GLOBAL i64 *PT_RESTRICT to, i64 i, i64 j)\n{\n" + "\n".join(lines) + "\n}\n"
    kernel = compiled(cuda, text, "values")
    for x, y in ((0, 0), (1, 5), (-8, 3), (20, -6), (9, 9)):
        found = np.zeros(len(lines), np.int64)
        run(cuda, kernel, (1, 1, 1), (1, 1, 1), [found, np.int64(x), np.int64(y)])
        assert found.tolist() == [(x - 7) // 3, (x - y) % 3, min(x, y * 3), max(-x, y), x if x < y else y + 7]


def test_names_are_kept_apart_from_those_of_c() -> None:
    place = Context()
    assert c_text(Argument("int", "int64"), place) == "v_int"
    assert c_text(Argument("µ", "int64"), place) == "u__b5_"
    assert c_text(Iterator(generated("c0")), place) == "c0"
    element = Element("A", (Iterator("c0"),), "float64")
    assert c_text(element, Context(element=lambda found: f"<{found.array}>")) == "<A>"


def test_extents_of_shared_arrays_are_constant_expressions() -> None:
    """Without a call: C asks for that."""
    tile = Binary(
        "min", Binary("+", Iterator(generated("t0")), Constant(2, "int64"), "int64"), Constant(9, "int64"), "int64"
    )
    assert c_text(tile, Context(constant=True)) == "((t0 + 2) < 9 ? (t0 + 2) : 9)"

"""Random typed expressions, of which plain Python and a statically typed kernel compute the same bits.

``min``, ``max`` and conditional expressions give one of their operands with its own type in Python: operands of
different types are converted by name there, and so is what a variable is given.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.fuzz.seeded.choices import Choices, Element, Scope
from tests.fuzz.seeded.indices import COMPARISONS, IndexWriter

WEAK_INTEGER, WEAK_FLOAT = "int", "float"
_RANK = (WEAK_INTEGER, "int32", "int64", WEAK_FLOAT, "float32", "float64")


class Value(NamedTuple):
    """An expression, what type plain Python gives it, and whether it is to be put into parentheses within others."""

    text: str
    kind: str
    compound: bool = False

    @property
    def operand(self) -> str:
        return f"({self.text})" if self.compound else self.text


def is_integer(kind: str) -> bool:
    return kind.startswith("int")


def joined(first: str, second: str) -> str:
    """NumPy's promotion (NEP 50)."""
    kind = max(first, second, key=_RANK.index)
    strong = any(each in ("int32", "int64") for each in (first, second))
    return "float64" if strong and kind in (WEAK_FLOAT, "float32") else kind


class ValueWriter:
    """Writes values of a program.

    Attributes:
        arrays: the arrays that may be read.
        floating: the type of the program's floating-point variables.
        numbers: scalar arguments with their types.
        exact: whether every operation is to have an exact result.
    """

    def __init__(
        self,
        choices: Choices,
        indices: IndexWriter,
        arrays: tuple[Element, ...],
        floating: str,
        numbers: tuple[tuple[str, str], ...],
        exact: bool,
    ):
        self.choices, self.indices, self.arrays = choices, indices, arrays
        self.floating, self.numbers, self.exact = floating, numbers, exact
        self.single = floating == "float32" or any(array.dtype == "float32" for array in arrays)
        self.helpers: tuple[str, ...] = ()

    # Elements

    def element(self, array: Element, scope: Scope) -> str:
        """An element, its dimensions sometimes taken backwards, and sometimes two of them by one loop."""
        order = range(array.rank) if not self.choices.chance(20) else range(array.rank - 1, -1, -1)
        shift = max(0, len(scope.iterators) - array.rank) if self.choices.chance(30) else 0
        if array.rank > 1 and scope.iterators and self.choices.chance(12):
            name = self.choices.pick(scope.iterators)
            subscripts = [self.indices.index(scope, name) if self.choices.chance(50) else name for _ in order]
        else:
            subscripts = [self.indices.subscript(scope, position + shift) for position in order]
        return self.place(array, subscripts)

    def place(self, array: Element, subscripts: list[str]) -> str:
        """The element at subscripts, each moved by what its dimension turns out to need."""
        moved = [f"{subscript} + OFFSET_{array.name}_{axis}" for axis, subscript in enumerate(subscripts)]
        return f"{array.name}[{', '.join(moved)}]"

    def read(self, array: Element, scope: Scope) -> Value:
        return Value(self.element(array, scope), array.dtype)

    # Values

    def value(self, integer: bool, scope: Scope, depth: int) -> Value:
        """A value that fits an array or variable of integers or of floating-point numbers."""
        choices = self.choices
        if depth <= 0 or choices.chance(20):
            return self.leaf(integer, scope)
        if integer:
            return self._integer(scope, depth)
        first = self.value(integer, scope, depth - 1)
        kind = choices.pick("++++----ssssss**//mmmxxcccccanqph")
        if kind in "+-":
            second = self.value(integer, scope, depth - 1)
            return self._operation(kind, first, second)
        if kind == "s":
            return self._operation("*", first, Value(choices.pick(("0.5", "0.25", "-0.5", "2.0", "0.125")), WEAK_FLOAT))
        if kind == "*":
            return self._operation("*", first, self.leaf(integer, scope))
        if kind == "/":
            return self._operation(
                "/", first, Value(choices.pick(("2.0", "4.0") if self.exact else ("3.0", "2.0", "1.5")), WEAK_FLOAT)
            )
        if kind in "mx":
            first, second = self.alike(first, self.leaf(integer, scope))
            names = ("min", "np.minimum") if kind == "m" else ("max", "np.maximum")
            # NumPy's functions of Python numbers give strong ones.
            name = names[0] if choices.chance(85) or WEAK_FLOAT in (first.kind, second.kind) else names[1]
            return Value(f"{name}({first.text}, {second.text})", joined(first.kind, second.kind))
        if kind == "c":
            first, second = self.alike(first, self.leaf(integer, scope))
            test = self.condition(scope, data=50)
            return Value(f"{first.operand} if {test} else {second.operand}", joined(first.kind, second.kind), True)
        if kind == "a":
            return Value(f"abs({first.text})", first.kind)
        if kind == "n":
            return Value(f"-{first.operand}", first.kind, True)
        if kind == "q" and not self.exact and first.kind == "float64":
            return Value(f"{choices.pick(('np', 'math'))}.sqrt(abs({first.text}))", "float64")
        if kind == "p" and choices.chance(50):
            return Value(f"{first.operand} ** 2", first.kind, True)
        if kind == "h" and self.helpers and first.kind in (self.floating, WEAK_FLOAT):
            second = self.leaf(integer, scope)
            return Value(
                f"{choices.pick(self.helpers)}({self.named(first).text}, {self.named(second).text})", self.floating
            )
        return first

    def _integer(self, scope: Scope, depth: int) -> Value:
        choices = self.choices
        first, second = self.value(True, scope, depth - 1), self.leaf(True, scope)
        kind = choices.pick("++--s%/mxcan")
        both = joined(first.kind, second.kind)
        if kind in "+-":
            return self._operation(kind, first, second)
        if kind == "s":
            return Value(f"{first.operand} * {choices.pick(('2', '3', '-1'))}", first.kind, True)
        if kind == "%":
            return Value(f"{first.operand} % {choices.pick('2357')}", first.kind, True)
        if kind == "/":
            return Value(f"{first.operand} // {choices.pick('23')}", first.kind, True)
        if kind in "mx":
            return Value(f"{'min' if kind == 'm' else 'max'}({first.text}, {second.text})", both)
        if kind == "c":
            return Value(f"{first.operand} if {self.condition(scope, data=40)} else {second.operand}", both, True)
        if kind == "a":
            return Value(f"abs({first.text})", first.kind)
        return Value(f"-{first.operand}", first.kind, True)

    def leaf(self, integer: bool, scope: Scope) -> Value:
        """An element, a variable, an argument or a constant."""
        choices = self.choices
        arrays = [array for array in self.arrays if array.is_integer or not integer]
        scalars = [Value(name, kind) for name, kind in scope.scalars if is_integer(kind) or not integer]
        kind = choices.pick("aaaaaaaaavvvnns")
        if kind == "v" and scalars:
            return self._floating(choices.pick(scalars), integer)
        if kind == "n":
            if scope.iterators and choices.chance(40):
                name = choices.pick(scope.iterators)
                form = choices.pick((name, f"{name} - 2", f"{name} + 1", self.indices.index(scope, name)))
                value = Value(form, WEAK_INTEGER, True)
                return value if integer else Value(f"{value.operand} * 0.125", WEAK_FLOAT, True)
            return Value(
                choices.pick(("1", "2", "3") if integer else ("1.0", "0.5", "0.25", "1.5", "3.0")),
                WEAK_INTEGER if integer else WEAK_FLOAT,
            )
        if kind == "s" and not integer and self.numbers:
            name, its = choices.pick(self.numbers)
            return Value(name, its)
        if not arrays:
            return Value("2" if integer else "1.5", WEAK_INTEGER if integer else WEAK_FLOAT)
        return self._floating(self.read(choices.pick(arrays), scope), integer)

    def _floating(self, value: Value, integer: bool) -> Value:
        """An integer among single precision values is converted by name, because NumPy would go on in double."""
        if not integer and is_integer(value.kind) and (self.single or self.choices.chance(30)):
            return Value(f"np.{self.floating}({value.text})", self.floating)
        return value

    def _operation(self, symbol: str, first: Value, second: Value) -> Value:
        return Value(f"{first.operand} {symbol} {second.operand}", joined(first.kind, second.kind), True)

    def named(self, value: Value, kind: str | None = None) -> Value:
        """The value as the given type, by default that of the program's variables; another is converted by name."""
        kind = kind or self.floating
        if value.kind == kind or (value.kind == WEAK_FLOAT and kind == "float64"):
            return Value(value.text, kind, value.compound)
        return Value(f"np.{kind}({value.text})", kind)

    def alike(self, first: Value, second: Value) -> tuple[Value, Value]:
        """Two values of the same type."""
        if first.kind == second.kind or {first.kind, second.kind} <= {WEAK_FLOAT, "float64"}:
            return first, second
        kind = "float64" if "float64" in (first.kind, second.kind) else self.floating
        return self.named(first, kind), self.named(second, kind)

    # Conditions

    def condition(self, scope: Scope, data: int) -> str:
        """A condition, on data in so many of a hundred cases."""
        choices = self.choices
        if not choices.chance(data):
            return self.indices.condition(scope)
        if scope.truths and choices.chance(60):
            name, of_numpy = choices.pick(scope.truths)
            return choices.pick((name, f"not {name}", f"~{name}" if of_numpy else name))
        array = choices.pick(self.arrays)
        left = self.read(array, scope).text
        symbol = choices.pick(COMPARISONS)
        if not array.is_integer and choices.chance(6):
            return f"np.isnan({left})"
        right = self.read(array, scope).text if choices.chance(50) else choices.pick(("0", "1", "0.5", "-1"))
        if "." in right and array.is_integer and "[" not in right:
            right = "1"
        test = f"{left} {symbol} {right}"
        if scope.iterators and choices.chance(20):
            return f"{self.indices.condition(scope)} and {test}"
        return test

"""Random programs as trees: affine loop nests over arrays, and their Python text.

Subscripts are written with an offset per array dimension, which :mod:`tests.fuzz.dry_run` chooses so that every access
is in range.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field

Offsets = Mapping[str, tuple[int, ...]]

COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class Affine:
    """``sum of coefficient * name + constant`` over iterators and parameters."""

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def plus(self, constant: int) -> Affine:
        return Affine(self.terms, self.constant + constant)

    def value(self, names: Mapping[str, int]) -> int:
        return self.constant + sum(coefficient * names[name] for name, coefficient in self.terms)

    def text(self) -> str:
        text = ""
        for name, coefficient in self.terms:
            factor = name if abs(coefficient) == 1 else f"{abs(coefficient)} * {name}"
            text += (f" {'-' if coefficient < 0 else '+'} " if text else "-" * (coefficient < 0)) + factor
        if not text:
            return str(self.constant)
        return text + (f" {'-' if self.constant < 0 else '+'} {abs(self.constant)}" if self.constant else "")


@dataclass(frozen=True)
class Extreme:
    """``min`` or ``max`` of two affine forms, as a loop bound."""

    function: str
    left: Affine
    right: Affine

    def plus(self, constant: int) -> Extreme:
        return Extreme(self.function, self.left.plus(constant), self.right.plus(constant))

    def value(self, names: Mapping[str, int]) -> int:
        return (min if self.function == "min" else max)(self.left.value(names), self.right.value(names))

    def text(self) -> str:
        return f"{self.function}({self.left.text()}, {self.right.text()})"


@dataclass(frozen=True)
class Comparison:
    left: Affine
    symbol: str
    right: Affine

    def holds(self, names: Mapping[str, int]) -> bool:
        return COMPARISONS[self.symbol](self.left.value(names), self.right.value(names))

    def text(self) -> str:
        return f"{self.left.text()} {self.symbol} {self.right.text()}"


@dataclass(frozen=True)
class Congruence:
    """``affine % modulus == remainder``."""

    affine: Affine
    modulus: int
    remainder: int

    def holds(self, names: Mapping[str, int]) -> bool:
        return self.affine.value(names) % self.modulus == self.remainder

    def text(self) -> str:
        return f"({self.affine.text()}) % {self.modulus} == {self.remainder}"


@dataclass(frozen=True)
class Combination:
    """``left and right`` or ``left or not (right)``."""

    conjunction: bool
    left: Comparison | Congruence
    right: Comparison | Congruence

    def holds(self, names: Mapping[str, int]) -> bool:
        if self.conjunction:
            return self.left.holds(names) and self.right.holds(names)
        return self.left.holds(names) or not self.right.holds(names)

    def text(self) -> str:
        if self.conjunction:
            return f"{self.left.text()} and {self.right.text()}"
        return f"{self.left.text()} or not ({self.right.text()})"


Condition = Comparison | Congruence | Combination


@dataclass(frozen=True)
class Number:
    value: int | float

    def text(self, offsets: Offsets) -> str:
        return repr(self.value) if self.value >= 0 else f"({self.value!r})"


@dataclass(frozen=True)
class Variable:
    """A scalar variable or scalar argument."""

    name: str
    dtype: str

    def text(self, offsets: Offsets) -> str:
        return self.name


@dataclass(frozen=True)
class IndexValue:
    """An affine form of iterators and parameters used as a number."""

    affine: Affine

    def text(self, offsets: Offsets) -> str:
        return f"({self.affine.text()})"


@dataclass(frozen=True)
class Reference:
    array: str
    dtype: str
    subscripts: tuple[Affine, ...]

    def text(self, offsets: Offsets) -> str:
        shifts = offsets[self.array]
        return f"{self.array}[{', '.join(s.plus(d).text() for s, d in zip(self.subscripts, shifts, strict=True))}]"


@dataclass(frozen=True)
class Operation:
    """``left symbol right``, parenthesised."""

    symbol: str
    left: Expression
    right: Expression

    def text(self, offsets: Offsets) -> str:
        return f"({self.left.text(offsets)} {self.symbol} {self.right.text(offsets)})"


@dataclass(frozen=True)
class Application:
    """``function(arguments)``: min, max, abs, math.sqrt, np.float32, ..."""

    function: str
    arguments: tuple[Expression, ...]

    def text(self, offsets: Offsets) -> str:
        return f"{self.function}({', '.join(argument.text(offsets) for argument in self.arguments)})"


@dataclass(frozen=True)
class DataComparison:
    """A comparison of values: control that depends on data."""

    left: Expression
    symbol: str
    right: Expression

    def text(self, offsets: Offsets) -> str:
        return f"{self.left.text(offsets)} {self.symbol} {self.right.text(offsets)}"


@dataclass(frozen=True)
class Conditional:
    """``then if condition else otherwise``."""

    condition: Condition | DataComparison
    then: Expression
    otherwise: Expression

    def text(self, offsets: Offsets) -> str:
        condition = self.condition
        test = condition.text(offsets) if isinstance(condition, DataComparison) else condition.text()
        return f"({self.then.text(offsets)} if {test} else {self.otherwise.text(offsets)})"


Expression = Number | Variable | IndexValue | Reference | Operation | Application | Conditional


@dataclass(frozen=True)
class Assignment:
    target: Reference | Variable
    symbol: str
    value: Expression

    def lines(self, offsets: Offsets) -> list[str]:
        return [f"{self.target.text(offsets)} {self.symbol} {_bare(self.value.text(offsets))}"]


@dataclass(frozen=True)
class Loop:
    """``for variable in range(start, stop, step)``."""

    variable: str
    start: Affine | Extreme
    stop: Affine | Extreme
    step: int
    body: tuple[Node, ...]

    def lines(self, offsets: Offsets) -> list[str]:
        bounds = [self.start.text(), self.stop.text()]
        if self.step != 1:
            bounds.append(str(self.step))
        elif bounds[0] == "0":
            bounds = bounds[1:]
        return [f"for {self.variable} in range({', '.join(bounds)}):", *_block(self.body, offsets)]


@dataclass(frozen=True)
class Guard:
    """``if``: affine, or on data around assignments alone."""

    condition: Condition | DataComparison
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()

    def lines(self, offsets: Offsets) -> list[str]:
        condition = self.condition
        test = condition.text(offsets) if isinstance(condition, DataComparison) else condition.text()
        lines = [f"if {test}:", *_block(self.then, offsets)]
        return [*lines, "else:", *_block(self.otherwise, offsets)] if self.otherwise else lines


@dataclass(frozen=True)
class Halving:
    """``while variable > limit: variable = 0.5 * variable``, control that depends on data."""

    variable: Variable
    limit: float

    def lines(self, offsets: Offsets) -> list[str]:
        name = self.variable.name
        return [f"while {name} > {self.limit!r}:", f"    {name} = 0.5 * {name}"]


Node = Assignment | Loop | Guard | Halving


@dataclass(frozen=True)
class Array:
    """An argument, of memory layout C, F or A (strided), or a local array that ``zeros`` or ``empty`` makes."""

    name: str
    dtype: str
    rank: int
    local: str | None = None
    layout: str = "C"


@dataclass(frozen=True)
class Tree:
    """A program before its arrays have extents: parameters with values, scalar arguments, arrays, body, result."""

    parameters: dict[str, int]
    scalars: dict[str, float]
    arrays: tuple[Array, ...]
    body: tuple[Node, ...]
    result: str | None = None
    padding: dict[str, tuple[int, ...]] = field(default_factory=dict)
    shape_parameters: bool = False


def _block(nodes: tuple[Node, ...], offsets: Offsets) -> list[str]:
    return ["    " + line for node in nodes for line in node.lines(offsets)]


def _bare(text: str) -> str:
    """The text without parentheses round all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text

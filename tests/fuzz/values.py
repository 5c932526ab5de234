"""Random expressions, typed so that plain Python and a statically typed kernel compute the same bits.

Python's ``min``, ``max`` and conditional expressions give one of their operands with that operand's own type, and a
variable takes the type of what it was last given.  Where a program mixes single and double precision that would be
rounded differently by static types, so there the operands are converted by name (``np.float64(x)``).  Factors are
powers of two or small, which keeps values bounded and most of them exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz.syntax import (
    Affine,
    Application,
    Assignment,
    Conditional,
    DataComparison,
    Expression,
    IndexValue,
    Number,
    Operation,
    Reference,
    Variable,
)

if TYPE_CHECKING:
    from tests.fuzz.strategy import Author, Scope

WEAK_FLOAT, WEAK_INTEGER = "float", "int"
_RANK = (WEAK_INTEGER, "int32", "int64", WEAK_FLOAT, "float32", "float64")


def is_integer(kind: str) -> bool:
    return kind.startswith("int")


def kind_of(expression: Expression) -> str:
    """The type that plain Python gives the value: a NumPy type, or Python's ``int`` or ``float``."""
    match expression:
        case Number(value):
            return WEAK_INTEGER if isinstance(value, int) else WEAK_FLOAT
        case Variable(_, dtype) | Reference(_, dtype, _):
            return dtype
        case IndexValue():
            return WEAK_INTEGER
        case Operation(symbol, left, right):
            joined = _join(kind_of(left), kind_of(right))
            return "float64" if symbol == "/" and is_integer(joined) else joined
        case Application(function, arguments):
            if function.startswith("np.float") or function.startswith("np.int"):
                return function.removeprefix("np.")
            if function.startswith("math."):
                return WEAK_FLOAT
            return _join(*(kind_of(argument) for argument in arguments))
        case Conditional(_, then, otherwise):
            return _join(kind_of(then), kind_of(otherwise))


def _join(*kinds: str) -> str:
    """NumPy's promotion (NEP 50)."""
    joined = max(kinds, key=_RANK.index)
    strong_integer = any(kind in ("int32", "int64") for kind in kinds)
    return "float64" if strong_integer and joined in (WEAK_FLOAT, "float32") else joined


class ValueWriter:
    """Writes the expressions and assignments of one program."""

    def __init__(self, author: Author):
        self.author = author
        self.floats = [kind for kind in author.types if not is_integer(kind)]
        self.single = "float32" in author.types
        self.has_doubles = "float64" in author.types

    def variable_type(self, kind: str) -> str:
        """The type of a new scalar variable in place of an element of the given type."""
        if is_integer(kind):
            return "int64"
        return "float64" if self.has_doubles else "float32"

    # Assignments

    def assignment(self, target: Reference | Variable, scope: Scope) -> Assignment:
        if self.author.chance(50):
            return self.update(target, scope)
        return Assignment(target, "=", self._converted(self.expression(target.dtype, scope, 2), target))

    def definition(self, variable: Variable, scope: Scope) -> Assignment:
        first = Number(0 if is_integer(variable.dtype) else 0.0)
        value = first if self.author.chance(40) else self.expression(variable.dtype, scope, 1)
        return Assignment(variable, "=", self._converted(value, variable))

    def use(self, known: Variable | Reference, target: Reference, scope: Scope) -> Assignment:
        """An assignment to an element in which a value known before occurs, unless its type forbids."""
        if is_integer(target.dtype) and not is_integer(known.dtype):
            value = self.expression(target.dtype, scope, 1)
        else:
            value = known if is_integer(target.dtype) else self._floating(known)
            if self.author.chance(50):
                value = Operation(self.author.choose("+-"), value, self.expression(target.dtype, scope, 1))
        return Assignment(target, self.author.choose(("=", "+=")), self._same_type(value, target.dtype))

    def average(self, target: Reference, points: list[Reference]) -> Assignment:
        """A weighted sum of points; where an integer comes of floating point, the target's old value instead."""
        integer = is_integer(target.dtype)
        terms = [point for point in points if is_integer(point.dtype) or not integer] or [target]
        value: Expression = terms[0] if integer else self._floating(terms[0])
        for term in terms[1:]:
            value = Operation("+", value, term if integer else self._floating(term))
        scaled = Operation("//", value, Number(2)) if integer else Operation("*", Number(0.5), value)
        return Assignment(target, "=", scaled)

    def recurrence(self, target: Reference, before: Reference, other: Reference) -> Assignment:
        """An element made of one before it in the same array and another element, which may have to be left out."""
        if is_integer(target.dtype):
            added = other if is_integer(other.dtype) else Number(3)
            return Assignment(target, "=", Operation("%", Operation("+", before, added), Number(11)))
        halved = Operation("*", Number(self.author.choose((0.5, -0.25))), before)
        return Assignment(target, "=", Operation(self.author.choose("+-"), self._floating(other), halved))

    def update(self, target: Reference | Variable, scope: Scope) -> Assignment:
        """A new value made of the old one: reductions in their different spellings, scalings and smoothings."""
        value = self._same_type(self.expression(target.dtype, scope, 2), target.dtype)
        match self.author.choose("aaaasflmxz"):
            case "a":
                return Assignment(target, "+=", value)
            case "s":
                return Assignment(target, "-=", value)
            case "f":
                return Assignment(target, "=", Operation("+", target, value))
            case "l":
                return Assignment(target, "=", Operation("+", value, target))
            case "m":
                return self._extremum(target, value)
            case "x" if is_integer(target.dtype):
                return Assignment(target, "%=", Number(self.author.choose((7, 5))))
            case "x":
                return Assignment(target, "*=", self.author.choose((Number(0.5), Variable("alpha", WEAK_FLOAT))))
        if is_integer(target.dtype):
            return Assignment(target, "=", Operation("%", Operation("+", target, value), Number(11)))
        halved = Operation("+", Operation("*", Number(0.5), target), Operation("*", Number(0.25), value))
        return Assignment(target, "=", halved)

    def _extremum(self, target: Reference | Variable, value: Expression) -> Assignment:
        arguments = [target, value] if self.author.chance(70) else [value, target]
        function = self.author.choose(("max", "min"))
        return Assignment(target, "=", Application(function, self._alike(arguments)))

    # Expressions

    def data_condition(self, scope: Scope) -> DataComparison:
        dtype = self.author.choose(self.author.types)
        limit = Number(self.author.choose((0, 1) if is_integer(dtype) else (0.0, 0.75)))
        return DataComparison(self._leaf(dtype, scope), self.author.choose((">", "<", ">=", "==")), limit)

    def expression(self, dtype: str, scope: Scope, depth: int) -> Expression:
        """A value to be stored as ``dtype``: of integers alone where that is an integer type."""
        author = self.author
        if depth == 0 or author.chance(30):
            return self._leaf(dtype, scope)
        left = self.expression(dtype, scope, depth - 1)
        form = author.choose("++++--***cmdqf")
        if form == "f":
            return self._function(dtype, left)
        if form == "q":
            divisor = author.choose((2, 3)) if is_integer(dtype) else author.choose((2.0, 4.0))
            return Operation("//" if is_integer(dtype) else "/", left, Number(divisor))
        right = self.expression(dtype, scope, depth - 1)
        match form:
            case "+" | "-":
                return Operation(form, left, right)
            case "*" if is_integer(dtype):
                return Operation("%", Operation("*", left, right), Number(13))
            case "*":
                factors = Operation("*", left, right) if author.chance(70) else left
                return Operation("*", Number(author.choose((0.5, 0.25))), factors)
            case "c":
                condition = author.condition(scope) if author.chance(70) else self.data_condition(scope)
                return Conditional(condition, *self._alike([left, right]))
            case "m":
                return Application(author.choose(("max", "min")), self._alike([left, right]))
        return Operation("+", left, Operation("*", Number(2 if is_integer(dtype) else 0.5), right))

    def _function(self, dtype: str, argument: Expression) -> Expression:
        magnitude = Application("abs", (argument,))
        if is_integer(dtype) or self.author.chance(50):
            return magnitude
        return Application(self.author.choose(("math.sqrt", "np.sqrt")), (magnitude,))

    def _leaf(self, dtype: str, scope: Scope) -> Expression:
        author = self.author
        integer = is_integer(dtype)
        arrays = [array for array in author.arrays if is_integer(array.dtype) or not integer]
        variables = [variable for variable in scope.variables if is_integer(variable.dtype) or not integer]
        match author.choose("aaaaaaaavvnis"):
            case "v" if variables:
                return self._matching(author.choose(variables), dtype)
            case "s" if not integer:
                return Variable("alpha", WEAK_FLOAT)
            case "i" if scope.iterators:
                index = IndexValue(Affine(((author.choose(scope.iterators), 1),), author.choose((0, 1, -2))))
                return index if integer else Operation("*", Number(0.125), index)
            case "n":
                return Number(author.choose((1, 2, -3) if integer else (1.0, 0.5, -0.25)))
        if not arrays:
            return Number(2 if integer else 1.5)
        array = author.choose(arrays)
        return self._matching(author.reference(array, scope), dtype)

    def _matching(self, value: Expression, dtype: str) -> Expression:
        return value if is_integer(dtype) else self._floating(value)

    def _floating(self, value: Expression) -> Expression:
        """An integer among single precision values is converted by name, because NumPy would go on in double."""
        if self.single and is_integer(kind_of(value)):
            return Application(f"np.{self.variable_type('float32')}", (value,))
        return value

    # Types

    def _converted(self, value: Expression, target: Reference | Variable) -> Expression:
        if isinstance(target, Variable):
            return self._same_type(value, target.dtype)
        return value

    def _same_type(self, value: Expression, dtype: str) -> Expression:
        """The value as ``dtype`` where its own type would be another and precision would tell."""
        if self.single and not is_integer(dtype) and kind_of(value) != dtype:
            return Application(f"np.{dtype}", (value,))
        return value

    def _alike(self, values: list[Expression]) -> tuple[Expression, ...]:
        joined = _join(*(kind_of(value) for value in values))
        if not self.single or joined not in self.floats:
            return tuple(values)
        return tuple(self._same_type(value, joined) for value in values)

"""Random subscripts, bounds and conditions: affine forms, with quotients, remainders, minima, maxima and magnitudes."""

from __future__ import annotations

from tests.fuzz.seeded.choices import Choices, Element, Scope

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class IndexWriter:
    """Writes integer expressions over loop variables and sizes.

    Attributes:
        sizes: the parameters of the program.
        plainness: in how many of a hundred cases a subscript is a loop variable, perhaps with a constant.
    """

    def __init__(self, choices: Choices, sizes: tuple[str, ...], plainness: int):
        self.choices, self.sizes, self.plainness = choices, sizes, plainness

    def subscript(self, scope: Scope, position: int) -> str:
        """A subscript of the dimension at a position."""
        choices = self.choices
        if not scope.iterators:
            return choices.pick(("0", "1", "2", f"{choices.pick(self.sizes)} - 1", f"{choices.pick(self.sizes)} // 2"))
        near = scope.iterators[min(position, len(scope.iterators) - 1)]
        name = near if choices.chance(65) else choices.pick(scope.iterators)
        if scope.indices and choices.chance(20):
            return choices.pick(scope.indices)
        if choices.chance(self.plainness):
            return choices.pick(
                (name, name, name, f"{name} + {choices.pick('1234')}", f"{name} - {choices.pick('12')}")
            )
        return self.index(scope, name)

    def index(self, scope: Scope, name: str) -> str:
        """An integer expression over a variable and perhaps others."""
        choices = self.choices
        other = choices.pick(scope.iterators)
        size = choices.pick(self.sizes)
        constant = choices.pick("012345")
        modulus = choices.pick("234")
        kind = choices.pick("rrrrttthhmmaannxxojjssccf")
        if kind == "r":  # reversed
            return choices.pick(
                (
                    f"{size} - 1 - {name}",
                    f"{size} - {name}",
                    f"{constant} - {name}",
                    f"{size} - 1 - {name} + {constant}",
                )
            )
        if kind == "t":  # strided
            return choices.pick(
                (f"2 * {name}", f"2 * {name} + {constant}", f"3 * {name}", f"{name} + {name}", f"2 * {name} - {other}")
            )
        if kind == "h":
            return choices.pick((f"{name} // {modulus}", f"({name} + {other}) // {modulus}", f"{name} // 2 + {other}"))
        if kind == "m":
            return choices.pick(
                (f"{name} % {modulus}", f"({name} + {other}) % {modulus}", f"({name} + {constant}) % {modulus}")
            )
        if kind == "a":
            return choices.pick((f"abs({name} - {constant})", f"abs({name} - {other})", f"abs({name} - {size} // 2)"))
        if kind == "n":
            return choices.pick(
                (f"min({name} + {constant}, {other})", f"min({name}, {constant})", f"min({name} + 1, {size} - 1)")
            )
        if kind == "x":
            return choices.pick(
                (f"max({name} - 1, {other})", f"max({name}, {constant})", f"max({name} - {constant}, 0)")
            )
        if kind == "o":
            return f"{size} - {other} - {name}"
        if kind == "j":
            return choices.pick((f"{name} + {other}", f"{name} - {other}", f"{name} - {other} + {constant}"))
        if kind == "c":
            return choices.pick((constant, f"{size} - 1", f"{size} // 2"))
        if kind == "f":
            return f"{modulus} * ({name} // {modulus})"
        return choices.pick((f"{name} + {constant}", f"{name} - {constant}"))

    def header(self, scope: Scope, arrays: tuple[Element, ...]) -> str:
        """What a loop iterates over; some loops run over an extent of one of the arrays."""
        choices = self.choices
        low, high = "0", choices.pick(self.sizes)
        kind = choices.pick("ppppppppoossseeellluuubbbqqm")
        outer = choices.pick(scope.iterators) if scope.iterators else None
        if kind == "o":
            low = choices.pick("123")
        elif kind == "s":
            high = choices.pick(
                (f"{high} - 1", f"{high} + 1", f"{high} // 2", "5", "4", f"min({self.sizes[0]}, {self.sizes[-1]})")
            )
        elif kind == "e" and arrays:
            array = choices.pick(arrays)
            high = f"{array.name}.shape[{choices.randrange(array.rank)}]"
            if choices.chance(30):
                low = "1"
        elif kind == "m":
            high = f"abs({self.sizes[0]} - {self.sizes[-1]}) + {choices.pick('12')}"
        elif outer is not None:
            if kind == "l":
                low = choices.pick((outer, f"{outer} + 1", f"max({outer} - 1, 0)", f"abs({outer} - 2)"))
            elif kind == "u":
                high = choices.pick(
                    (outer, f"{outer} + 1", f"{outer} + 2", f"min({outer} + 2, {high})", f"{high} - {outer}")
                )
            elif kind == "b":
                low, high = f"max(0, {outer} - 1)", f"min({high}, {outer} + 2)"
            elif kind == "q":
                low = choices.pick((f"{outer} // 2", f"{outer} % 3", f"{outer} % 2"))
                high = choices.pick((high, f"{outer} % 4 + 1", f"{high} - 1", f"{outer} // 2 + 2"))
        step = choices.pick((1,) * 26 + (2, 2, 3, 3, 4, -1, -1, -1, -2, -3))
        if step < 0:
            first = high if high.isdigit() else f"{high} - 1"
            return f"range({first}, {low} - 1, {step})"
        if step > 1:
            return f"range({low}, {high}, {step})"
        return f"range({high})" if low == "0" else f"range({low}, {high})"

    def condition(self, scope: Scope) -> str:
        """A condition on loop variables and sizes."""
        choices = self.choices
        if not scope.iterators:
            return choices.pick(
                (
                    f"{self.sizes[0]} > {choices.pick('123')}",
                    f"{self.sizes[0]} <= {self.sizes[-1]}",
                    f"{self.sizes[0]} % 2 == 0",
                )
            )
        name, other = choices.pick(scope.iterators), choices.pick(scope.iterators)
        size, constant, modulus = choices.pick(self.sizes), choices.pick("01234"), choices.pick("234")
        comparison = choices.pick(COMPARISONS)
        remainder = choices.randrange(int(modulus))
        equal = choices.pick(("==", "!="))
        kind = choices.pick("gggggcccsswabbn")
        if kind == "g":
            number = choices.pick(
                (name, name, f"({name} + {other})", f"({name} + {constant})", f"(2 * {name} - {other})")
            )
            return f"{number} % {modulus} {equal} {remainder}"
        if kind == "s":
            return choices.pick(
                (f"{name} {equal} {size} - 1", f"{name} {comparison} {size} // 2", f"2 * {name} {comparison} {size}")
            )
        if kind == "w":
            return f"{choices.pick('01')} <= {name} - {other} < {choices.pick('123')}"
        if kind == "a":
            return f"abs({name} - {other}) {comparison} {constant}"
        if kind == "b":
            return f"{name} {comparison} {other} {choices.pick(('and', 'or'))} {other} % 2 {equal} {constant}"
        if kind == "n":
            return f"not {name} {comparison} {constant}"
        return choices.pick((f"{name} {comparison} {constant}", f"{name} {comparison} {other} + {constant}"))

"""Random programs with numbers of NumPy's types as arguments: sizes, bounds, steps, subscripts and factors.

Each is a function of a seed.  What they compute stays within the types, so that NumPy warns of nothing: a size is of a
type that holds it and what is made of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.samples import Sample, first_made
from tests.fuzz.seeded.choices import Choices

_INDENT = "    "
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp")
_FLOATS = ("float32", "float64", "float32", "float16")
_SIZES = (0, 1, 2, 3, 5, 8)
_RANGES = ("n", "m", "1, n", "n - 1, -1, -1", "0, n, s", "n // 2", "min(n, m)", "n - 1", "k, n", "m + 1", "x.size - k")
_SUBSCRIPTS = (
    "{0}",
    "{0}",
    "{0}",
    "n - 1 - {0}",
    "k",
    "({0} + k) % n",
    "-1 - {0}",
    "{0} // s",
    "m - 1",
    "{0} - k",
    "-k",
)
_SLICES = ("k:", ":n", ":-k", "k:n", "::s", "n - 2:", ":n // 2", "k:k + 2", "-n:", "m:")
_ALONE = (
    "a",
    "b",
    "k",
    "a * b",
    "a * n",
    "k * s",
    "n - m",
    "-k",
    "a + 1",
    "b * 0.5",
    "n / 2",
    "abs(k - 3)",
    "n // s",
    "n % s",
)
_MADE = (
    "np.zeros(n)",
    "np.ones((n, m))",
    "np.full(n, a)",
    "np.arange(n)",
    "np.ones(m)",
    "np.full(m, k)",
    "np.arange(k, n)",
)


def sample_of(seed: int) -> Sample:
    """The program of a seed."""
    return first_made(lambda attempt: _Author(Choices(f"number types {seed}/{attempt}")).sample())


class _Author:
    """Writes one program."""

    def __init__(self, choices: Choices):
        self.choices = choices
        n, m = choices.pick(_SIZES), choices.pick(_SIZES)
        random = f"np.random.default_rng({choices.randint(0, 99)})"
        dtypes = [choices.pick(("float64", "float64", "float32", "int64", "int32", "int16", "uint8")) for _ in "xy"]
        self.setup = (
            ("n", self.integer(n)),
            ("m", self.integer(m)),
            ("k", self.integer(choices.pick((0, 1, 1, 2, 3)))),
            ("s", self.integer(choices.pick((1, 1, 2, 3)))),
            ("a", self.number()),
            ("b", self.number()),
            ("x", f"{random}.integers(0, 9, {n + 3}).astype(np.{dtypes[0]})"),
            ("y", f"{random}.integers(0, 9, {n + m + 2}).astype(np.{dtypes[1]})"),
            (
                "M",
                f"({random}.integers(0, 9, ({n + 2}, {m + 2})) / 4).astype(np.{choices.pick(('float64', 'float32'))})",
            ),
        )
        self.names = 0

    def integer(self, value: int) -> str:
        choices = self.choices
        return str(value) if choices.chance(25) else f"np.{choices.pick(_INTEGERS)}({value})"

    def number(self) -> str:
        choices = self.choices
        if choices.chance(30):
            return f"np.{choices.pick(_INTEGERS)}({choices.pick((1, 2, 3))})"
        if choices.chance(15):
            return str(choices.pick(("0.5", "2", "np.bool_(True)")))
        return f"np.{choices.pick(_FLOATS)}({choices.pick(('0.5', '1.5', '0.25', '2'))})"

    def sample(self) -> Sample | None:
        """The program, or None where nothing is left of it."""
        choices = self.choices
        body: list[str] = []
        results: list[str] = []
        for _ in range(choices.randint(1, 4)):
            known = list(results)
            made = self.statement((), known)
            if self.runs([*body, *made]):
                body += made
                results = known
        if not body:
            return None
        if results and choices.chance(80):
            body.append(f"return {', '.join(results[-3:])}")
        parameters = ", ".join(name for name, _ in self.setup)
        return Sample(self.text(body), self.setup, parameters, choices.chance(50), numpy=True)

    def text(self, body: Sequence[str]) -> str:
        head = f"def kernel({', '.join(name for name, _ in self.setup)}):"
        return f"\n{_INDENT}".join((head, *body)) + "\n"

    def runs(self, body: Sequence[str]) -> bool:
        call = ", ".join(name for name, _ in self.setup)
        return Sample(self.text(body), self.setup, call, strict=True).runs_without_warnings()

    # Statements

    def statement(self, iterators: tuple[str, ...], results: list[str]) -> list[str]:
        """The lines of a statement; new names are added to the results."""
        choices = self.choices
        kind = choices.randrange(100)
        if kind < 45 and len(iterators) < 2:
            iterator = "ij"[len(iterators)]
            inner = [
                line for _ in range(choices.pick((1, 1, 2))) for line in self.statement((*iterators, iterator), [])
            ]
            head = f"for {iterator} in range({choices.pick(_RANGES)}):"
            lines = [head, *(f"{_INDENT}{line}" for line in inner)]
            if choices.chance(25) and not iterators:
                self.names += 1
                name = f"t{self.names}"
                results.append(name)
                # Its type is that of a sum of none of the values, too.
                return [f"{name} = np.float64(0)", *lines[:1], f"{_INDENT}{name} += {self.value((iterator,))}"]
            return lines
        if kind < 60 and not iterators:
            self.names += 1
            name = f"v{self.names}"
            results.append(name)
            part = choices.pick(
                (self.slice("x"), self.slice("y"), f"M[{choices.pick(_SLICES)}, {choices.pick(_SLICES)}]")
            )
            made = choices.pick(
                (*_MADE, *_ALONE, f"{part} * {choices.pick(_ALONE)}", f"{part} + {choices.pick('abk')}")
            )
            return [f"{name} = {made}"]
        if kind < 70:
            target = self.slice(choices.pick(("x", "y")))
            operator = choices.pick(("=", "+=", "*="))
            return [f"{target} {operator} {choices.pick(('a', 'b', 'k', '1', 'n'))}"]
        if kind < 78:
            test = choices.pick(("n > m", "k < 2", "a > 1", "n % s == 0", "x[k] > b", "not k", "n == x.size - 3"))
            return [f"if {test}:", f"{_INDENT}{self.assignment(iterators)}"]
        return [self.assignment(iterators)]

    def assignment(self, iterators: tuple[str, ...]) -> str:
        operator = self.choices.pick(("=", "=", "+=", "-=", "*="))
        return f"{self.element(iterators)} {operator} {self.value(iterators)}"

    # Expressions

    def slice(self, name: str) -> str:
        return f"{name}[{self.choices.pick(_SLICES)}]"

    def subscript(self, iterators: tuple[str, ...]) -> str:
        iterator = self.choices.pick(iterators) if iterators else "k"
        return str(self.choices.pick(_SUBSCRIPTS)).format(iterator)

    def element(self, iterators: tuple[str, ...]) -> str:
        name = self.choices.pick(("x", "x", "y", "M"))
        if name == "M":
            return f"M[{self.subscript(iterators)}, {self.subscript(iterators)}]"
        return f"{name}[{self.subscript(iterators)}]"

    def value(self, iterators: tuple[str, ...]) -> str:
        choices = self.choices
        one = self.element(iterators)
        return str(
            choices.pick(
                (
                    one,
                    f"{one} * {choices.pick('abk')}",
                    f"{one} + {choices.pick(_ALONE)}",
                    choices.pick(_ALONE),
                    f"{one} + {self.element(iterators)} * {choices.pick('ab')}",
                    f"min({one}, a)",
                    f"{choices.pick('nmk')} * {choices.pick((*iterators, '2'))}",
                    f"a if {one} > b else {choices.pick(('b', 'k', '1.0'))}",
                )
            )
        )

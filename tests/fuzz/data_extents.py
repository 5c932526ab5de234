"""Random programs of arrays whose extents depend on data, each a function of a seed: slices by numbers from an array,
elements that a mask selects, subscripts that count from the end, and elements one by one in comprehensions.

A statement is kept where NumPy runs the program with it, so that what is compared are results; in some programs one
that fails is left at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.fuzz.samples import Sample, first_made
from tests.fuzz.seeded.choices import Choices

_VECTORS = ("x", "y", "z")
_BOUNDS = (
    *(
        "a",
        "b",
        "c",
        "-a",
        "-b",
        "a + 1",
        "b - 1",
        "a - b",
        "a + b",
        "idx[0]",
        "idx[2]",
        "a % 3",
        "min(a, 3)",
        "abs(b)",
    ),
    *("0", "1", "2", "3", "-1", "-2", "7", "len(x)", "len(y)", "y.size", "", "", ""),
)
_STEPS = ("", "", "", "", "", "", "", ":-1", ":2", ":-2")
_SUMS = ("np.sum({})", "{}.sum()", "np.max({})", "len({})", "np.argmin({})", "np.any({} > 2.0)", "np.prod({})")
_SELECTIONS = (
    "{0}[{0} > {1}]",
    "np.flatnonzero({0} > {1})",
    "np.nonzero({0} < {1})[0]",
    "np.unique({0})",
    "np.compress({0} > {1}, {0})",
    "np.array([v * 2.0 for v in {0}])",
)
_COMPREHENSIONS = (
    "sum(v * v for v in {0})",
    "max(v - 1.0 for v in {0})",
    "min(x[i - 1] for i in range(a))",
    "any(v > 3.0 for v in {0})",
    "sum(x[i - 1] - x[-1 - i] for i in range(len(x)))",
    "sum([v for v in {0} if v > {1}])",
)
_DEEPEST = 2


def sample_of(seed: int) -> Sample:
    """The program of a seed."""
    return first_made(lambda attempt: _Author(Choices(f"data extents {seed}/{attempt}")).sample())


class _Author:
    """Writes one program."""

    def __init__(self, choices: Choices):
        self.choices = choices
        extents = [choices.pick((1, 4, 5, 7)) for _ in _VECTORS]
        if choices.chance(50):
            extents = [extents[0]] * 3
        shape = choices.pick(((3, 4), (5, 7), (2, extents[0])))
        numbers = [choices.randint(-3, 9) for _ in range(3)]
        numbers = sorted(map(abs, numbers)) if choices.chance(50) else numbers
        dtype = choices.pick(("int64", "int64", "int32", "int8"))
        random = f"np.random.default_rng({choices.randint(0, 99)})"
        self.setup = (
            *((name, f"{random}.integers(0, 9, {extent}) / 2") for name, extent in zip(_VECTORS, extents, strict=True)),
            ("M", f"np.arange({shape[0] * shape[1]}.0).reshape{shape} / 4"),
            ("idx", f"np.array({numbers}, np.{dtype})"),
        )
        self.names = 0

    def sample(self) -> Sample | None:
        """The program, or None where nothing is left of it."""
        choices = self.choices
        body: list[str] = []
        views: list[str] = []
        for _ in range(choices.randint(2, 6)):
            made = self.statement((), views, 1)
            if self.runs([*body, *made]):
                body += made
            elif choices.chance(4) and body:
                body += made
                break
            views = [view for view in views if any(f" {view} = " in line for line in body)]
        if not body:
            return None
        parameters = ", ".join(name for name, _ in self.setup)
        return Sample(self.text(body), self.setup, parameters, choices.chance(50), numpy=True)

    def text(self, body: Sequence[str]) -> str:
        head = f"def kernel({', '.join(name for name, _ in self.setup)}):"
        first = [f"    {name} = idx[{place}]" for place, name in enumerate("abc")]
        return "\n".join((head, *first, "    total = 0.0", *body, "    return total", ""))

    def runs(self, body: Sequence[str]) -> bool:
        call = ", ".join(name for name, _ in self.setup)
        return Sample(self.text(body), self.setup, call, strict=True).runs_without_warnings()

    # Statements

    def statement(self, iterators: Sequence[str], views: list[str], depth: int) -> list[str]:
        """The lines of a statement, indented; new names of arrays are added to the views."""
        choices, indent = self.choices, "    " * depth
        part = self.slice(iterators) if choices.chance(70) else None
        kind = choices.randrange(100)
        if kind < 30:
            target = f"{choices.pick(_VECTORS)}[{part or self.slice(iterators)}]"
        elif kind < 38:
            row = self.slice(iterators) if choices.chance(50) else choices.pick(("0", "-1", "a % 2"))
            target = f"M[{row}, {part or self.slice(iterators)}]"
        elif kind < 56:
            return [f"{indent}total += {self.number(iterators, part, views)}"]
        elif kind < 68:
            self.names += 1
            name = f"v{self.names}"
            line = f"{indent}{name} = {self.named(iterators, part, views)}"
            views.append(name)
            return [line]
        elif kind < 73:
            value = choices.pick(("1", "2", "b", "c - 1", "len(y[a:b])"))
            return [f"{indent}{choices.pick('abc')} {choices.pick(('=', '+=', '-='))} {value}"]
        else:
            return self.compound(iterators, views, depth)
        operator = choices.pick(("=", "=", "+=", "*="))
        return [f"{indent}{target} {operator} {self.array(iterators, part, views)}"]

    def compound(self, iterators: Sequence[str], views: Sequence[str], depth: int) -> list[str]:
        """A loop or a branch with what is in it, or a test that raises."""
        choices, indent = self.choices, "    " * depth
        inner = [*iterators]
        behind: list[str] = []
        kind = choices.randrange(100)
        if kind < 12 or depth > _DEEPEST:
            return [f"{indent}if total > 9000.0:", f"{indent}    raise ValueError('too much')"]
        if kind < 50:
            inner.append("ij"[depth - 1])
            head = [f"{indent}for {inner[-1]} in range({choices.pick(('3', '4', 'len(idx)', 'len(y)', 'b'))}):"]
        elif kind < 75:
            head = [f"{indent}if {choices.pick(('a < b', 'x[0] > 2.0', 'total > 5.0', 'c == 2'))}:"]
        elif kind < 82:
            head = [f"{indent}for v in {choices.pick(_VECTORS)}[{self.slice(iterators)}]:", f"{indent}    total += v"]
        else:
            inner.append(f"k{depth}")
            head = [f"{indent}k{depth} = 0", f"{indent}while k{depth} < 3 and x[k{depth}] < 50.0:"]
            behind = [f"{indent}    k{depth} += 1"]
        known = list(views)
        body = [line for _ in range(choices.randint(1, 2)) for line in self.statement(inner, known, depth + 1)]
        return [*head, *body, *behind]

    # Expressions

    def slice(self, iterators: Sequence[str]) -> str:
        bounds = [*_BOUNDS, *(text for name in iterators for text in (name, f"{name} + 1", f"-{name}"))]
        return f"{self.choices.pick(bounds)}:{self.choices.pick(bounds)}{self.choices.pick(_STEPS)}"

    def vector(self, iterators: Sequence[str], part: str | None, views: Sequence[str]) -> str:
        """An array of one dimension; the part of it, where one is given."""
        choices = self.choices
        part = part or self.slice(iterators)
        kind = choices.randrange(100)
        if views and kind < 25:
            return str(choices.pick(views))
        if kind < 80:
            return f"{choices.pick(_VECTORS)}[{part}]"
        if kind < 88:
            return f"M[{choices.pick(('0', '1', 'a % 2', '-1'))}, {part}]"
        if kind < 94:
            return f"M[{part}, {choices.pick(('0', '-1', 'a % 2'))}]"
        return f"np.abs({choices.pick(_VECTORS)}[{part}])"

    def array(self, iterators: Sequence[str], part: str | None, views: Sequence[str]) -> str:
        choices = self.choices
        one, two, three = (self.vector(iterators, part, views) for _ in range(3))
        return str(
            choices.pick(
                (
                    *(one,) * 3,
                    *(f"{one} {choices.pick('+*-')} {two}",) * 4,
                    f"2.0 * {one} + 1.0",
                    choices.pick(("0.0", "3.0")),
                    f"np.where({one} > 1.0, {two}, {three})",
                )
            )
        )

    def named(self, iterators: Sequence[str], part: str | None, views: Sequence[str]) -> str:
        """What a name is given: an array of as many elements as the data say, or a view."""
        choices = self.choices
        one = self.vector(iterators, part, views)
        if choices.chance(45):
            one = choices.pick(_VECTORS) if choices.chance(60) else one
            return str(choices.pick(_SELECTIONS)).format(one, choices.pick(("0.5", "2.0", "x[0]")))
        return str(choices.pick((one, f"{one}.copy()", f"{one} + {self.vector(iterators, part, views)}")))

    def number(self, iterators: Sequence[str], part: str | None, views: Sequence[str]) -> str:
        choices = self.choices
        one = self.vector(iterators, part, views)
        if choices.chance(15):
            return f"{one} @ {self.vector(iterators, part, views)}"
        if choices.chance(25):
            return str(choices.pick(_COMPREHENSIONS)).format(one, choices.pick(("0.5", "2.0")))
        found: Any = choices.pick(_SUMS)
        return str(found).format(f"({self.array(iterators, part, views)})" if choices.chance(50) else one)

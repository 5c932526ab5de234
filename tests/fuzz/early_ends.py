"""Random programs of loops that end early, with what comes before and after them: each a function of a seed.

``break`` and ``continue`` under conditions on data, in loops around others and in those, ``return`` out of loops,
``else`` of loops, ``while`` with tests of convergence, functions that return out of loops, loops that go on where
others have ended, and the loops' variables and what was found behind them.  Data are multiples of 1/4, so that no sum
of the few that there are is rounded, and every order of them decides alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.fuzz.samples import Sample, first_made
from tests.fuzz.seeded.choices import Choices

_INDENT = "    "
_ITERATORS = "ijk"
_SEARCHES = (
    "    for t in range(len(v)):\n        if v[t] > c:\n            return t\n    return -1\n",
    "    s = 0.0\n    for t in range(len(v)):\n        s += v[t]\n        if s > c:\n            break\n    return t\n",
    "    for t in range(len(v)):\n        if v[t] < 0.0:\n            continue\n        if v[t] > c:\n"
    "            return t\n    else:\n        return -2\n    return -1\n",
    "    t = 0\n    while t < len(v) - 1 and v[t] <= c:\n        t += 1\n    return t\n",
)
_HEADS = (
    "range(n)",
    "range(n)",
    "range(n)",
    "range(m)",
    "range(1, n)",
    "range(n - 1)",
    "range(n - 1, -1, -1)",
    "range(0, n, 2)",
    "range(4)",
    "range(len(x))",
)


@dataclass(frozen=True)
class _Place:
    """Where a statement is.

    Attributes:
        iterators: those of the loops around, outermost first.
        behind: iterators of loops that are over.
        may_break: whether there is a loop around that `break` may end here.
        depth: how many blocks are around.
    """

    iterators: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    may_break: bool = False
    depth: int = 0


def sample_of(seed: int) -> Sample:
    """The program of a seed."""
    return first_made(lambda attempt: _Author(Choices(f"early ends {seed}/{attempt}")).sample())


class _Author:
    """Writes one program."""

    def __init__(self, choices: Choices):
        self.choices = choices
        extents = [choices.pick((1, 2, 3, 5, 6, 9)) for _ in "nm"]
        extents = [extents[0]] * 2 if choices.chance(70) else extents
        n, m = extents
        dtype = "float64" if choices.chance(85) else "float32"
        random = f"np.random.default_rng({choices.randint(0, 99)})"

        def values(shape: str) -> str:
            return f"({random}.integers(-8, 9, {shape}) / 4).astype(np.{dtype})"

        self.setup = (
            ("n", str(n)),
            ("m", str(m)),
            ("x", values(f"{n}")),
            ("y", values(f"{n}")),
            ("M", values(f"({n}, {m})")),
            ("p", f"{random}.integers(0, {n}, {m})"),
            ("tol", choices.pick(("0.3", "0.1", "1.1", "2.3"))),
        )
        self.single = dtype == "float32"
        self.search = choices.pick(_SEARCHES) if choices.chance(25) else ""
        self.array_expressions = choices.chance(50)
        self.returns = choices.chance(35)
        self.is_small = choices.chance(60)
        self.fresh = 0

    def sample(self) -> Sample | None:
        """The program, or None where no loop of it ends early."""
        choices = self.choices
        body: list[str] = []
        place = _Place()
        for _ in range(choices.randint(1, 2 if self.is_small else 4)):
            made, after = self.statement(place, loops=80)
            if self.runs([*body, *made]):
                body += made
                place = after
        if not any(word in line for line in body for word in ("break", "continue", "while", "return", "search(")):
            return None
        parameters = ", ".join(name for name, _ in self.setup)
        return Sample(self.text(body), self.setup, parameters, choices.chance(50), numpy=True)

    def text(self, body: Sequence[str]) -> str:
        helper = f"def search(v, c):\n{self.search}\n\n" if self.search else ""
        head = f"def kernel({', '.join(name for name, _ in self.setup)}):"
        lines = (head, "total = 0.0", "found = -1", "rest = 9.0", *body, "return total, found, rest")
        return helper + f"\n{_INDENT}".join(lines) + "\n"

    def runs(self, body: Sequence[str]) -> bool:
        call = ", ".join(name for name, _ in self.setup)
        return Sample(self.text(body), self.setup, call, strict=True).runs_without_warnings()

    # Statements

    def block(self, place: _Place, length: int, loops: int = 30) -> list[str]:
        lines: list[str] = []
        for _ in range(length):
            made, place = self.statement(place, loops)
            lines += made
        return [f"{_INDENT}{line}" for line in lines]

    def statement(self, place: _Place, loops: int) -> tuple[list[str], _Place]:
        """The lines of a statement, and where the next one is."""
        choices = self.choices
        if len(place.iterators) < (2 if self.is_small else 3) and place.depth < 4 and choices.chance(loops):
            return self.loop(place)
        kind = choices.randrange(100)
        if place.iterators and kind < 30:
            return self.jump(place), place
        if kind < 38:
            return [f"total += {self.value(place)}"], place
        if kind < 44 and place.iterators:
            return [f"found = {choices.pick((place.iterators[-1], f'{place.iterators[0]} + 1'))}"], place
        if kind < 48:
            return [
                f"if found >= 0 and found < {choices.pick(('n', 'n', 'n - 1'))}:",
                f"{_INDENT}{choices.pick(('x', 'y'))}[found] {choices.pick(('=', '+='))} {self.value(place)}",
            ], place
        if kind < 54 and self.search:
            vector = choices.pick(("x", "y", "M[0]", "M[:, 0]", "x[1:]"))
            return [f"found = search({vector}, {choices.pick(('0.6', 'tol', 'total'))})"], place
        if kind < 64 and self.array_expressions:
            return [self.array_statement()], place
        if kind < 72 and place.depth < 4:
            inner = replace(place, depth=place.depth + 1)
            return [f"if {self.condition(place)}:", *self.block(inner, choices.pick((1, 1, 2)), 10)], place
        if kind < 76 and place.behind:
            return [f"total += {choices.pick(place.behind)}"], place
        return [self.assignment(place)], place

    def loop(self, place: _Place) -> tuple[list[str], _Place]:
        choices = self.choices
        kind = choices.randrange(100)
        if kind < 12:
            return self.convergence(place), place
        if kind < 20:
            return self.advance(place), place
        iterator = _ITERATORS[len(place.iterators)]
        inner = replace(place, iterators=(*place.iterators, iterator), behind=(), may_break=True, depth=place.depth + 1)
        body = self.block(inner, choices.pick((1, 2, 2, 3) if self.is_small else (1, 2, 3, 3, 4)), 35)
        head = choices.pick(_HEADS)
        if place.iterators and choices.chance(20):
            head = choices.pick((f"range({place.iterators[-1]}, n)", f"range({place.iterators[-1]})"))
        lines = [f"for {iterator} in {head}:", *body]
        if choices.chance(15):
            lines += ["else:", *self.block(replace(place, depth=place.depth + 1), 1, 15)]
        return lines, replace(place, behind=(*place.behind, iterator))

    def jump(self, place: _Place) -> list[str]:
        """``break``, ``continue`` or ``return`` under a condition on data."""
        choices = self.choices
        before: list[str] = []
        if choices.chance(30):
            before.append(f"found = {place.iterators[-1]}")
        if choices.chance(20):
            before.append(self.assignment(place))
        kind = choices.randrange(100)
        last = "break" if kind < 60 else "continue"
        if not place.may_break or (self.returns and kind > 80):
            last = "return total, found, rest" if self.returns else self.assignment(place)
        lines = [f"if {self.condition(place)}:", *(f"{_INDENT}{line}" for line in (*before, last))]
        if choices.chance(15):
            lines += ["else:", f"{_INDENT}{self.assignment(place)}"]
        return lines

    def convergence(self, place: _Place) -> list[str]:
        """Sweeps until little changes, with the test at the beginning, in the middle or at the end."""
        choices = self.choices
        self.fresh += 1
        count = f"count{self.fresh}"
        inner = replace(place, may_break=True, depth=place.depth + 1)
        iterator = _ITERATORS[len(place.iterators)]
        within = replace(inner, iterators=(*place.iterators, iterator))
        change = choices.pick(
            (
                f"rest += abs({self.element(within)} - {self.element(within)})",
                f"rest = max(rest, abs({self.element(within)}))",
            )
        )
        sweep = [
            "rest = 0.0",
            f"for {iterator} in {choices.pick(('range(n)', 'range(1, n)'))}:",
            f"{_INDENT}{change}",
            f"{_INDENT}{self.assignment(within)}",
        ]
        if self.array_expressions and choices.chance(40):
            sweep = [
                f"rest = np.{choices.pick(('sum', 'max'))}(np.abs({choices.pick(('x - y', 'x', 'M - 0.25', 'y'))}))",
                self.array_statement(),
            ]
        test = [f"if rest < {choices.pick(('tol', '0.6', 'tol * n'))}:", f"{_INDENT}break"]
        if choices.chance(25):
            test.insert(1, f"{_INDENT}found = {count}")
        more = [line.removeprefix(_INDENT) for line in self.block(inner, choices.pick((0, 1, 1, 2)), 50)]
        step, limit = [f"{count} += 1"], choices.pick((2, 4, 6))
        kind = choices.randrange(4)
        if kind == 0:
            lines = [f"while rest > tol and {count} < {limit}:", *_indented([*sweep, *more, *step])]
        elif kind == 1:
            parts = [*sweep, *test, *more] if choices.chance(50) else [*test, *sweep, *more]
            lines = [f"for {count} in range({limit}):", *_indented(parts)]
        elif kind == 2:
            ends = [f"if {count} >= {limit}:", f"{_INDENT}break"]
            lines = ["while True:", *_indented([*step, *ends, *sweep, *test, *more])]
        else:
            lines = [f"while {count} < {limit}:", *_indented([*step, *test, *sweep, *more])]
        if any(line.strip() == "continue" for line in more) and kind == 0:
            lines = [line if line.strip() != "continue" else line.replace("continue", "break") for line in lines]
        return [f"{count} = 0", *lines, f"total += {count}"]

    def advance(self, place: _Place) -> list[str]:
        """A search by ``while``."""
        choices = self.choices
        self.fresh += 1
        name = f"at{self.fresh}"
        test = choices.pick((f"x[{name}] < {self.number(place)}", f"y[{name}] != 0.5", f"M[{name}, 0] > x[{name}]"))
        lines = [f"{name} = 0", f"while {name} < n - 1 and {test}:"]
        if choices.chance(50):
            lines.append(f"{_INDENT}y[{name}] = x[{name}] * 0.5")
        lines.append(f"{_INDENT}{name} += 1")
        use = choices.pick((f"x[{name}] = 0.25", f"total += x[{name}]", f"found = {name}"))
        return [*lines, use]

    def assignment(self, place: _Place) -> str:
        target, operator = self.element(place), self.choices.pick(("=", "=", "=", "+=", "-=", "*="))
        if operator == "*=":
            return f"{target} *= 0.5"
        return f"{target} {operator} {self.value(place)}"

    def array_statement(self) -> str:
        return str(
            self.choices.pick(
                (
                    "x[:] = x * 0.5",
                    "x[:] = y - 0.25",
                    "y[1:] = y[:-1] * 0.5",
                    "M[:, 0] = x",
                    "M[0] = M[-1] * 0.5",
                    "M *= 0.5",
                    "x += y * 0.5",
                    "y[:] = M[:, -1]",
                    "rest = np.sum(np.abs(x))",
                    "rest = np.max(y)",
                    "y[:] = np.where(x > 0.3, x, y)",
                    "total += np.sum(M)",
                )
            )
        )

    # Expressions

    def subscript(self, place: _Place) -> str:
        choices = self.choices
        if not place.iterators:
            return str(choices.pick(("0", "-1", "n - 1", "n // 2")))
        iterator = choices.pick((place.iterators[-1], *place.iterators))
        forms = (*(iterator,) * 9, f"n - 1 - {iterator}", f"{iterator} - 1", "0", "-1", f"({iterator} + 1) % n")
        return str(choices.pick(forms))

    def element(self, place: _Place) -> str:
        choices = self.choices
        array = choices.pick(("x", "x", "y", "y", "M", "M"))
        if array != "M":
            if choices.chance(6) and place.iterators:
                return f"{array}[p[{place.iterators[-1]} % m]]"
            return f"{array}[{self.subscript(place)}]"
        row, column = self.subscript(place), self.subscript(place)
        if column not in ("0", "-1") and choices.chance(30):
            column = f"({column}) % m"
        return f"M[{row}, {column}]"

    def value(self, place: _Place) -> str:
        choices = self.choices
        one = self.element(place)
        return str(
            choices.pick(
                (
                    one,
                    f"{one} * 0.5",
                    f"{one} + {self.element(place)} * 0.25",
                    f"0.5 * ({one} - {self.element(place)})",
                    f"{one} - 0.25",
                    choices.pick(("0.5", "-1.0", "2.0")),
                    f"abs({one})",
                )
            )
        )

    def number(self, place: _Place) -> str:
        return str(self.choices.pick(("0.3", "0.6", "1.1", "-0.6", "tol", "1.9")))

    def condition(self, place: _Place) -> str:
        """A condition, on data most often."""
        choices = self.choices
        one, number = self.element(place), self.number(place)
        simple = (
            *(f"{one} {choices.pick('<>')} {number}",) * 4,
            f"{one} > {self.element(place)}",
            f"abs({one}) < {number}",
            f"total > {choices.pick(('1.1', '3.1', '-0.6'))}",
            f"rest < {number}",
            f"found {choices.pick(('>', '<'))} {choices.pick(('0', '1'))}",
            *(() if not place.iterators else (f"{place.iterators[-1]} == {choices.pick(('1', '2', 'm - 1'))}",)),
        )
        first = str(choices.pick(simple))
        if choices.chance(15):
            return f"{first} {choices.pick(('and', 'or'))} {choices.pick(simple)}"
        return first


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"{_INDENT}{line}" for line in lines]

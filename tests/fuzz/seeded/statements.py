"""Random statements and loops, as lines of Python."""

from __future__ import annotations

from tests.fuzz.seeded.choices import ITERATORS, Choices, Element, Scope
from tests.fuzz.seeded.indices import IndexWriter
from tests.fuzz.seeded.values import WEAK_FLOAT, WEAK_INTEGER, Value, ValueWriter, is_integer

INDENT = "    "


def indented(lines: list[str]) -> list[str]:
    return [INDENT + line for line in lines]


class StatementWriter:
    """Writes the body of a program.

    Attributes:
        written: the arrays that may be written.
        left: how many statements there may still be.
        depth: how deep loops are nested at most.
        opaque: whether there may be ``while`` and ``if`` on data.
    """

    def __init__(
        self,
        choices: Choices,
        indices: IndexWriter,
        values: ValueWriter,
        written: tuple[Element, ...],
        statements: int,
        depth: int,
        opaque: bool,
    ):
        self.choices, self.indices, self.values, self.written = choices, indices, values, written
        self.left, self.depth, self.opaque = statements, depth, opaque
        self.procedures: tuple[str, ...] = ()
        self.fresh = 0

    def name(self, letter: str) -> str:
        self.fresh += 1
        return f"{letter}{self.fresh}"

    # Blocks

    def block(self, scope: Scope, length: int) -> tuple[list[str], Scope]:
        lines: list[str] = []
        for _ in range(length):
            if lines and self.left <= 0:
                break
            added, scope = self.node(scope)
            lines += added
        return lines, scope

    def node(self, scope: Scope) -> tuple[list[str], Scope]:
        """Statements that belong together, and the scope after them."""
        choices = self.choices
        nested = len(scope.iterators)
        if nested < self.depth and choices.chance(45 if nested else 88):
            if choices.chance(18):
                return self.accumulation(scope)
            if choices.chance(6):
                return self.buffered(scope), scope
            return self.loop(scope), scope
        self.left -= 1
        kind = choices.pick("aaaaaaaauuuuuummdddiiiieewwtttvcbbl")
        if kind == "d":
            return self.definition(scope)
        if kind == "v" and scope.scalars:
            return self.update_of_variable(scope), scope
        if kind == "i":
            return self.guard(scope, data=0), scope
        if kind == "e" and self.opaque:
            return self.guard(scope, data=100), scope
        if kind == "w" and self.opaque and choices.chance(40):
            return self.halving(scope)
        if kind == "t":
            return self.exchange(scope), scope
        if kind == "c" and scope.iterators:
            return self.counted(scope)
        if kind == "b":
            return self.decision(scope)
        if kind == "l" and self.opaque and len(scope.iterators) < self.depth:
            return self.growing(scope), scope
        return [self.assignment(scope, kind)], scope

    def loop(self, scope: Scope) -> list[str]:
        iterator = ITERATORS[len(scope.iterators)]
        header = self.indices.header(scope, self.values.arrays)
        lines, _ = self.block(scope.within(iterator), self.choices.pick((1, 1, 1, 2, 2, 3)))
        return [f"for {iterator} in {header}:", *indented(lines)]

    # Assignments

    def target(self, scope: Scope) -> tuple[Element, str]:
        array = self.choices.pick(self.written)
        return array, self.values.element(array, scope)

    def assignment(self, scope: Scope, kind: str) -> str:
        """A new value of an element, in every third case made of the old one."""
        array, target = self.target(scope)
        if self.procedures and array.rank == 1 and not array.is_integer and self.choices.chance(25):
            place = target[len(array.name) + 1 : -1]
            value = self.values.value(False, scope, 1)
            return f"{self.choices.pick(self.procedures)}({array.name}, {place}, {self.values.named(value).text})"
        if kind in "um":
            return self.update(target, array.dtype, scope)
        value = self.values.value(array.is_integer, scope, self.choices.pick((0, 1, 1, 2, 3)))
        return f"{target} = {value.text}"

    def update(self, target: str, kind: str, scope: Scope) -> str:
        """A new value made of the old one: sums, products, minima, maxima, in different spellings."""
        choices, integer = self.choices, is_integer(kind)
        value = self.values.value(integer, scope, choices.pick((0, 0, 1, 2)))
        form = choices.pick("++++--*mmxxsrg")
        old = Value(target, kind)
        if form in "+-":
            return f"{target} {form}= {value.text}"
        if form == "*":
            return f"{target} *= {'-1' if integer else choices.pick(('0.5', '-0.5', '2.0'))}"
        if form in "mx":
            first, second = self.values.alike(old, value)
            # Forgets the old value where the new one is NaN, and is no reduction.
            if choices.chance(15):
                first, second = second, first
            return f"{target} = {'min' if form == 'm' else 'max'}({first.text}, {second.text})"
        if form == "s":
            return f"{target} = {value.operand} + {target}"
        if form == "g" and self.opaque:
            # Lines of a block are joined by whoever indents them.
            first, second = self.values.alike(old, value)
            return f"{target} = {second.operand} if {second.operand} < {target} else {first.operand}"
        return f"{target} = {target} + {value.operand}"

    def exchange(self, scope: Scope) -> list[str]:
        """Two elements exchanged, or several assigned at once."""
        array, first = self.target(scope)
        second = self.values.element(array, scope)
        if self.choices.chance(70):
            return [f"{first}, {second} = {second}, {first}"]
        value = self.values.value(array.is_integer, scope, 1)
        return [f"{first}, {second} = {value.text}, {first}"]

    # Variables

    def definition(self, scope: Scope) -> tuple[list[str], Scope]:
        """A variable and its use."""
        name, kind, line = self.variable(scope)
        after = scope.knowing(name, kind)
        return [line, self.use(name, kind, after)], after

    def variable(self, scope: Scope, first: str | None = None) -> tuple[str, str, str]:
        """A new variable: its name, its type, and the line that gives it a value."""
        choices = self.choices
        integer = self.values.floating.startswith("int") or (
            any(array.is_integer for array in self.values.arrays) and choices.chance(25)
        )
        name = self.name("p" if integer else "x")
        kind = "int64" if integer else self.values.floating
        if first is not None:
            value = Value("0" if integer else first, WEAK_INTEGER if integer else WEAK_FLOAT)
        else:
            value = self.values.value(integer, scope, choices.pick((1, 1, 2)))
        if integer:
            return name, kind, f"{name} = {self.values.named(value, 'int64').text}"
        return name, kind, f"{name} = {self.values.named(value).text}"

    def use(self, name: str, kind: str, scope: Scope) -> str:
        """An assignment in which a variable occurs."""
        fitting = [array for array in self.written if array.is_integer == is_integer(kind)]
        array = self.choices.pick(fitting or self.written)
        if array.is_integer and not is_integer(kind):
            return self.assignment(scope, "a")
        value = self.values._floating(Value(name, kind), array.is_integer)
        other = self.values.value(array.is_integer, scope, 1)
        text = self.choices.pick((value.text, f"{value.text} + {other.operand}", f"{other.operand} - {value.text}"))
        return f"{self.values.element(array, scope)} {self.choices.pick(('=', '=', '+=', '-='))} {text}"

    def update_of_variable(self, scope: Scope) -> list[str]:
        name, kind = self.choices.pick(scope.scalars)
        return [self.update_of(name, kind, scope)]

    def update_of(self, name: str, kind: str, scope: Scope) -> str:
        integer = is_integer(kind)
        value = self.values.value(integer, scope, self.choices.pick((0, 1, 1)))
        value = self.values.named(value, kind)
        form = self.choices.pick("+++-mx=*")
        if form in "mx":
            return f"{name} = {'min' if form == 'm' else 'max'}({name}, {value.text})"
        if form == "=":
            return f"{name} = {value.text}"
        if form == "*":
            return f"{name} *= {'-1' if integer else self.choices.pick(('0.5', '-1.0'))}"
        return f"{name} {form}= {value.text}"

    def accumulation(self, scope: Scope) -> tuple[list[str], Scope]:
        """``x = first; for ...: x op= e; A[..] = f(x)``."""
        choices = self.choices
        self.left -= 2
        first = choices.pick(("0.0", "0.0", "1.0", "-3.0"))
        if choices.chance(4):
            first = choices.pick(("np.inf", "-np.inf", "np.nan", "float('inf')"))
        name, kind, line = self.variable(scope, first)
        after = scope.knowing(name, kind)
        iterator = ITERATORS[len(scope.iterators)]
        inner = after.within(iterator)
        body = [self.update_of(name, kind, inner)]
        if choices.chance(20):
            body.append(self.use(name, kind, inner))
        if choices.chance(20):
            body = [f"if {self.values.condition(inner, data=30 * self.opaque)}:", *indented(body)]
        header = self.indices.header(scope, self.values.arrays)
        return [line, f"for {iterator} in {header}:", *indented(body), self.use(name, kind, after)], after

    def counted(self, scope: Scope) -> tuple[list[str], Scope]:
        """An integer variable that is affine in loop variables, and is subscripted with."""
        name = self.name("t")
        line = f"{name} = {self.indices.index(scope, self.choices.pick(scope.iterators))}"
        after = scope.counting(name)
        return [line, self.assignment(after, "a")], after

    def decision(self, scope: Scope) -> tuple[list[str], Scope]:
        """A variable of truth values, in every second case updated by a loop, and a choice by it."""
        choices, name = self.choices, self.name("b")
        of_numpy = choices.chance(60)
        lines = [f"{name} = {self.decided(scope, of_numpy)}"]
        if len(scope.iterators) < self.depth and choices.chance(50):
            iterator = ITERATORS[len(scope.iterators)]
            inner = scope.within(iterator)
            form = choices.pick("&|^n=")
            if form == "n" and not of_numpy:
                update = f"{name} = not {name}"
            elif form in "n=":
                update = f"if {self.values.condition(inner, data=60)}: {name} = {self.decided(inner, of_numpy)}"
            else:
                old = choices.pick((name, f"~{name}")) if of_numpy else name
                update = f"{name} = {old} {form} {self.decided(inner, of_numpy)}"
            header = self.indices.header(scope, self.values.arrays)
            lines += [f"for {iterator} in {header}:", *indented([update])]
        after = scope.deciding(name, of_numpy)
        chosen = choices.pick((name, f"not {name}", f"~{name}" if of_numpy else name))
        array, target = self.target(after)
        old, value = self.values.alike(Value(target, array.dtype), self.values.value(array.is_integer, after, 1))
        if choices.chance(50):
            lines.append(f"{target} = {value.operand} if {chosen} else {old.operand}")
        else:
            lines += [f"if {chosen}:", *indented([self.assignment(after, "a")])]
        return lines, after

    def decided(self, scope: Scope, of_numpy: bool) -> str:
        """A truth value, one of NumPy's where it must be."""
        test = self.values.condition(scope, data=70)
        return f"np.bool_({test})" if of_numpy else f"({test})"

    def growing(self, scope: Scope) -> list[str]:
        """A list that a loop appends to, in every second case under a condition, and its use."""
        choices, name = self.choices, self.name("L")
        iterator = ITERATORS[len(scope.iterators)]
        inner = scope.within(iterator)
        array, target = self.target(scope)
        value = self.values.named(self.values.value(array.is_integer, inner, 1))
        body = [f"{name}.append({value.text})"]
        if choices.chance(50):
            body = [f"if {self.values.condition(inner, data=60)}:", *indented(body)]
        if choices.chance(20):
            body += [f"if len({name}) > 2:", f"{INDENT}{name}.pop()"]
        header = self.indices.header(scope, self.values.arrays)
        lines = [f"{name} = []", f"for {iterator} in {header}:", *indented(body)]
        place = choices.pick(("-1", "0", f"len({name}) // 2"))
        lines += [f"if {name}:", f"{INDENT}{target} {choices.pick(('=', '+=', '-='))} {name}[{place}]"]
        if choices.chance(50):
            element = self.name("x")
            lines += [f"for {element} in {name}:", f"{INDENT}{target} = max({target}, {element})"]
        return lines

    def buffered(self, scope: Scope) -> list[str]:
        """A local vector that one loop fills and the next one reads; ``programs`` makes it."""
        name = self.name("T")
        self.left -= 2
        iterator = ITERATORS[len(scope.iterators)]
        header = self.indices.header(scope, ())
        buffer = Element(name, self.values.floating, 1)
        element = self.values.place(buffer, [iterator])
        inner = scope.within(iterator)
        value = self.values.value(is_integer(buffer.dtype), inner, 1)
        array, target = self.target(inner)
        read = self.values._floating(Value(element, buffer.dtype), array.is_integer)
        if array.is_integer and not buffer.is_integer:
            read = self.values.value(True, inner, 1)
        return [
            f"for {iterator} in {header}:",
            f"{INDENT}{element} = {value.text}",
            f"for {iterator} in {header}:",
            f"{INDENT}{target} {self.choices.pick(('=', '+='))} {read.text}",
        ]

    # Control

    def guard(self, scope: Scope, data: int) -> list[str]:
        choices = self.choices
        inside = [self.assignment(scope, choices.pick("aau"))]
        if choices.chance(25) and not data and len(scope.iterators) < self.depth:
            inside += self.loop(scope)
        lines = [f"if {self.values.condition(scope, data)}:", *indented(inside)]
        if choices.chance(20):
            lines += [f"elif {self.values.condition(scope, data)}:", *indented([self.assignment(scope, "a")])]
        if choices.chance(35):
            lines += ["else:", *indented([self.assignment(scope, choices.pick("au"))])]
        return lines

    def halving(self, scope: Scope) -> tuple[list[str], Scope]:
        """A ``while`` that ends, whatever the data: what it halves gets small, and NaN and infinities are let be."""
        floats = [array for array in self.written if not array.is_integer]
        if not floats:
            return [self.assignment(scope, "u")], scope
        element = self.values.element(self.choices.pick(floats), scope)
        if self.choices.chance(50):
            return [f"while 0.5 < {element} < 4096.0:", f"{INDENT}{element} = {element} * 0.5"], scope
        name = self.name("x")
        after = scope.knowing(name, self.values.floating)
        first = self.values.named(Value(element, "")).text
        lines = [f"{name} = {first}", f"while 0.5 < {name} and {name} < 4096.0:", f"{INDENT}{name} *= 0.5"]
        return [*lines, self.use(name, self.values.floating, after)], after

"""Random expressions of numbers and arrays."""

from __future__ import annotations

import numpy as np

from tests.fuzz.arrays.terms import Shape, Term, Terms

REDUCTIONS = ("sum", "sum", "sum", "max", "min", "mean", "prod", "any", "all")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class Expressions(Terms):
    """Writes expressions for one place of a program; what NumPy does not compute is left out."""

    def number(self, depth: int = 1) -> Term:
        """A number."""
        choices = self.choices
        for _ in range(6):
            found: Term | None = None
            kind = choices.pick("cccvvveeeeerrpsb" if depth else "ccvvveeee")
            if kind == "c":
                found = self.term(self.constant())
            elif kind == "v" and self.numbers:
                found = self.term(choices.pick(self.numbers))
            elif kind == "e" and self.arrays:
                found = self.part(choices.pick(self.arrays), ())
            elif kind == "r" and self.arrays:
                found = self.reduced()
            elif kind == "p":
                found = self.product(())
            elif kind == "s" and self.arrays:
                name = choices.pick(self.arrays)
                found = self.term(
                    choices.pick((f"{name}.shape[0]", f"len({name})", f"{name}.size", f"{name}.shape[-1]"))
                )
            elif kind == "b":
                left, right = self.number(0), self.number(0)
                if not (left.is_bool and right.is_bool):
                    found = self.term(f"({left.text} {choices.pick('+-*')} {right.text})")
            if found is not None and found.shape == () and _is_modest(found):
                return found
        return Term("1.0", 1.0)

    def reduced(self) -> Term | None:
        """A whole array made a number."""
        choices = self.choices
        name = choices.pick(self.arrays)
        argument: Term | None = self.term(name)
        if choices.chance(50) and argument is not None:
            argument = self.array(argument.shape, 1)
        if argument is None or argument.shape == ():
            return None
        kind = choices.pick((*REDUCTIONS, "var", "std", "count_nonzero", "argmin", "argmax"))
        if kind in ("argmin", "argmax") and len(argument.shape) != 1:
            return None
        if kind == "count_nonzero":
            return self.term(f"np.count_nonzero({argument.text})")
        if kind in _without(argument):
            return None
        return self.term(f"{argument.text}.{kind}()" if choices.chance(30) else f"np.{kind}({argument.text})")

    def leaf(self, shape: Shape) -> Term:
        """Something without operators, that broadcasts to a shape."""
        choices = self.choices
        for _ in range(5):
            found: Term | None = None
            kind = choices.pick("ppppppppppppsssrrrccnx" if shape else "pppn")
            name = choices.pick(self.arrays) if self.arrays else None
            if kind == "n" or name is None:
                return self.number()
            if kind == "p":
                found = self.part(name, shape)
            elif kind == "s" and len(shape) > 1:
                found = self.part(name, shape[1:])
            elif kind == "c" and len(shape) > 1:
                vector = self.names[name]
                cut = self.cut(vector.shape[0], shape[0]) if vector.ndim == 1 else None
                if cut is not None and len(shape) == 2:
                    found = self.term(f"{name}[{cut}, {choices.pick(('None', 'np.newaxis'))}]")
            elif kind == "r":
                found = self.reduction(shape) if choices.chance(70) else self.kept_dimension(shape)
            elif kind == "x":
                found = self.made(shape)
            if found is not None and _broadcasts(found.shape, shape):
                return found
        return self.number()

    def reduction(self, shape: Shape) -> Term | None:
        """An array reduced along an axis, of this shape."""
        choices = self.choices
        names = [name for name in self.arrays if self.names[name].ndim == len(shape) + 1]
        if not names:
            return None
        name = choices.pick(names)
        axis = choices.randrange(len(shape) + 1)
        argument = self.part(name, (*shape[:axis], self.names[name].shape[axis], *shape[axis:]))
        if argument is None:
            return None
        kind = choices.pick((*REDUCTIONS, "var", "std", "argmin", "argmax", "count_nonzero"))
        written = axis if choices.chance(70) else axis - len(shape) - 1
        if kind in _without(argument):
            return None
        if kind != "count_nonzero" and choices.chance(30):
            return self.term(f"{argument.text}.{kind}(axis={written})")
        return self.term(f"np.{kind}({argument.text}, axis={written})")

    def kept_dimension(self, shape: Shape) -> Term | None:
        """An array reduced along one axis, which remains with an extent of 1."""
        names = [name for name in self.arrays if self.names[name].ndim == len(shape) and self.names[name].dtype != bool]
        if not names:
            return None
        name = self.choices.pick(names)
        axis = self.choices.randrange(len(shape))
        argument = self.part(name, (*shape[:axis], self.names[name].shape[axis], *shape[axis + 1 :]))
        kind = self.choices.pick(("sum", "sum", "max", "min", "mean", "var"))
        if argument is None or kind in _without(argument):
            return None
        return self.term(f"np.{kind}({argument.text}, axis={axis}, keepdims=True)")

    def product(self, shape: Shape) -> Term | None:
        """A product of matrices and vectors, of this shape."""
        choices = self.choices
        ranks = {0: ((1, 1),), 1: ((2, 1), (1, 2)), 2: ((2, 2),)}.get(len(shape))
        if ranks is None:
            return None
        left_rank, right_rank = choices.pick(ranks)
        lefts = [name for name in self.arrays if self.names[name].ndim == left_rank]
        rights = [name for name in self.arrays if self.names[name].ndim == right_rank]
        if not lefts or not rights:
            return None
        left, right = choices.pick(lefts), choices.pick(rights)
        turned = left_rank == 2 and choices.chance(30), right_rank == 2 and choices.chance(30)
        inner = min(self.names[left].shape[0 if turned[0] else -1], self.names[right].shape[-1 if turned[1] else 0])
        first: Shape = (inner,) if left_rank == 1 else (shape[0], inner)
        second: Shape = (inner,) if right_rank == 1 else (inner, shape[-1])
        terms = [
            self.part(name, wanted[::-1] if turn else wanted)
            for name, wanted, turn in ((left, first, turned[0]), (right, second, turned[1]))
        ]
        if terms[0] is None or terms[1] is None:
            return None
        texts = [f"{term.text}.T" if turn else term.text for term, turn in zip(terms, turned, strict=True) if term]
        return self.term(choices.pick(("({} @ {})", "({} @ {})", "({} @ {})", "np.dot({}, {})")).format(*texts))

    def made(self, shape: Shape) -> Term | None:
        """A new array of this shape."""
        choices = self.choices
        extent = shape[0]
        forms: list[str] = []
        names = [name for name in self.arrays if self.names[name].shape == shape]
        for name in names:
            forms += [
                f"np.zeros_like({name})",
                f"np.ones({name}.shape)",
                f"{name}.copy()",
                f"np.full({name}.shape, 0.5)",
            ]
        dtype = choices.pick(("float64", "float32", "int64", "int32"))
        forms.append(f"np.{choices.pick(('zeros', 'ones'))}({_shape_text(shape)}, dtype=np.{dtype})")
        if len(shape) == 1:
            forms += [f"np.arange({extent})", f"np.linspace(0, 1, {extent})"]
            vectors = [name for name in self.arrays if self.names[name].ndim == 1]
            if vectors:
                name = choices.pick(vectors)
                whole = self.part(name, shape)
                longer = self.part(name, (extent + 1,))
                if whole is not None:
                    forms += [
                        f"np.cumsum({whole.text})",
                        f"np.roll({whole.text}, {choices.pick((1, 2, -1))})",
                        f"np.flip({whole.text})",
                    ] * 2
                if longer is not None and not longer.is_bool:
                    forms += [f"np.diff({longer.text})"] * 2
                first = choices.randint(0, extent)
                parts = self.part(name, (first,)), self.part(choices.pick(vectors), (extent - first,))
                if parts[0] is not None and parts[1] is not None:
                    forms += [f"np.concatenate(({parts[0].text}, {parts[1].text}))"] * 3
        if len(shape) == 2:
            forms.append(f"np.eye({extent}, {shape[1]})" if extent != shape[1] else f"np.eye({extent})")
            vectors = [name for name in self.arrays if self.names[name].ndim == 1]
            if vectors:
                terms = [self.part(choices.pick(vectors), (length,)) for length in shape]
                if terms[0] is not None and terms[1] is not None:
                    forms += [f"np.outer({terms[0].text}, {terms[1].text})"] * 2
                if extent == 2 and terms[1] is not None:
                    other = self.part(choices.pick(vectors), shape[1:])
                    if other is not None:
                        forms += [f"np.{choices.pick(('stack', 'vstack'))}(({terms[1].text}, {other.text}))"] * 2
            matrices = [name for name in self.arrays if self.names[name].ndim == 2]
            if matrices:
                name = choices.pick(matrices)
                whole = self.part(name, shape)
                turned = self.part(name, shape[::-1])
                if whole is not None:
                    forms += [f"np.{choices.pick(('tril', 'triu'))}({whole.text})"]
                if turned is not None:
                    forms += [f"{turned.text}.T", f"np.transpose({turned.text})"] * 2
        return self.term(choices.pick(forms))

    # Operations

    def array(self, shape: Shape, depth: int) -> Term:
        """An expression that broadcasts to a shape."""
        choices = self.choices
        if depth <= 0:
            return self.leaf(shape)
        for _ in range(4):
            found: Term | None = None
            kind = choices.pick("bbbbbbbbbbbbuuffffwwmmcllappk")
            left = self.array(shape, depth - 1)
            if kind == "b":
                found = self.binary(left, self.array(shape, depth - 1))
            elif kind == "u":
                found = self.term(
                    f"(-{left.text})" if choices.chance(60) else f"{choices.pick(('abs', 'np.abs'))}({left.text})"
                )
            elif kind == "f":
                found = self.function(left)
            elif kind in "wmk":
                found = self.selection(kind, left, shape, depth)
            elif kind == "c" and not left.is_bool and not left.is_complex:
                bounds = ("0", "3") if left.dtype.kind in "iu" else ("-0.5", "1.5")
                found = self.term(f"np.clip({left.text}, {bounds[0]}, {bounds[1]})")
            elif kind == "l":
                found = self.leaf(shape)
            elif kind == "a":
                found = self.converted(left)
            elif kind == "p":
                found = self.product(shape)
            if found is not None and _broadcasts(found.shape, shape):
                return found
        return self.leaf(shape)

    def selection(self, kind: str, left: Term, shape: Shape, depth: int) -> Term | None:
        """Return elements of arrays chosen by a test or by their size, or None where the types do not go together.

        Args:
            kind: "w" for np.where, "m" for a minimum or maximum, "k" for a product with a test.
            left: The first array to choose from.
            shape: What the other arrays broadcast to.
            depth: How deep the expression may be, with this operation.
        """
        if kind == "m":
            function = self.choices.pick(("minimum", "maximum"))
            other = self.array(shape, depth - 1)
            ordered = not (left.is_bool or other.is_bool or left.is_complex or other.is_complex)
            return self.term(f"np.{function}({left.text}, {other.text})") if ordered else None
        test = self.test(shape, depth - 1)
        if kind == "k":
            return None if left.is_bool else self.term(f"({test.text} * {left.text})")
        other = self.array(shape, depth - 1)
        return self.term(f"np.where({test.text}, {left.text}, {other.text})") if left.is_bool == other.is_bool else None

    def binary(self, left: Term, right: Term) -> Term | None:
        choices = self.choices
        if left.is_bool and right.is_bool:
            return self.term(f"({left.text} {choices.pick('&|^')} {right.text})")
        symbol = choices.pick(("+", "+", "+", "-", "-", "*", "*", "*", "/", "//", "%", "**"))
        if symbol in ("//", "%") or (symbol == "/" and choices.chance(60)):
            right = Term(choices.pick(("2", "3", "2.0", "4")), 2)
        if symbol == "**":
            right = Term("2" if left.dtype.kind in "iuc" else choices.pick(("2", "3", "0.5", "-1")), 2)
            if left.is_bool:
                return None
        term = self.term(f"({left.text} {symbol} {right.text})")
        # Roots of negative numbers of Python's own are complex, and documented as not a number in kernels.
        return None if term is not None and term.is_complex and not (left.is_complex or right.is_complex) else term

    def function(self, argument: Term) -> Term | None:
        choices = self.choices
        text = argument.text
        if argument.is_bool:
            return self.term(f"(~{text})" if argument.shape else f"(not {text})")
        if argument.is_complex:
            forms = ("np.conj({0})", "{0}.conjugate()", "{0}.real", "{0}.imag", "np.abs({0})", "np.exp(0.1 * {0})")
            return self.term(choices.pick(forms).format(text))
        kind = choices.pick(
            ("sqrt", "sqrt", "exp", "sin", "tanh", "floor", "ceil", "rint", "sign", "trunc", "cbrt", "log1p")
        )
        if kind in ("sqrt", "log1p"):
            return self.term(f"np.{kind}(np.abs({text}))")
        if kind == "exp":
            return self.term(f"np.exp(-np.abs({text}))")
        if kind in ("floor", "ceil", "trunc", "rint") and argument.dtype.kind != "f":
            return None
        return self.term(f"np.{kind}({text})")

    def converted(self, argument: Term) -> Term | None:
        """The numbers as another type, which can hold them."""
        choices = self.choices
        target = choices.pick(("float64", "float32", "int64", "complex64", *INTEGERS))
        if argument.is_complex:
            target = choices.pick(("complex64", "complex128"))
        values = np.asarray(argument.value)
        if values.dtype.kind == "f" and target in INTEGERS:
            limits = np.iinfo(target)
            if not (np.isfinite(values).all() and (values >= max(limits.min, -100)).all() and (values <= 100).all()):
                return None
            if limits.min == 0:
                return None
        if argument.shape == ():
            return self.term(f"np.{target}({argument.text})") if choices.chance(50) else None
        return self.term(f"{argument.text}.astype(np.{target})")

    def test(self, shape: Shape, depth: int) -> Term:
        """A condition for each element, that broadcasts to a shape."""
        choices = self.choices
        for _ in range(4):
            kind = choices.pick("ccccccbni")
            found: Term | None = None
            if kind == "b" and depth > 0:
                found = self.term(
                    f"({self.test(shape, depth - 1).text} {choices.pick('&|')} {self.test(shape, depth - 1).text})"
                )
            elif kind == "n" and depth > 0:
                found = self.term(f"(~{self.test(shape, depth - 1).text})")
            elif kind == "i":
                argument = self.leaf(shape)
                if argument.dtype.kind in "fc":
                    found = self.term(f"np.{choices.pick(('isnan', 'isfinite'))}({argument.text})")
            else:
                found = self.comparison(self.array(shape, depth - 1))
            if found is not None and found.shape == shape and found.is_bool:
                return found
        names = [name for name in self.arrays if len(self.names[name].shape) >= len(shape)]
        for name in names:
            part = self.part(name, shape)
            found = self.comparison(part) if part is not None else None
            if found is not None:
                return found
        return Term(f"(np.zeros({_shape_text(shape)}) > 0)", np.zeros(shape) > 0)

    def comparison(self, left: Term) -> Term | None:
        choices = self.choices
        if left.is_bool:
            return left
        right = self.number(0) if choices.chance(40) else self.term(self.constant(left.dtype))
        if right is None or right.is_bool:
            return None
        if left.is_complex or right.is_complex:
            left, right = (
                Term(choices.pick(("{0}.real", "abs({0})")).format(each.text), each.value) if each.is_complex else each
                for each in (left, right)
            )
        symbol = choices.pick(("<", "<=", ">", ">=", ">", "==", "!="))
        return self.term(f"({left.text} {symbol} {right.text})")

    def condition(self) -> Term:
        """A condition on sizes, variables of loops, or data."""
        choices = self.choices
        for _ in range(6):
            sizes = [*self.iterators, *self.sizes()]
            if sizes and choices.chance(30):
                found = self.term(
                    f"{choices.pick(sizes)} {choices.pick(('<', '>', '==', '>='))} {choices.pick((1, 2, 3))}"
                )
            elif choices.chance(15) and self.arrays:
                test = self.test(self.names[choices.pick(self.arrays)].shape, 0)
                found = self.term(f"np.{choices.pick(('any', 'all'))}({test.text})")
            else:
                found = self.comparison(self.number(1))
                if found is not None and found.text.startswith("("):
                    found = self.term(found.text[1:-1])
            if found is not None and found.shape == ():
                return found
        return Term("0 < 1", True)


def _is_modest(term: Term) -> bool:
    value = np.asarray(term.value)
    return not np.isfinite(value) or bool(abs(value) < 1e4)


def _without(argument: Term) -> tuple[str, ...]:
    """The reductions that there are not of numbers of a type: complex ones have no order."""
    if argument.is_complex:
        return "max", "min", "argmin", "argmax"
    return ("max", "min", "var", "std", "argmin", "argmax") if argument.is_bool else ()


def _broadcasts(shape: Shape, to: Shape) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def _shape_text(shape: Shape) -> str:
    return str(shape[0]) if len(shape) == 1 else f"({', '.join(map(str, shape))})"

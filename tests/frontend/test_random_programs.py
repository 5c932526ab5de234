"""Random programs of variables, branches and loops: what Python computes, or a refusal, and never anything else."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

from polytune.errors import UnsupportedSourceError
from polytune.frontend import analyse
from polytune.signature import Signature, parse_type
from tests.frontend.interpreter import Run, check_accesses

SIZE = 9
INTEGERS, FLOATS = ("u", "v", "w"), ("s", "t")
TYPES = {"A": "float64[::1]", "B": "int64[::1]", "n": "int", "x": "float"}


class Writer:
    """Writes a program of a few statements, with variables that are affine in some places and not in others."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines = ["def program(A, B, n, x):"]
        self.loops: list[str] = []

    def program(self) -> str:
        for name in INTEGERS + FLOATS:
            if self.random.random() < 0.97:
                self.line(1, f"{name} = {self.random.randint(-1, 3)}{'.5' if name in FLOATS else ''}")
        self.block(1, 5)
        if self.random.random() < 0.5:
            self.line(1, f"return {self.real()}")
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def integer(self) -> str:
        names = [*INTEGERS, *self.loops, *self.loops, "n"]
        terms = [self.random.choice(names) for _ in range(self.random.randint(0, 2))] + [str(self.random.randint(0, 4))]
        text = self.random.choice([" + ", " - "]).join(terms)
        choice = self.random.random()
        if choice < 0.15:
            return f"({text}) // {self.random.choice([2, 3, -2])}"
        if choice < 0.3:
            return f"({text}) % {self.random.choice([2, 3, -3])}"
        return f"abs({text})" if choice < 0.4 else text

    def element(self, array: str) -> str:
        return f"{array}[max(0, min({SIZE - 1}, {self.integer()}))]"

    def real(self) -> str:
        leaves = [self.random.choice(FLOATS), self.element("A"), self.element("B"), "x", "0.25", self.integer()]
        left, right = self.random.choice(leaves), self.random.choice(leaves)
        forms = (f"({left}) * 0.5 + {right}", f"{left} - ({right})", left)
        if self.random.random() < 0.2:
            return f"({left} if {self.condition()} else {right})"
        return self.random.choice(forms)

    def condition(self) -> str:
        choice = self.random.random()
        compare = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        affine = f"{self.integer()} {compare} {self.integer()}"
        data = f"{self.real()} {compare} {self.real()}"
        forms = (affine, data, f"{affine} and {data}", f"not ({affine} or {affine})", f"0 <= {self.integer()} < 5")
        return forms[int(choice * len(forms))]

    def block(self, depth: int, length: int) -> None:
        for _ in range(self.random.randint(1, length)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        choice = self.random.random()
        if choice < 0.2:
            self.line(depth, f"{self.random.choice(INTEGERS)} {self.random.choice(['=', '=', '+='])} {self.integer()}")
        elif choice < 0.35:
            self.line(depth, f"{self.random.choice(FLOATS)} {self.random.choice(['=', '+=', '*='])} {self.real()}")
        elif choice < 0.55 or depth > 3:
            self.line(depth, f"{self.element('A')} {self.random.choice(['=', '+=', '-='])} {self.real()}")
        elif choice < 0.6:
            self.line(depth, f"{self.element('B')} = int({self.real()})")
        elif choice < 0.65:
            pair = self.random.sample([*INTEGERS, *FLOATS], 2)
            self.line(depth, f"{pair[0]}, {pair[1]} = {self.integer()}, {self.random.choice(INTEGERS)}")
        elif choice < 0.69:
            self.line(depth, "c = 0")
            self.line(depth, f"while c < 3 and {self.condition()}:")
            self.line(depth + 1, f"s = t = {self.real()}")
            self.line(depth + 1, f"{self.element('A')} += t")
            self.line(depth + 1, "c += 1")
        elif choice < 0.8:
            self.line(depth, f"if {self.condition()}:")
            self.block(depth + 1, 3)
            if self.random.random() < 0.6:
                self.line(depth, "else:")
                self.block(depth + 1, 3)
        else:
            variable = self.random.choice(["i", "j", "k", "u"])
            bounds = f"{self.random.randint(0, 2)}, {self.integer()}"
            if self.random.random() < 0.3:
                bounds = f"{self.integer()}, {self.random.randint(-1, 1)}, {self.random.choice([-1, -2])}"
            self.line(depth, f"for {variable} in range({bounds}):")
            self.loops.append(variable)
            self.block(depth + 1, 3)
            self.loops.pop()


def compiled(text: str, name: str) -> Any:
    """The function of a program, with its source where ``inspect`` finds it."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": name}
    exec(compile(text, name, "exec"), namespace)
    return namespace["program"]


def outcome(seed: int) -> str:
    """Compare one program with its model: "same", "refused" by the frontend, or "failing" in Python itself."""
    text = Writer(seed).program()
    function = compiled(text, f"<random program {seed}>")
    arguments = {"A": np.random.default_rng(seed).random(SIZE) * 4, "B": np.arange(SIZE) % 4, "n": 4, "x": 1.25}
    expected = {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    try:
        scop = analyse(function, Signature(tuple((name, parse_type(kind)) for name, kind in TYPES.items())))
    except UnsupportedSourceError:
        return "refused"
    try:
        result = function(**expected)
    except (UnboundLocalError, OverflowError):
        return "failing"
    run = Run(scop, arguments).execute()
    for name in ("A", "B"):
        np.testing.assert_array_equal(arguments[name], expected[name], err_msg=text)
    assert result == run.result or (result != result and run.result != run.result), text
    check_accesses(run)
    return "same"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.slow
def test_random_programs_are_computed_as_python_does_or_refused() -> None:
    outcomes = [outcome(seed) for seed in range(120)]
    assert outcomes.count("same") > 40

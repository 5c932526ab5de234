"""Names that stand for several variables: a rewritten function does what the function does."""

from __future__ import annotations

import ast
import random
import textwrap
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from polytune.frontend.syntax.webs import has_webs, name_in_source, with_webs

NAMES = ("x", "y", "z", "i")


def function_of(text: str) -> ast.FunctionDef:
    """A function of two arguments, A and x, with this body."""
    tree = ast.parse("def function(A, x):\n" + textwrap.indent(text, "    ")).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def rewritten(text: str, *names: str) -> list[ast.stmt]:
    tree = function_of(text)
    return with_webs(tree, tree.body, names)


def names_in(body: list[ast.stmt], name: str) -> list[ast.Name]:
    """The mentions of a name, in the order of the text."""
    nodes = [node for node in ast.walk(ast.Module(body, [])) if isinstance(node, ast.Name)]
    found = [node for node in nodes if name_in_source(node.id) == name]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def names_of(body: list[ast.stmt], name: str) -> list[str]:
    """The variables that a name has become, in the order of its mentions."""
    return list(dict.fromkeys(node.id for node in names_in(body, name)))


def test_what_has_no_use_in_common_is_apart():
    tree = function_of("k = x // 2\nA[k] = 1\nk = 0.5\nA[0] = k\n")
    assert has_webs(tree, "k") and not has_webs(tree, "x")
    first, second = names_of(with_webs(tree, tree.body, {"k"}), "k")
    assert first == "k" and second != "k"
    assert names_of(tree.body, "k") == ["k"]  # the statements themselves stay as they are


def test_the_value_at_the_beginning_keeps_the_name():
    body = rewritten("if A[0]:\n    x = 2\n    x = A[x]\nA[x] = 1\n", "x")
    assert [each.id for each in names_in(body, "x")] == ["$x$web$1", "x", "$x$web$1", "x"]


def test_what_may_be_read_before_it_is_assigned_is_one_variable():
    assert not has_webs(function_of("if A[0]:\n    A[1] = y\ny = 2\nA[0] = y\n"), "y")


def test_names_of_other_scopes_are_one_variable():
    for text in (
        "t = 1\ndef f(a):\n    return a + t\nt = 2.0\nf(t)\n",
        "t = 1\ng(t)\nt = [t for t in A]\ng(t)\n",
        "t = 1\ng(t)\nif (t := 2) > 1:\n    g(t)\n",
        "t = 1\ng(t)\ndel t\nt = 2\ng(t)\n",
        "t = 1\ng(lambda: t)\nt = 2\ng(t)\n",
    ):
        assert not has_webs(function_of(text), "t"), text


# Random functions


def expression(choose: random.Random) -> str:
    name = choose.choice(NAMES)
    return choose.choice((f"{name} + 1", f"{name} * 2 - {choose.choice(NAMES)}", name, str(choose.randrange(5))))


def block(choose: random.Random, depth: int, *, in_loop: bool) -> list[str]:
    """The lines of some random statements."""
    lines: list[str] = []
    for _ in range(choose.randrange(1, 5)):
        name, kind = choose.choice(NAMES), choose.randrange(12 if depth else 6)
        inner = lambda is_loop: ["    " + line for line in block(choose, depth - 1, in_loop=is_loop or in_loop)]  # noqa: E731
        if kind < 3:
            lines.append(f"{name} = {expression(choose)}")
        elif kind == 3:
            lines.append(f"{name} += {expression(choose)}")
        elif kind == 4:
            lines.append(f"{name}, A[{choose.choice(NAMES)} % 3] = {expression(choose)}, {expression(choose)}")
        elif kind == 5:
            lines.append(f"A[{name} % 3] += {expression(choose)}")
        elif kind < 8:
            lines += [f"if A[{name} % 3] % 2:", *inner(False), "else:", *inner(False)]
        elif kind < 10:
            lines += [f"for {name} in range(A[0] % 3):", *inner(True)]
            if choose.random() < 0.3:
                lines += ["else:", *inner(False)]
        elif kind == 10:
            lines += [f"while A[{name} % 3] % 4 and steps(A):", *inner(True)]
        elif in_loop:
            lines += [f"if A[{name} % 3] % 3 == 0:", f"    {choose.choice(('break', 'continue'))}"]
    return lines or ["pass"]


class OutOfStepsError(Exception):
    """A loop has run for too long."""


def outcome(body: list[ast.stmt]) -> tuple[Any, ...]:
    """What a function with this body does: its array, what it returns, or the kind of its error."""
    left = [60]

    def steps(A: list[int]) -> bool:
        left[0] -= 1
        if not left[0]:
            raise OutOfStepsError
        A[1] += 1
        return True

    function = function_of("pass")
    function.body = body
    scope: dict[str, Any] = {"steps": steps}
    exec(compile(ast.fix_missing_locations(ast.Module([function], [])), "<random>", "exec"), scope)
    A = [3, 5, 8]
    try:
        result = scope["function"](A, 1)
    except (NameError, OutOfStepsError) as error:
        return (A, type(error))
    return (A, result)


@given(st.integers(0, 2**48))
def test_a_rewritten_function_does_the_same(seed: int) -> None:
    choose = random.Random(seed)
    lines = [*block(choose, 3, in_loop=False), f"return {choose.choice(NAMES)}, {choose.choice(NAMES)}"]
    # Without this, much of what is made reads names that have no value yet.
    text = "\n".join(["y, z, i = 4, 2, 1"] * (choose.random() < 0.8) + lines)
    assert outcome(function_of(text).body) == outcome(rewritten(text, *NAMES)), text

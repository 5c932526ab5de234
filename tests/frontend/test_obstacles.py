"""A refusal says all that stands in the way of a kernel, and nothing that only follows from it."""

from __future__ import annotations

import ast
import cmath
import copy
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polytune.errors import Obstacle, SourceLocation, UnsupportedSourceError
from polytune.frontend import analyse, infer_signature
from polytune.frontend.lowering.lower import lower
from polytune.frontend.syntax.source import read_source
from polytune.runtime.calls.arguments import signature_of
from polytune.signature import ArrayType, Signature
from tests.frontend.accepted import ACCEPTED
from tests.frontend.array_programs import PROGRAMS


def _obstacles(function: Callable[..., Any], signature: Signature | None = None) -> list[tuple[str, str]]:
    """Return what a refusal names, each with the text that it points at."""
    with pytest.raises(UnsupportedSourceError) as caught:
        analyse(function, signature or infer_signature(function))
    return [(obstacle.what, obstacle.location.segment) for obstacle in caught.value.obstacles]


# ---- many obstacles


def refused_again_and_again(A: "float64[::1]", B, n: int):  # noqa: F821, UP037
    for i in range(n):
        A[i] = math.fsum(A[i])
    s = 0.0
    for i in range(n):
        s += undefined(B[i])  # noqa: F821
        if A[i] is B[i]:
            A[i] = {0: B[i]}[0]
    del A[0]
    B[0] = A[0] << 1


def test_all_obstacles_are_named_in_the_order_of_the_source() -> None:
    assert _obstacles(refused_again_and_again) == [
        ("math.fsum is called", "math.fsum(A[i])"),
        ("the name 'undefined' is not defined", "undefined"),
        ("a comparison by is or in", "A[i] is B[i]"),
        ("{0: B[i]} is subscripted", "{0: B[i]}[0]"),
        ("del", "del A[0]"),
        ("<< of numbers of float64", "B[0] = A[0] << 1"),
    ]


def test_the_message_has_all_of_them_each_with_its_remedy() -> None:
    with pytest.raises(UnsupportedSourceError) as caught:
        analyse(refused_again_and_again, infer_signature(refused_again_and_again))
    error = caught.value
    for obstacle in error.obstacles:
        assert f"{__file__}:{obstacle.location.line}: {obstacle.what}\n" in str(error)
        assert f"{obstacle.location.caret()}\nwhy: {obstacle.reason}\ninstead: {obstacle.remedy}" in str(error)
    assert (error.what, error.location) == (error.obstacles[0].what, error.obstacles[0].location)


def test_of_many_obstacles_ten_are_printed() -> None:
    obstacles = [
        Obstacle(SourceLocation("file.py", line), f"thing {line}", "for a reason", "do it") for line in range(14)
    ]
    error = UnsupportedSourceError.of(obstacles)
    assert error.obstacles == tuple(obstacles)
    assert "thing 9\n" in str(error) and "thing 10" not in str(error)
    assert str(error).endswith("\nand 4 more")
    assert "more" not in str(UnsupportedSourceError.of(obstacles[:10]))


def refused_twice_in_a_line(A, B):
    for i in range(len(A)):
        A[i] = math.fsum(B[i]) + 2.0 * abs(cmath.polar(A[i]))


def refused_in_arguments_and_subscripts(A, B):
    A[cmath.rect(B[0])] = np.sqrt(math.fsum(B[0])) if cmath.isclose(B[1]) > 0 else B[int(cmath.polar(2.0)) : 3].sum()
    return math.fsum(B[2]), A


def test_parts_of_one_statement_are_looked_at_each() -> None:
    assert [at for _, at in _obstacles(refused_twice_in_a_line)] == ["math.fsum(B[i])", "cmath.polar(A[i])"]
    assert [at for _, at in _obstacles(refused_in_arguments_and_subscripts)] == [
        "cmath.rect(B[0])",
        "math.fsum(B[0])",
        "cmath.isclose(B[1])",
        "cmath.polar(2.0)",
        "math.fsum(B[2])",
    ]


def refused_headers(A, B, n: int):
    for i in range(math.fsum(3.0)):
        A[i] = cmath.polar(A[i])
    while cmath.rect(B[0]) is B:
        B[0] -= cmath.isclose(B[1])
    if A[0] is B[0]:
        A[1] = math.fsum(A[1])
    else:
        A[1] = math.fsum(A[2])
    for x, y in {1: 2}.items():
        A[2] = x + y
        A[3] = math.fsum(A[3])
    with open("file") as file:
        A[4] = file.read()
        A[5] = math.fsum(A[5])
    try:
        A[6] = math.fsum(A[6])
    except ValueError as error:
        A[7] = error.args[0]
        A[8] = math.fsum(A[8])
    finally:
        A[9] = math.fsum(A[9])


def test_the_inside_of_what_is_refused_is_looked_at_too() -> None:
    assert [at.splitlines()[0] for _, at in _obstacles(refused_headers)] == [
        "math.fsum(3.0)",
        "cmath.polar(A[i])",
        "cmath.rect(B[0]) is B",
        "cmath.rect(B[0])",
        "cmath.isclose(B[1])",
        "A[0] is B[0]",
        "math.fsum(A[1])",
        "math.fsum(A[2])",
        "{1: 2}.items()",
        "math.fsum(A[3])",
        'with open("file") as file:',
        "math.fsum(A[5])",
        "try:",
        "math.fsum(A[6])",
        "math.fsum(A[8])",
        "math.fsum(A[9])",
    ]


def helper_with_two(x, A):
    y = math.fsum(x)
    for i in range(len(A)):
        A[i] = cmath.polar(A[i])
    return y


def refused_in_a_helper(A, B):
    r = helper_with_two(A[0], B)
    s = helper_with_two(A[1], B)
    A[2] = r + s
    A[3] = cmath.isclose(r)
    return r


def test_what_is_refused_in_a_function_that_is_called_is_named_once() -> None:
    assert [at for _, at in _obstacles(refused_in_a_helper)] == [
        "math.fsum(x)",
        "cmath.polar(A[i])",
        "cmath.isclose(r)",
    ]


def refused_arguments(A, B, *keys):
    for i in range(len(A)):
        A[i] = math.fsum(B[i])


def test_arguments_are_named_with_the_source() -> None:
    signature = Signature((("A", ArrayType("float128", 1)), ("B", ArrayType("float128", 1))))
    assert [what for what, _ in _obstacles(refused_arguments, signature)] == [
        "the argument 'A' has the type float128[::1]",
        "the argument 'B' has the type float128[::1]",
        "the argument 'keys' is starred",
        "math.fsum is called",
    ]


SETTINGS = {"limit": 3}


def with_a_test_by_what_is_not_known(A):
    limit = len(A)
    assert limit > SETTINGS["limit"]
    for i in range(limit):
        A[i] = math.fsum(A[i])


def test_tests_of_arguments_are_named_with_the_rest() -> None:
    assert [at for _, at in _obstacles(with_a_test_by_what_is_not_known)] == ["SETTINGS", "math.fsum(A[i])"]


def constants_that_do_not_fit(A: "int32[::1]", B: "uint8[::1]"):  # noqa: F821, UP037
    for i in range(len(A)):
        A[i] = 2**40
        B[i] = -1
        B[i] = math.fsum(B[i])


def test_constants_that_do_not_fit_are_named_with_the_rest() -> None:
    assert [at for _, at in _obstacles(constants_that_do_not_fit)] == ["A[i] = 2**40", "B[i] = -1", "math.fsum(B[i])"]


def annotated_wrongly(A: "float128[::1]", B: "text"):  # noqa: F821, UP037
    A[0] = B[0]


def test_all_annotations_that_are_no_types_are_named() -> None:
    with pytest.raises(UnsupportedSourceError) as caught:
        infer_signature(annotated_wrongly)
    assert [each.location.segment for each in caught.value.obstacles] == ['"float128[::1]"', '"text"']
    inferred = dict(infer_signature(annotated_wrongly, annotated=False).arguments)
    assert [str(kind) for kind in inferred.values()] == ["float64[::1]", "float64[::1]"]


# ---- nothing but obstacles


def _value_refused() -> ast.expr:
    return ast.parse("{}", mode="eval").body


def _without_one(tree: ast.FunctionDef) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Copies of a function, each with one value replaced by what is refused, and the place of that."""
    nested = {
        id(node)
        for inner in ast.walk(tree)
        if isinstance(inner, ast.FunctionDef) and inner is not tree
        for node in ast.walk(inner)
    }
    for number, node in enumerate(ast.walk(tree)):
        field = {ast.Assign: "value", ast.AugAssign: "value", ast.For: "iter", ast.If: "test", ast.While: "test"}
        if type(node) not in field or id(node) in nested or any(isinstance(part, ast.Raise) for part in ast.walk(node)):
            continue  # tests of arguments are Python's
        if any(isinstance(part, ast.NamedExpr) for part in ast.walk(getattr(node, field[type(node)]))):
            continue  # what is replaced gives names a meaning
        made = copy.deepcopy(tree)
        twin = list(ast.walk(made))[number]
        place = getattr(twin, field[type(node)])
        value = _value_refused()
        for part in ast.walk(value):
            ast.copy_location(part, place)
        setattr(twin, field[type(node)], value)
        yield f"{type(node).__name__} in line {node.lineno}", made  # type: ignore[attr-defined]


def _programs() -> Iterator[Any]:
    """Functions with the types of their arguments, each pair once: here the numbers in arguments say nothing."""
    seen = set()
    for number, (function, make) in enumerate(ACCEPTED):
        names = tuple(inspect.signature(function).parameters)
        signature = signature_of(names, make())
        if (function, signature) not in seen:
            seen.add((function, signature))
            yield pytest.param(function, signature, id=f"{function.__name__}-{number}")
    for each in PROGRAMS:
        names = tuple(inspect.signature(each.kernel).parameters)
        values = [np.zeros(shape) if isinstance(shape, tuple) else shape for shape in each.shapes(each.least + 4)]
        yield pytest.param(each.kernel, signature_of(names, values), id=each.kernel.__name__)


@pytest.mark.parametrize(("function", "signature"), list(_programs()))
def test_nothing_follows_from_a_refused_value(function: Callable[..., Any], signature: Signature) -> None:
    source = read_source(function)
    lower(source, signature)
    for place, tree in _without_one(source.tree):
        with pytest.raises(UnsupportedSourceError) as caught:
            lower(replace(source, tree=tree), signature)
        found = [each.what for each in caught.value.obstacles]
        assert len(found) == 1, (place, found)
        expected = "a list, tuple, set or dictionary", "a single value is unpacked into several names"
        assert found[0] in expected or "loop over" in found[0]

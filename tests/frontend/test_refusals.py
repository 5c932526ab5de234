"""Every reason for a refusal: what is said, where, why, and what to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from polytune.errors import UnsupportedSourceError
from polytune.frontend import analyse, infer_signature
from polytune.signature import ArrayType, ScalarType, Signature
from tests.frontend.refused import loops
from tests.frontend.refused.all_topics import REFUSED


@pytest.mark.parametrize(("function", "what", "at"), [pytest.param(*entry, id=entry[0].__name__) for entry in REFUSED])
def test_a_refusal_says_what_and_points_at_it(function: Callable[..., Any], what: str, at: str) -> None:
    with pytest.raises(UnsupportedSourceError) as caught:
        analyse(function, infer_signature(function))
    error = caught.value
    assert {obstacle.what for obstacle in error.obstacles} == {error.what}
    assert what in error.what
    place = error.location
    assert place.text[place.column : place.end_column] == at
    assert place.file == inspect.getsourcefile(function)
    with open(place.file) as file:
        assert file.read().splitlines()[place.line - 1] == place.text
    assert len(error.reason) > 10 and len(error.remedy) > 10
    assert f"{place.file}:{place.line}: {error.what}" in str(error)
    assert "\n    " + " " * place.column + "^" * len(at) in str(error)


@pytest.mark.parametrize(
    ("function", "remedy"),
    [
        (loops.floating_point_bound, "use // in place of /, an int in place of a float argument"),
    ],
)
def test_a_remedy_is_that_of_the_reason(function: Callable[..., Any], remedy: str) -> None:
    with pytest.raises(UnsupportedSourceError) as caught:
        analyse(function, infer_signature(function))
    assert remedy in caught.value.remedy


def test_every_reason_has_a_text_of_its_own() -> None:
    assert len({function.__name__ for function, _, _ in REFUSED}) == len(REFUSED) > 60


def test_a_function_without_source_is_refused() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(A):\n    A[0] = 1.0\n", namespace)
    with pytest.raises(UnsupportedSourceError, match="the source of 'f' is not available"):
        analyse(namespace["f"], Signature((("A", ArrayType("float64", 1)),)))


def test_a_lambda_is_refused() -> None:
    function = lambda A: A  # noqa: E731
    with pytest.raises(UnsupportedSourceError, match="not written as a plain def"):
        infer_signature(function)


# fmt: off
def made_in_a_line(a): return lambda A: A * a
# fmt: on


def test_a_lambda_in_one_line_with_a_def_is_refused() -> None:
    with pytest.raises(UnsupportedSourceError, match="'<lambda>' is not written as a plain def"):
        infer_signature(made_in_a_line(2.0))


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(UnsupportedSourceError, match="is not a Python function"):
        infer_signature(len)


def kernel(A):
    A[0] = 1.0


@pytest.mark.parametrize(
    "kind", [ArrayType("float128", 1), ArrayType("complex256", 1), ArrayType("float64", 0)], ids=str
)
def test_an_argument_of_an_unsupported_type_is_refused(kind: ArrayType) -> None:
    with pytest.raises(UnsupportedSourceError, match="the argument 'A' has the type") as caught:
        analyse(kernel, Signature((("A", kind),)))
    assert caught.value.location.text == "def kernel(A):"


def test_a_signature_must_name_the_arguments_of_the_function() -> None:
    with pytest.raises(ValueError, match=r"kernel has the arguments \(A\)"):
        analyse(kernel, Signature((("B", ScalarType("float64")),)))

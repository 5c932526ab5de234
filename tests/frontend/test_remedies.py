"""What a refusal says to do leads to a program that is accepted and computes what the refused one was to compute."""

from __future__ import annotations

import ast
import inspect
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from polytune.cli.target import import_file
from polytune.errors import Obstacle, UnsupportedSourceError
from polytune.frontend import analyse, infer_signature
from polytune.frontend.syntax import refusals
from polytune.frontend.syntax.source import Source
from polytune.runtime.calls.arguments import signature_of
from polytune.signature import ArrayType, ScalarType, Signature
from tests.frontend.interpreter import Run
from tests.frontend.refused import statements
from tests.frontend.refused.all_topics import MENDED, REFUSED, Mended

CASES = [(function, case) for function, _, _ in REFUSED for case in MENDED.get(function.__name__, [])]
FRONTEND = Path(inspect.getfile(analyse)).parent


def modelled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs the model of a kernel, for arguments of the types of its arguments."""
    names = tuple(inspect.signature(kernel).parameters)

    def run(*arguments: Any) -> Any:
        scop = analyse(kernel, signature_of(names, arguments))
        return Run(scop, dict(zip(names, arguments, strict=True))).execute().result

    return run


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """What refused programs write outside of themselves is as before after the test."""
    monkeypatch.setattr(math, "tau", math.tau)
    monkeypatch.setattr(statements, "LIMIT", statements.LIMIT)


@pytest.mark.parametrize(("function", "case"), CASES, ids=[case.kernel.__name__ for _, case in CASES])
def test_a_remedy_leads_to_the_right_result(function: Callable[..., Any], case: Mended) -> None:
    with pytest.raises(UnsupportedSourceError) as caught:
        analyse(function, infer_signature(function))
    assert case.follows in caught.value.remedy
    wanted, found = case.arguments(), case.arguments()
    if case.reference is None:
        with pytest.raises(Exception):  # noqa: B017
            _ended(function(*case.arguments()))
        right = case.call(case.kernel, *wanted)
    else:
        right = case.reference(*wanted)
    result = case.call(modelled(case.kernel), *found)
    for before, after in zip(wanted, found, strict=True):
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(after, before)
    np.testing.assert_equal(result, right)


def _ended(result: Any) -> None:
    """Fail where a program gave no number but what cannot be one."""
    assert result is not None


def test_every_refusal_has_a_remedy_that_is_tested() -> None:
    assert [function.__name__ for function, _, _ in REFUSED if function.__name__ not in MENDED] == []
    assert set(MENDED) == {function.__name__ for function, _, _ in REFUSED}


def test_every_kind_of_syntax_that_is_refused_is_among_the_programs() -> None:
    remedies = set()
    for function, _, _ in REFUSED:
        with pytest.raises(UnsupportedSourceError) as caught:
            analyse(function, infer_signature(function))
        remedies.add(caught.value.remedy)
    for kinds, what, _, remedy in (*refusals._EXPRESSIONS, *refusals._STATEMENTS):
        assert remedy in remedies or all(kind.__name__ in NOT_REACHED for kind in kinds), what


NOT_REACHED = {
    "Starred": "it stands in calls, targets and displays alone, which are refused themselves",
    "Slice": "it stands in subscripts alone, which are refused themselves",
    "AsyncFor": "it stands in an async def alone",
}
"""Syntax that is refused for what is around it."""


class _Sites:
    """The calls in the frontend's text, but for array expressions, that make refusals, and those that were made."""

    def __init__(self) -> None:
        self.there_are: dict[tuple[str, int, int], str] = {}
        self.made: set[tuple[str, int, int]] = set()
        for path in sorted(set(FRONTEND.rglob("*.py")) - set((FRONTEND / "array_expressions").rglob("*.py"))):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and self._refuses(node.func):
                    self.there_are[str(path), node.lineno, node.end_lineno or 0] = ast.unparse(node)

    @staticmethod
    def _refuses(function: ast.expr) -> bool:
        match function:
            case ast.Attribute(_, "refusal" | "obstacle") | ast.Name("UnsupportedSourceError" | "Obstacle"):
                return True
        return False

    def note(self, frame: FrameType) -> tuple[str, int, int]:
        """The call that a frame is in."""
        positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
        return str(Path(frame.f_code.co_filename).resolve()), positions[0] or 0, positions[1] or 0


def test_every_place_that_refuses_is_reached_by_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a new refusal needs a program here, and the program a remedy."""
    sites = _Sites()

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*arguments: Any) -> Any:
            sites.made.add(sites.note(sys._getframe(1)))
            return function(*arguments)

        return noting

    for owner, name in ((Source, "refusal"), (Source, "obstacle"), (Obstacle, "__init__")):
        monkeypatch.setattr(owner, name, noted(getattr(owner, name)))
    monkeypatch.setattr(UnsupportedSourceError, "__init__", noted(UnsupportedSourceError.__init__))
    for function, _, _ in REFUSED:
        with pytest.raises(UnsupportedSourceError):
            analyse(function, infer_signature(function))
    missing = {text for site, text in sites.there_are.items() if site not in sites.made}
    assert {text for text in missing if not any(known in text for known in ELSEWHERE)} == set()
    assert [known for known in ELSEWHERE if not any(known in text for text in missing)] == []


ELSEWHERE = {
    "is not a Python function": "test_what_is_no_function below",
    "the source of {plain": "test_a_function_that_has_no_source below",
    "is not written as a plain def": "test_a_lambda below",
    "the argument {name!r} has the type": "test_types_of_arguments below",
    "that cannot be checked before the kernel runs": "test_budget.py: the checks are made after the walk",
    "uses {name!r}, a function": "tests/test_structures.py: only arguments of a call are functions",
    "is read before anything has assigned it": "test_unassigned.py: so are these",
    "in an expression', 'it is not compiled'": "for what later versions of Python may have",
    "the statement {type": "for what later versions of Python may have",
}
"""The remedies to which no program among the refused comes: why, or where they are tested."""


def test_what_is_no_function() -> None:
    """``len``, written with def."""

    def count(A: Any) -> Any:
        n = 0
        for _ in range(A.shape[0]):
            n += 1
        return n

    with pytest.raises(UnsupportedSourceError) as caught:
        infer_signature(len)
    assert caught.value.remedy == "pass a function written with def"
    assert modelled(count)(np.ones(4)) == len(np.ones(4))


def test_a_function_that_has_no_source(tmp_path: Path) -> None:
    text = "def f(A):\n    for i in range(len(A)):\n        A[i] += 1.0\n"
    names: dict[str, Any] = {}
    exec(text, names)
    with pytest.raises(UnsupportedSourceError) as caught:
        infer_signature(names["f"])
    assert caught.value.remedy == "put the function into a file"
    (tmp_path / "in_a_file.py").write_text(text)
    function = vars(import_file(tmp_path / "in_a_file.py"))["f"]
    values = np.arange(3.0)
    modelled(function)(values)
    assert values.tolist() == [1, 2, 3]


def test_a_lambda() -> None:
    double = lambda A: A[0] * 2.0  # noqa: E731

    def doubled(A: Any) -> Any:
        return A[0] * 2.0

    with pytest.raises(UnsupportedSourceError) as caught:
        infer_signature(double)
    assert caught.value.remedy == "write it as a function with def"
    assert modelled(doubled)(np.ones(1)) == double(np.ones(1))


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        (ArrayType("float128", 1), "A.astype(numpy.float64), and after the call write A[...] = converted"),
        (ArrayType("complex256", 1), "pass converted = A.astype(numpy.complex128)"),
        (ArrayType("float64", 0), "pass A[()], its value, or A.reshape(1), a view that has one dimension"),
        (ScalarType("float128", weak=False), "pass float(A)"),
        (ArrayType("quaternion", 1), "annotate it with one of these types"),
    ],
    ids=str,
)
def test_types_of_arguments(kind: ArrayType | ScalarType, remedy: str) -> None:
    """They are converted as at calls, where ``tests/runtime/calls/test_argument_remedies.py`` follows what is said."""

    def first(A: Any) -> None:
        A[0] = 1.0

    with pytest.raises(UnsupportedSourceError) as caught:
        analyse(first, Signature((("A", kind),)))
    assert remedy in caught.value.remedy

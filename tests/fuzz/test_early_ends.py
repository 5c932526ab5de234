"""The programs of ``tests.fuzz.early_ends``: they run, and their loops end in as many ways as they should."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import pytest

from tests.fuzz.early_ends import sample_of
from tests.fuzz.references import prepared
from tests.fuzz.samples import Sample, check_share, check_sources

NUMBER = 150


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return [sample_of(seed) for seed in range(NUMBER)]


def test_a_seed_is_a_program() -> None:
    assert [sample_of(seed) for seed in range(10)] == [sample_of(seed) for seed in range(10)]


def test_nearly_all_can_be_compared(samples: list[Sample]) -> None:
    references = [prepared(sample)[1] for sample in samples[:60]]
    assert sum(reference is not None and reference.error is None for reference in references) > 50


FEATURES = {
    "a break": (r"break", 50),
    "a continue": (r"continue", 15),
    "a return out of a loop": (r"\n {8,}return total", 5),
    "a test of convergence": (r"(if|while) rest [<>]", 15),
    "a search by while": (r"while at\d", 5),
    "what was found, behind the loop": (r"\n    (if found >= 0|found = search|total \+= [ijk]\n)", 2),
    "a function that returns out of a loop": (r"search\(", 5),
    "array expressions": (r"np\.(sum|max|where)|x\[:\]|M \*=", 15),
}


@pytest.mark.parametrize(("pattern", "percent"), FEATURES.values(), ids=FEATURES.keys())
def test_feature_is_common_enough(samples: list[Sample], pattern: str, percent: float) -> None:
    check_sources(samples, pattern, percent)


def _breaks(statements: Sequence[ast.stmt]) -> bool:
    """Return whether statements have a break, but for those in loops inside."""
    return any(
        isinstance(each, ast.Break) or (isinstance(each, ast.If) and _breaks([*each.body, *each.orelse]))
        for each in statements
    )


def _has_break_after_loop(loop: ast.For | ast.While) -> bool:
    first = next((place for place, each in enumerate(loop.body) if isinstance(each, ast.For | ast.While)), None)
    return first is not None and _breaks(loop.body[first:])


def _has_break_before_loop(loop: ast.For | ast.While) -> bool:
    first = next((place for place, each in enumerate(loop.body) if _breaks([each])), None)
    return first is not None and any(isinstance(each, ast.For | ast.While) for each in loop.body[first:])


LOOPS: dict[str, tuple[Callable[[ast.For | ast.While], bool], float]] = {
    "a break after a loop inside": (_has_break_after_loop, 10),
    "a break before a loop inside": (_has_break_before_loop, 10),
    "a break, and an else": (lambda loop: _breaks(loop.body) and bool(loop.orelse), 5),
    "a break in an else": (lambda loop: _breaks(loop.orelse), 1),
}


@pytest.mark.parametrize(("has", "percent"), LOOPS.values(), ids=LOOPS.keys())
def test_kind_of_loop_is_common_enough(
    samples: list[Sample], has: Callable[[ast.For | ast.While], bool], percent: float
) -> None:
    trees = [list(ast.walk(ast.parse(sample.source))) for sample in samples]
    check_share((any(isinstance(each, ast.For | ast.While) and has(each) for each in tree) for tree in trees), percent)

"""Loops that end with the first iteration that does not run."""

from __future__ import annotations

import re

import numpy as np
import pytest

from polytune.codegen.loops import Block, Compute, For, Node
from polytune.codegen.statement_source import early_end
from polytune.errors import SourceLocation
from polytune.frontend.expression import Assign, Branch, Compare, Constant, Element, Expression, Iterator, Select
from tests.every_version import check_versions, stages_of

HERE = SourceLocation("kernel.py", 1, 0, 1, "")
ENDED, RUNS, TOTAL = (Element(name, (), "int64") for name in ("ended", "runs", "total"))
ZERO, ONE = Constant(0, "int64"), Constant(1, "int64")


def assigned(left: Expression) -> Assign:
    """``runs = 1 if left == 0 else 0``."""
    return Assign(RUNS, Select(Compare("==", left, ZERO), ONE, ZERO, "int64"))


def compute(*operations: Assign | Branch) -> Compute:
    return Compute("S", operations, HERE)


def guarded(condition: Expression, target: Element = ENDED) -> Compute:
    return compute(Branch(condition, (Assign(target, ONE),)))


RUNNING = Compare("!=", RUNS, ZERO)
COLUMN = Iterator("c1")
ENDING: dict[str, tuple[tuple[Node, ...], tuple[Node, ...]]] = {
    "statements": (
        (guarded(RUNNING), guarded(RUNNING, TOTAL)),
        (compute(Assign(ENDED, ONE)), compute(Assign(TOTAL, ONE))),
    ),
    "a loop inside": (
        (For("c1", ZERO, ONE, 1, guarded(RUNNING, TOTAL)),),
        (For("c1", ZERO, ONE, 1, compute(Assign(TOTAL, ONE))),),
    ),
}
"""The nodes that follow the test, and what is left of them after the loop's end, by name."""
GOING_ON: dict[str, Node] = {
    "no condition": Block((compute(assigned(ENDED)), guarded(RUNNING), compute(Assign(TOTAL, ONE)))),
    "another condition": Block((compute(assigned(ENDED)), guarded(RUNNING), guarded(Compare("==", RUNS, ZERO), ENDED))),
    "something before": Block((compute(Assign(ENDED, ZERO)), compute(assigned(ENDED)), guarded(RUNNING))),
    "of the loop variable": Block((compute(assigned(COLUMN)), guarded(RUNNING))),
    "of itself": Block((compute(assigned(RUNS)), guarded(RUNNING))),
    "of another scalar": Block((compute(assigned(ENDED)), guarded(Compare("!=", TOTAL, ZERO)))),
    "the test is changed": Block((compute(assigned(ENDED)), guarded(RUNNING, RUNS))),
    "nothing else": Block((compute(assigned(ENDED)),)),
}


@pytest.mark.parametrize("name", ENDING)
def test_loops_end(name: str) -> None:
    rest, left = ENDING[name]
    test = compute(assigned(ENDED))
    ending = early_end(Block((test, *rest)))
    assert ending is not None
    assert (ending.test, ending.condition, ending.rest) == (test, RUNNING, Block(left))


@pytest.mark.parametrize("name", GOING_ON)
def test_loops_go_on(name: str) -> None:
    assert early_end(GOING_ON[name]) is None


def first_above(A, limit, out):
    for i in range(A.shape[0]):
        out[i] = -1.0
        for j in range(A.shape[1]):
            for k in range(A.shape[2]):
                out[i] += A[i, j, k]
            if out[i] > limit:
                break


def test_generated_loops_end() -> None:
    generator = np.random.default_rng(3)
    arguments = [generator.random((5, 6, 3)), 2.5, generator.random(5)]
    stages = stages_of(first_above, arguments)
    assert re.search(r"if not \(.*\):\n +break", stages.source)
    assert not re.search(r"^ +if runs != 0:", stages.source, re.MULTILINE)
    check_versions(first_above, stages, arguments)

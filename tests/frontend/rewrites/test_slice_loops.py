"""Loops over parts of arrays that begin further on each time: which count from there, and that results are right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from polytune.frontend import analyse
from polytune.frontend.expression import Iterator, walk
from polytune.frontend.source_order import SourceBranch, SourceLoop, SourceNode
from polytune.runtime.calls.arguments import signature_of
from tests.every_version import check_versions, stages_of


def eliminated(A, x, n):
    for k in range(A.shape[0] - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])


def rows_by_columns(A, x, n):
    B = np.zeros((A.shape[1], A.shape[1]))
    for i in range(A.shape[1] - 1):
        B[i + 1 :, i] = B[i, i + 1 :] = A[:, i] @ A[:, i + 1 :]
    A[:] = B


def scaled_rows(A, x, n):
    for i in range(A.shape[0]):
        A[i, i:] = x[i] * A[i, i:] + x[i:]


def two_loops_around(A, x, n):
    for i in range(3):
        for j in range(3):
            A[i, i + j + 1 :] += x[i] * x[i + j + 1 :]


def behind_both_ends(A, x, n):
    for i in range(A.shape[0]):
        A[i, i + 1 : n] = x[i + 1 : n] + 1.0


def before_the_beginning(A, x, n):
    for i in range(A.shape[0] - 1):
        for j in range(A.shape[1] - i):
            if i > 0:
                A[i, i - 1 + j] += x[i - 1 + j]


COUNTED = (eliminated, rows_by_columns, scaled_rows, two_loops_around, behind_both_ends, before_the_beginning)


def windows(A, x, n):
    for i in range(A.shape[0] - 3):
        A[i, 0] += x[i : i + 3].sum()


def other_subscripts(A, x, n):
    for i in range(A.shape[0]):
        for j in range(A.shape[1] - i):
            A[i, i + j] = x[j]


def values(A, x, n):
    for i in range(A.shape[0]):
        for j in range(A.shape[1] - i):
            A[i, i + j] = x[i + j] * j


def backwards(A, x, n):
    for i in range(A.shape[0]):
        for j in range(A.shape[1] - i):
            A[i, A.shape[1] - 1 - i - j] += 1.0


def subscripts_of_data(A, x, n):
    for i in range(A.shape[0]):
        for j in range(A.shape[1] - i):
            A[i, int(x[i + j]) % 3] += 1.0


def bounds_inside(A, x, n):
    for i in range(A.shape[0]):
        for j in range(A.shape[1] - i):
            for k in range(j):
                A[i, i + j] += x[k]


AS_THEY_ARE = (windows, other_subscripts, values, backwards, bounds_inside)


def arguments(rows: int = 6, n: int = 5) -> list[Any]:
    numbers = np.random.default_rng(rows)
    return [numbers.uniform(1.0, 2.0, (rows, rows)), numbers.uniform(1.0, 2.0, rows), n]


def beginnings(function: Callable[..., Any]) -> set[bool]:
    """Return whether the loops inside of others begin with what variables of these decide."""
    names = function.__code__.co_varnames[:3]
    scop = analyse(function, signature_of(names, tuple(arguments())))
    return {any(isinstance(part, Iterator) for part in walk(loop.start)) for loop in loops_inside(scop.nodes)}


def loops_inside(nodes: Sequence[SourceNode], depth: int = 0) -> list[SourceLoop]:
    found: list[SourceLoop] = []
    for node in nodes:
        match node:
            case SourceLoop(body=body):
                found += [*([node] if depth else []), *loops_inside(body, depth + 1)]
            case SourceBranch(then=then, otherwise=otherwise):
                found += loops_inside((*then, *otherwise), depth)
    return found


@pytest.mark.parametrize("function", COUNTED, ids=lambda each: each.__name__)
def test_loops_count_from_where_parts_begin(function: Callable[..., Any]) -> None:
    assert True in beginnings(function)


@pytest.mark.parametrize("function", AS_THEY_ARE, ids=lambda each: each.__name__)
def test_what_is_no_simpler_stays(function: Callable[..., Any]) -> None:
    assert beginnings(function) == {False}


def test_products_of_columns_have_versions_of_products() -> None:
    """By the library, and with what rows share in buffers."""
    names = {program.name for program in stages_of(rows_by_columns, arguments()).programs}
    assert "library" in names and any(name.endswith("_packed") for name in names)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("function", [*COUNTED, *AS_THEY_ARE, subscripts_of_data], ids=lambda each: each.__name__)
def test_every_version_does_what_the_source_does(function: Callable[..., Any], strict: bool) -> None:
    for rows in (6, 4):
        given = arguments(rows)
        if function is rows_by_columns:
            given[0] = np.round(8.0 * given[0])  # sums in any order are exact
        check_versions(function, stages_of(function, given, strict=strict), given)

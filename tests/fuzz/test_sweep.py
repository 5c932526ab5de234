"""A sample of the sweep over the project's kernels, and that the sweep sees what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.fuzz.corpora import VARIANTS, Call, kernels, resized, variants_of
from tests.fuzz.sweep import Checker, Finding, _other_kind

SAMPLE = ("corpus/garch", "corpus/lattice", "numerical/kmer_counts", "polybench/mvt", "accepted/rows_unpacked")


def findings(call: Call, variants: list[str] | None, *, strict: bool = True) -> list[Finding]:
    checker = Checker(call, strict=strict, compiled=False)
    return [found for each in variants_of(call, variants) for found in checker.findings(*each)]


@pytest.mark.parametrize("name", SAMPLE)
def test_sample(name: str) -> None:
    call = next((each for each in kernels() if each.name.startswith(name)), None)
    assert call is not None
    assert (
        findings(call, ["usual", "size 0", "size 1", "size 3", "special values", "one array twice", "overlapping"])
        == []
    )


def doubled(n: int, A: np.ndarray, B: np.ndarray) -> None:
    for i in range(n):
        B[i] = 2.0 * A[i]


def doubled_arguments() -> tuple[Any, ...]:
    return 40, np.arange(40.0), np.zeros(40)


def test_wrong_results_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call("doubled", doubled, doubled_arguments)
    assert findings(call, None) == [] and findings(call, None, strict=False) == []

    def wrong(self: Checker, *arguments: Any) -> None:
        arguments[2][2][-1:] += 1e-9

    monkeypatch.setattr(Checker, "_interpreted", wrong)
    assert {each.variant for each in findings(call, ["size 0", "size 33"])} == {"size 33"}


def sum_and_parts(A: np.ndarray) -> Any:
    return A.sum(), (A[0], A[:2])


@pytest.mark.parametrize(
    "change",
    [
        lambda total, parts: [total, parts],
        lambda total, parts: (float(total), parts),
        lambda total, parts: (np.float32(total), parts),
        lambda total, parts: (total, (np.asarray(parts[0]), parts[1])),
        lambda total, parts: (total, (parts[0], parts[1].astype(np.float32))),
        lambda total, parts: (total, (None, parts[1])),
    ],
    ids=["list", "Python's number", "scalar", "array without dimensions", "array", "None"],
)
def test_results_of_other_types_are_found(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    call = Call("sum", sum_and_parts, lambda: (np.arange(5.0),))
    assert findings(call, ["usual", "int64", "complex128"]) == []
    monkeypatch.setattr(Checker, "_interpreted", lambda self, *given: change(*sum_and_parts(*given[2])))
    assert findings(call, ["usual"]) != []


def partly_written(A: np.ndarray) -> Any:
    B = np.empty_like(A)
    B[: A.shape[0] // 2] = 1.0
    return B


def test_what_nothing_has_written_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call("partly", partly_written, lambda: (np.arange(6.0),))
    monkeypatch.setattr(Checker, "_interpreted", lambda self, *given: np.array([1.0, 1.0, 9.0, 9.0, 9.0]))
    checker = Checker(call, strict=True, compiled=False)
    assert not [found for each in variants_of(call, ["usual"]) for found in checker.findings(*each)]
    assert checker.outcomes["reads what nothing has written"] == 1


def test_results_of_types_that_hold_pythons_numbers_are_right() -> None:
    assert [_other_kind(1.0, found) != "" for found in (np.float32(1), np.float64(1), np.int64(1))] == [0, 0, 1]
    assert [_other_kind(1, found) != "" for found in (np.int64(1), np.float64(1), True)] == [0, 0, 1]
    assert [_other_kind(True, found) != "" for found in (np.True_, 1)] == [0, 1]


def test_errors_after_a_change_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call("doubled", doubled, doubled_arguments)

    def late(self: Checker, *arguments: Any) -> None:
        arguments[2][2][-1] = 7.0
        raise ZeroDivisionError

    monkeypatch.setattr(Checker, "_interpreted", late)
    assert "ZeroDivisionError" in findings(call, ["usual"])[0].message


def test_sizes_of_a_call_stay_together() -> None:
    made = resized((np.zeros((128, 129)), np.zeros(300), 127, 3, 0.5, np.arange(128) * 2), 7, 2)
    assert made[0].shape == (8, 9) and made[1].shape == (9,) and made[2:5] == (7, 3, 0.5)
    assert made[5].shape == (8,) and made[5].max() == 2


def test_variants_are_what_their_names_say() -> None:
    call = Call("doubled", doubled, doubled_arguments)
    made = {variant.name: make() for variant, make in variants_of(call)}
    assert set(made) == {variant.name for variant in VARIANTS} and made["size 33"][0] == 33
    assert made["one array twice"][1] is made["one array twice"][2] and not made["read-only"][1].flags.writeable
    assert np.shares_memory(*made["overlapping"][1:]) and made["reversed"][1].strides == (-8,)
    assert made["strided"][1].strides == (16,) and made["float32"][1].dtype == np.float32

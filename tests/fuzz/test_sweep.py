"""A sample of the sweep over the project's kernels, and that the sweep sees what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.fuzz.corpora import VARIANTS, Call, kernels, resized, variants_of
from tests.fuzz.sweep import Checker, Finding

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

"""What calls begin with, and what is never tried."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.tuning import first_choices
from polytune.tuner import Budget, Configuration


def product(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> None:
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@pytest.fixture(scope="module")
def generated() -> GeneratedKernel:
    return polytune.kernel(product).generated(*(np.ones((8, 8)) for _ in range(3)))


@pytest.fixture(autouse=True)
def on_any_machine(monkeypatch):
    """Vectors of all lengths, and teams of one, are more than twice as fast as the source order."""
    monkeypatch.setattr(first_choices, "_FAR", 2.0)


def source_order(generated: GeneratedKernel) -> Configuration:
    return generated.space.configuration(version="source")


def test_what_takes_long_and_far_longer_is_not_worth_a_trial(generated):
    choices, sizes = generated.first_choices, (4000,) * len(generated.module.PARAMETERS)
    reason = choices.why_too_slow(sizes, source_order(generated))
    assert reason is not None and reason.startswith("Max-Time: a call is expected to take ")
    assert choices.why_too_slow(sizes, choices.promising(sizes)[0]) is None


def test_what_takes_no_second_is_tried_however_much_longer_it_takes(generated):
    choices, sizes = generated.first_choices, (500,) * len(generated.module.PARAMETERS)
    assert choices.risk(sizes, source_order(generated)) > first_choices._FAR
    assert choices.why_too_slow(sizes, source_order(generated)) is None


@pytest.mark.parametrize("expected", [None, float("inf")])
def test_what_nothing_is_known_of_is_tried(generated, monkeypatch, expected):
    choices, sizes = generated.first_choices, (4000,) * len(generated.module.PARAMETERS)
    prediction, source = choices.prediction(sizes), source_order(generated)
    seconds = prediction.seconds
    monkeypatch.setattr(prediction, "seconds", lambda each: expected if each == source else seconds(each))
    assert choices.why_too_slow(sizes, source) is None


def test_calls_never_run_what_is_too_slow(monkeypatch):
    monkeypatch.setattr(first_choices, "_LONG_TRIAL", 0.0)
    kernel = polytune.kernel(budget=Budget.unlimited(), background=False)(product)
    rng = np.random.default_rng(1)
    A, B, C = rng.random((150, 150)), rng.random((150, 150)), np.zeros((150, 150))
    choices = kernel.generated(A, B, C).first_choices
    for _ in range(150):
        kernel(A, B, C)
    ((case, tuner),) = kernel.tuners.items()
    tried = [configuration for configuration, _ in tuner.ranking()]
    assert len(tried) > 5
    assert all(choices.why_too_slow(case.parameters, each) is None for each in tried)
    assert choices.why_too_slow(case.parameters, source_order(kernel.generated(A, B, C))) is not None
    np.testing.assert_allclose(C, 150 * (A @ B))

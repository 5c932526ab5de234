"""Versions that take long to look for: what answers calls until they are there, and the change-over."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polytune
from polytune import kernel_modules, pipeline
from polytune.runtime.background import versions as deferred_versions
from polytune.runtime.calls import calls
from polytune.runtime.modules.cache import ModuleCache
from polytune.runtime.modules.generated import GeneratedKernel
from tests.deferred.kernels import (
    check_smoothed,
    holds,
    normalised,
    powers,
    products,
    smoothed,
    started,
    until,
    versions,
)
from tests.deferred.processes import HeldProcess
from tests.every_version import check_versions, stages_of


def test_calls_go_on_with_few_versions_and_then_have_all(makers):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(smoothed)
    try:
        for _ in range(5):
            check_smoothed(kernel)
        check_smoothed(kernel, size=33)
        assert set(versions(kernel)) <= {"parallel", "source"}
        assert holds(kernel) and not kernel.tuners
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    assert len(versions(kernel)) > 2
    ((case, tuner),) = kernel.tuners.items()
    assert case.parameters[0] == 33 and tuner.statistics().calls == 0
    for _ in range(30):
        check_smoothed(kernel, size=57)
    (tuner,) = (tuner for case, tuner in kernel.tuners.items() if case.parameters[0] == 57)
    assert tuner.statistics().calls == 30
    assert {str(each["version"]) for each, _ in tuner.ranking()} <= set(versions(kernel))
    for version in versions(kernel):
        start = np.random.default_rng(1).uniform(size=40)
        ours, theirs = started(start), started(start)
        space = kernel.space(*ours, 3)
        smoothed(*theirs, 3)
        kernel.run(space.configuration(version=version), *ours, 3)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_calls_leave_a_core_to_versions_that_take_long(makers, monkeypatch):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    threads: list[int] = []
    run = GeneratedKernel.run

    def noted(generated: GeneratedKernel, configuration: Any, invocation: Any) -> Any:
        threads.append(configuration.get("threads", 1))
        return run(generated, configuration, invocation)

    monkeypatch.setattr(GeneratedKernel, "run", noted)
    monkeypatch.setattr(deferred_versions, "_PATIENCE", 600.0)
    kernel = polytune.kernel(smoothed)
    try:
        for _ in range(3):
            check_smoothed(kernel, size=150_000)
        assert holds(kernel) and threads[0] > 1 and set(threads) == {threads[0]}
        long_ways = len(threads)
        monkeypatch.setattr(deferred_versions, "_PATIENCE", 0.0)
        for _ in range(3):
            check_smoothed(kernel, size=150_000)
        assert set(threads[long_ways:]) == {threads[0] - 1}
        assert len(threads) == long_ways + 1  # the others go the short way, which they do not leave
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    check_smoothed(kernel, size=150_000)
    assert threads[-1] == threads[0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_products_of_matrices_do_not_wait(monkeypatch, makers, dtype):
    monkeypatch.setattr(pipeline, "MANY_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "WAIT", 100.0)
    monkeypatch.setattr(pipeline, "WAIT_OF_PRODUCTS", 100.0)
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # as many as calls of the tests have beside others
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(products)
    A, B = (np.random.default_rng(0).integers(-4, 5, (130, 130)).astype(dtype) for _ in range(2))
    try:
        np.testing.assert_array_equal(kernel(A, B), products(A, B))
        assert holds(kernel)
        assert {"library", "source"} < set(versions(kernel))
        (generated,) = (each for _, each in kernel._generated.values())
        assert "library" in generated.first_choices.versions
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    np.testing.assert_array_equal(kernel(A, B), products(A, B))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_versions_of_products_that_do_not_wait_are_right(monkeypatch, dtype, strict):
    """Also where the products are in a loop that nothing takes them out of."""
    monkeypatch.setattr(pipeline, "MANY_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "WAIT", 100.0)
    monkeypatch.setattr(pipeline, "WAIT_OF_PRODUCTS", 100.0)
    A = np.random.default_rng(0).integers(-1, 2, (5, 5)).astype(dtype)
    for function, arguments in ((products, [A, A.T.copy()]), (powers, [A, 3])):
        stages = replace(stages_of(function, arguments, strict=strict), may_defer=True)
        names = {program.name for program in stages.programs}
        assert stages.defers and "source" in names
        by_library = function is products and not strict
        assert ("library" in names) == by_library
        assert by_library or ("distributed" if dtype == "complex128" else "distributed_packed") in names
        check_versions(function, stages, arguments)


def test_nothing_is_left_of_few_versions_in_the_history(makers):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(smoothed)
    try:
        for _ in range(5):
            check_smoothed(kernel, size=61)
    finally:
        HeldProcess.may_answer.set()
    tuner = kernel.tuner(np.ones(61), np.ones(61), 3)
    assert tuner.statistics().calls == 0 and not tuner.ranking()


@pytest.mark.parametrize("strict", [False, True])
def test_results_are_those_of_numpy(strict):
    kernel = polytune.kernel(strict=strict)(normalised)
    values = np.random.default_rng(0).normal(size=(200, 7))
    weights = np.random.default_rng(1).normal(size=7)
    for _ in range(20):
        np.testing.assert_allclose(kernel(values, weights), normalised(values, weights), rtol=1e-9)
    values[3, 2], values[5, 1] = np.nan, np.inf
    kernel.explain()
    with np.errstate(invalid="ignore"):
        for _ in range(20):
            np.testing.assert_allclose(kernel(values, weights), normalised(values, weights), rtol=1e-9)


@pytest.mark.parametrize(
    "use",
    [
        lambda kernel, *given: kernel.space(*given),
        lambda kernel, *given: kernel.tuner(*given),
        lambda kernel, *given: kernel.generated(*given),
        lambda kernel, *given: kernel.run(kernel.space(*given).default(), *given),
        lambda kernel, *given: kernel.explain(),
        lambda kernel, *given: kernel.warm_up(),
        lambda kernel, *given: kernel.tune(*given, seconds=0.1),
    ],
    ids=["space", "tuner", "generated", "run", "explain", "warm_up", "tune"],
)
def test_who_asks_for_versions_is_given_all(use):
    def scaled(A, B, steps: int):
        for _ in range(steps):
            for i in range(len(A)):
                A[i] = A[i] + B[i] * 0.5

    scaled.__annotations__ |= {"A": "float64[:]", "B": "float64[:]"}
    kernel = polytune.kernel(scaled)
    kernel(np.ones(20), np.ones(20), 2)
    use(kernel, np.ones(20), np.ones(20), 2)
    assert not any(
        generated.deferred is not None
        for (types, _), (_, generated) in kernel._generated.items()
        if types == kernel.generated(np.ones(20), np.ones(20), 2).module.SIGNATURE
    )


def test_who_asks_first_is_given_all():
    kernel = polytune.kernel(smoothed)
    assert len(kernel.space(np.ones(9), np.ones(9), 2)["version"].values) > 2
    assert not holds(kernel)


def test_calls_that_take_long_wait_for_all(monkeypatch):
    monkeypatch.setattr(calls, "_LONG_CALL", 0.0)
    kernel = polytune.kernel(smoothed)
    check_smoothed(kernel)
    assert not holds(kernel) and len(versions(kernel)) > 2


def test_calls_that_take_long_wait_no_longer_than_versions_usually_take(makers, monkeypatch):
    monkeypatch.setattr(calls, "_LONG_CALL", 0.0)
    monkeypatch.setattr(calls, "_LONGEST_WAIT", 0.01)
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    try:
        kernel = polytune.kernel(smoothed)
        check_smoothed(kernel)
        assert holds(kernel)
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    check_smoothed(kernel)
    assert len(versions(kernel)) > 2


@pytest.mark.parametrize("mode", ["off", "frozen"])
def test_calls_that_are_not_tuned_have_all(mode):
    kernel = polytune.kernel(smoothed)
    with polytune.tuning(mode):
        check_smoothed(kernel)
    assert not holds(kernel) and len(versions(kernel)) > 2


def test_calls_that_wait_for_compilers_have_all(monkeypatch):
    for setting in ("background=False", "POLYTUNE_BACKGROUND", "one core"):
        kernel = polytune.kernel(background=setting != "background=False")(smoothed)
        if setting == "POLYTUNE_BACKGROUND":
            monkeypatch.setenv("POLYTUNE_BACKGROUND", "0")
        elif setting == "one core":
            monkeypatch.delenv("POLYTUNE_BACKGROUND")
            monkeypatch.setattr(kernel_modules, "machine", lambda: SimpleNamespace(cores=1))
        monkeypatch.setattr(kernel_modules, "module_cache", partial(_fresh_cache, setting))
        check_smoothed(kernel)
        assert not holds(kernel) and len(versions(kernel)) > 2


_caches: dict[str, ModuleCache] = {}


def _fresh_cache(name: str) -> ModuleCache:
    import tempfile

    return _caches.setdefault(name, ModuleCache(tempfile.mkdtemp()))

"""What kernels use from outside, and what happens when it changes between calls."""

from __future__ import annotations

import importlib
import types
import warnings
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import RecompilationWarning, UnsupportedSourceError
from polytune.packaging import build
from polytune.surroundings import surroundings_of

FACTOR = 2.0
COUNT = 3
settings = types.ModuleType("settings")
settings.OFFSET = 1.0  # type: ignore[attr-defined]


class Options:
    scale = 2.0
    inner = types.SimpleNamespace(shift=0.5)


OPTIONS = Options()


def helper(x):
    return x * FACTOR


def scaled(A):
    for i in range(len(A)):
        A[i] = A[i] * FACTOR


def by_module(A):
    for i in range(len(A)):
        A[i] = A[i] + settings.OFFSET


def by_object(A):
    for i in range(len(A)):
        A[i] = A[i] * OPTIONS.scale + Options.inner.shift


def by_helper(A):
    for i in range(len(A)):
        A[i] = helper(A[i])


def counted(A):
    for i in range(COUNT):
        A[i] = A[i] + i


def called(kernel: polytune.Kernel) -> np.ndarray:
    """What a call gives, held against plain Python."""
    wanted, got = np.arange(1.0, 7.0), np.arange(1.0, 7.0)
    kernel.__wrapped__(wanted)
    kernel(got)
    np.testing.assert_array_equal(got, wanted)
    return got


def test_a_global_that_changes_is_read_anew(monkeypatch) -> None:
    kernel = polytune.Kernel(scaled)
    first = called(kernel)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert (called(kernel) != first).all()
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    np.testing.assert_array_equal(called(kernel), first)


@pytest.mark.parametrize("count", [2, 5, np.int64(4)])
def test_a_global_loop_bound_that_changes(monkeypatch, count) -> None:
    kernel = polytune.Kernel(counted)
    called(kernel)
    monkeypatch.setitem(globals(), "COUNT", count)
    called(kernel)


@pytest.mark.filterwarnings("ignore::polytune.errors.RecompilationWarning")
def test_attributes_of_modules_classes_and_objects(monkeypatch) -> None:
    module, members = polytune.Kernel(by_module), polytune.Kernel(by_object)
    called(module), called(members)
    monkeypatch.setattr(settings, "OFFSET", -4.0)
    called(module)
    monkeypatch.setattr(Options, "scale", 7.0)
    called(members)
    monkeypatch.setattr(Options.inner, "shift", 9.0)
    called(members)
    monkeypatch.setattr(OPTIONS, "scale", 11.0, raising=False)
    called(members)


def other_helper(x):
    return x - 1.0


def test_functions_that_are_called(monkeypatch) -> None:
    kernel = polytune.Kernel(by_helper)
    called(kernel)
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    called(kernel)
    monkeypatch.setitem(globals(), "helper", other_helper)
    called(kernel)


def test_variables_of_enclosing_functions() -> None:
    def kernel(A):
        for i in range(len(A)):
            A[i] = A[i] * weight

    compiled = polytune.kernel(kernel)
    with pytest.raises(UnsupportedSourceError, match="the name 'weight' is not defined"):
        compiled(np.ones(3))
    weight = 2.0
    called(compiled)
    weight = 3.0
    called(compiled)


@pytest.mark.filterwarnings("ignore::polytune.errors.RecompilationWarning")
def test_zeros_of_both_signs_and_types_are_different_constants(monkeypatch) -> None:
    kernel = polytune.Kernel(scaled)
    results = []
    for factor in (0.0, -0.0, 1, True, np.float32(0.1), 0.1):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        results.append(called(kernel))
    assert not np.signbit(results[0]).any() and np.signbit(results[1]).all()


def test_other_types_of_arguments_see_the_same_values(monkeypatch) -> None:
    kernel = polytune.Kernel(scaled)
    kernel(np.ones(3)), kernel(np.ones(3, np.float32))
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    for dtype in (np.float32, np.float64):
        A = np.ones(3, dtype)
        kernel(A)
        assert (A == 4.0).all()


def test_an_equal_value_compiles_nothing(monkeypatch) -> None:
    kernel = polytune.Kernel(scaled)
    A = np.ones(3)
    kernel(A)
    generated = kernel.generated(A)
    monkeypatch.setitem(globals(), "FACTOR", float("2.0"))
    assert kernel.generated(A) is generated
    monkeypatch.setitem(globals(), "FACTOR", 2.5)
    assert kernel.generated(A) is not generated


@pytest.mark.parametrize("use", ["__call__", "space", "generated"])
def test_what_changes_again_and_again_is_warned_of_once(monkeypatch, use) -> None:
    kernel = polytune.Kernel(scaled)
    A = np.ones(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for factor in (2.0, 3.0, 4.0, 5.0, 6.0):
            monkeypatch.setitem(globals(), "FACTOR", factor)
            getattr(kernel, use)(A)
    found = [warning for warning in caught if warning.category is RecompilationWarning]
    assert len(found) == 1
    assert "'FACTOR', outside of kernel 'scaled'" in str(found[0].message)
    assert found[0].filename == __file__


def test_a_package_keeps_the_values_that_it_was_built_with(tmp_path, monkeypatch) -> None:
    build([polytune.Kernel(scaled)], tmp_path / "package_of_scaled")
    monkeypatch.syspath_prepend(tmp_path)
    package = importlib.import_module("package_of_scaled")
    monkeypatch.setitem(globals(), "FACTOR", 9.0)
    A = np.ones(3)
    package.scaled(A)
    assert (A == 2.0).all()


def without_constants(A):
    for i in range(A.shape[0]):
        A[i] = abs(A[i])


def test_a_kernel_without_constants_looks_at_nothing() -> None:
    found = surroundings_of(without_constants)
    assert not found.values and found.text == ""


shape = T = 1


def attributes_named_like_globals(A):
    for i in range(A.shape[0]):
        A[i] = 1.0


def test_a_global_named_like_an_attribute_is_not_looked_at() -> None:
    assert not surroundings_of(attributes_named_like_globals).values


class Awkward:
    """Members that are other objects each time, or fail."""

    level = 2.0

    def method(self) -> None: ...

    @property
    def failing(self) -> Any:
        raise RuntimeError

    @property
    def fresh(self) -> Any:
        return object()


AWKWARD = Awkward()


def awkward(A):
    A[0] = AWKWARD.level
    AWKWARD.method, AWKWARD.failing, AWKWARD.fresh  # noqa: B018


def test_members_that_cannot_be_constants_are_left_out() -> None:
    found = surroundings_of(awkward)
    assert "AWKWARD.level = 2.0" in found.text
    assert not any(name in found.text for name in ("method", "failing", "fresh"))
    assert found.values.changed() is None

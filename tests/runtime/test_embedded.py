"""Kernels of a generated package accept the types they were built for, and nothing that would be read wrongly."""

import importlib.util
import sys

import numpy as np
import pytest

import polytune
from polytune.packaging import build
from polytune.tuner import Budget


@polytune.kernel
def shift(x, A: "float64[:, :]", factor):  # noqa: F821
    for i in range(x.shape[0]):
        x[i] = x[i] * factor + A[i, 0]


@polytune.kernel(budget="0 calls")
def double(x: "float64[::1]"):  # noqa: F821
    for i in range(x.shape[0]):
        x[i] *= 2.0


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("built") / "shifts"
    build([shift, double], folder)
    spec = importlib.util.spec_from_file_location(
        "shifts", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["shifts"] = package
    spec.loader.exec_module(package)
    return package


@pytest.fixture
def embedded(package):
    return package.shift


def test_a_package_keeps_the_budget_of_a_kernel(package) -> None:
    assert package.double.budget == Budget.of_calls(0)
    assert package.shift.budget == Budget()


def test_an_application_sets_another_budget_at_any_time(package) -> None:
    x = np.ones(8)
    for _ in range(6):
        package.double(x)
    (tuner,) = package.double.tuners.values()
    assert tuner.statistics().trials == 1  # the first call has to run something
    package.double.budget = 3
    for _ in range(12):
        package.double(x)
    assert tuner.budget == Budget.of_calls(3) and tuner.statistics().trials == 3
    with pytest.raises(polytune.PolytuneError, match="'much' is no budget"):
        package.double.budget = "much"
    assert package.double.budget == Budget.of_calls(3)


def test_arrays_of_any_strides_where_built_for_them(embedded) -> None:
    A = np.arange(12.0).reshape(3, 4)
    for given in (A, np.asfortranarray(A), A[:, ::-1], A[::-1]):
        x = np.ones(3)
        embedded(x, given, 2)
        assert np.array_equal(x, 2 + given[:, 0])


def test_array_with_other_strides_than_compiled_in_is_refused(embedded) -> None:
    x = np.ones(6)
    with pytest.raises(polytune.ArgumentError, match=r"'x' of shift is float64\[:\], but .* built for float64\[::1\]"):
        embedded(x[::2], np.ones((3, 1)), 2.0)
    assert np.array_equal(x, np.ones(6))

"""Kernels of a generated package accept the types they were built for, and nothing that would be read wrongly."""

import importlib.util
import sys

import numpy as np
import pytest

import polytune
from polytune.packaging import build


@polytune.kernel
def shift(x, A: "float64[:, :]", factor):  # noqa: F821
    for i in range(x.shape[0]):
        x[i] = x[i] * factor + A[i, 0]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("built") / "shifts"
    build([shift], folder)
    spec = importlib.util.spec_from_file_location(
        "shifts", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["shifts"] = package
    spec.loader.exec_module(package)
    return package.shift


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

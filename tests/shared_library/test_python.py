"""The Python package around a shared library does what the kernels do that it was built from, and needs NumPy alone."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from polytune.cli.target import load_kernels, parse_target
from polytune.errors import PolytuneError
from polytune.shared_library.build import build_library
from polytune.shared_library.levels import level_names
from tests.shared_library.conftest import KERNELS, imported

# The first of them builds the library.
pytestmark = pytest.mark.slow


def smoothed(x: np.ndarray, y: np.ndarray, rate: float) -> np.ndarray:
    want = y.copy()
    n, m = want.shape
    around = x[: n - 2, 1 : m - 1] + x[2:n, 1 : m - 1] + x[1 : n - 1, : m - 2] + x[1 : n - 1, 2:m]
    want[1:-1, 1:-1] = x[1 : n - 1, 1 : m - 1] + rate * (around - 4 * x[1 : n - 1, 1 : m - 1])
    return want


@pytest.fixture(params=[0, -1], ids=["lowest", "highest"])
def package(built, request):
    """The package, with the code of its lowest and of its highest level."""
    before = built.package.library.level
    built.package.library.set_level(built.told.levels[request.param])
    yield built.package
    built.package.library.set_level(before)


@pytest.mark.parametrize("shape", [(3, 3), (17, 31), (130, 67)])
def test_arrays_of_all_strides(package, rng, shape):
    n, m = shape
    memory = rng.random((2 * n, 2 * m))
    sources = memory[:n, :m], memory[::2, ::2], np.asfortranarray(memory[:n, :m]), memory[n - 1 :: -1, m - 1 :: -1]
    for x in sources:
        for y in (rng.random(shape), rng.random((m, n)).T, rng.random((n, 3 * m))[::-1, ::3]):
            want = smoothed(x, y, 0.25)
            assert package.smooth(x, y, rate=0.25) is None
            np.testing.assert_allclose(y, want, rtol=1e-14)


def test_defaults_documentation_and_names(built):
    smooth = built.package.smooth
    x, y = np.ones((4, 4)), np.zeros((4, 4))
    smooth(x, y)
    assert y[1, 1] == 1.0
    assert smooth.__doc__.startswith("Write to ``y``") and smooth.__name__ == "smooth"
    assert str(smooth.__signature__) == "(x, y, rate=0.5)"
    assert pickle.loads(pickle.dumps(smooth)) is smooth


@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 9, 3), (70, 33, 65), (0, 4, 3), (3, 0, 2)])
def test_products_of_float32_and_what_is_returned(package, rng, sizes):
    n, k, m = sizes
    A, B = rng.random((n, k), np.float32), rng.random((k, m), np.float32)
    found, rows = package.product(A, B)
    assert found.dtype == np.float32 and found.shape == (n, m) and rows == n and type(rows) is int
    np.testing.assert_allclose(found, A @ B, rtol=1e-4)


def test_results_of_library_functions_and_of_numbers(package, rng):
    for n in (0, 1, 7, 300):
        x, index = rng.random(max(n, 1)), rng.integers(0, max(n, 1), 2 * n).astype(np.int32)[::2]
        np.testing.assert_allclose(package.gathered(x, index, n), np.exp(-x[index]), rtol=1e-15 * 8)
    x = rng.random(1000)
    heat, z = package.total(x, np.complex128(1 + 2j), np.bool_(True))
    assert heat == pytest.approx(2 * x.sum(), rel=1e-12) and z == 2 + 4j


def test_strict_kernels_keep_the_order_of_the_source(package, rng):
    x = rng.random(500)
    want = x.copy()
    for i in range(1, 500):
        want[i] += want[i - 1]
    package.prefix(x)
    assert np.array_equal(x, want)


def refused_calls():
    x, y = np.ones((6, 6)), np.ones((6, 6))
    numbers = np.arange(6.0)
    yield "smooth", (x[:3], y)  # too small
    yield "smooth", (y, y)  # the same array
    yield "smooth", (y[:, :4], y[:, 2:])  # overlapping
    yield "smooth", (x, np.broadcast_to(np.ones(6), (6, 6)))  # read-only
    yield "smooth", (x, np.lib.stride_tricks.as_strided(np.ones(36), (6, 6), (8, 8)))  # several elements in one place
    yield "smooth", (x, y.tolist())
    yield "product", (np.ones((2, 3), np.float32), np.ones((4, 2), np.float32))
    yield "gathered", (numbers, np.array([0, 6], np.int32), 2)
    yield "gathered", (numbers, np.array([0, -7], np.int32), 2)
    yield "gathered", (numbers, np.array([0, 1], np.int32), 3)
    yield "gathered", (numbers, np.zeros(20, np.int32), 9)  # an assertion
    yield "followed", (numbers, np.array([1, 2, 5]))
    yield "thirds", (2**40, numbers)
    yield "thirds", (100, numbers)


@pytest.mark.parametrize("call", range(len(list(refused_calls()))))
def test_refusals_are_those_of_the_kernel(built, call):
    name, arguments = list(refused_calls())[call]
    own = list(refused_calls())[call][1]
    with pytest.raises((PolytuneError, AssertionError)) as wanted:
        getattr(built.kernels, name)(*own)
    with pytest.raises((built.package.errors.PolytuneError, AssertionError)) as found:
        getattr(built.package, name)(*arguments)
    assert type(found.value).__name__ == type(wanted.value).__name__
    assert issubclass(found.type, ValueError | AssertionError)
    # The compiler says of wrong types what else is wrong, too.
    texts = [str(error.value).partition("\nand, where the types")[0] for error in (found, wanted)]
    # Where the package was built is no concern of who uses it.
    assert texts[0] == texts[1].replace(str(KERNELS), KERNELS.name)
    for given, same in zip(arguments, own, strict=True):
        assert np.array_equal(given, same)


def test_types_are_those_that_it_was_built_for(built):
    smooth, error = built.package.smooth, built.package.errors.ArgumentError
    x, y = np.ones((6, 6)), np.ones((6, 6))
    with pytest.raises(
        error, match=r"'x' of smooth is float32\[:, ::1\], but the package was built for float64\[:, :\]"
    ):
        smooth(x.astype(np.float32), y)
    with pytest.raises(error, match=r"smooth\(x, y, rate=0.5\): missing a required argument: 'y'"):
        smooth(x)
    with pytest.raises(error, match=r"'A' of product is .*::1, :.*, but the package was built for .*:, ::1"):
        built.package.product(np.asfortranarray(np.ones((2, 3), np.float32)), np.ones((3, 2), np.float32))
    with pytest.raises(built.package.errors.PackageError, match="cannot be loaded"):
        type(built.package.library)(built.folder / "absent.so", "some_kernels")
    with pytest.raises(error, match="z80: the library has no code of that level"):
        built.package.library.set_level("z80")


def test_nothing_of_a_package_names_the_folder_that_it_was_built_from(built):
    for file in built.folder.rglob("*"):
        if file.is_file():
            assert os.fsencode(KERNELS.parent) not in file.read_bytes(), file


ALONE = """
import sys, time

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite", "polytune", "islpy", "sympy", "platformdirs"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
sys.path.insert(0, sys.argv[1])
import numpy as np
import some_kernels
A = np.ones((20, 30), np.float32)
found, rows = some_kernels.product(A, A.T.copy())
assert (found == 30).all() and rows == 20
try:
    some_kernels.product(A, A)
except some_kernels.errors.ArgumentError as error:
    assert "do not fit" in str(error), error
else:
    raise SystemExit("not refused")
"""


def test_it_needs_numpy_alone(built):
    program = [sys.executable, "-I", "-c", ALONE, str(built.folder.parent)]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


def test_threads_can_be_fewer_and_calls_come_from_many(built, rng):
    library, product = built.package.library, built.package.product
    A = rng.random((150, 90), np.float32)
    B, want = A.T.copy(), A @ A.T
    assert library.set_threads(1) == 1 == library.threads
    np.testing.assert_allclose(product(A, B)[0], want, rtol=1e-4)
    assert library.set_threads(0) == library.threads >= 1
    with ThreadPoolExecutor(4) as pool:
        for found, _ in pool.map(lambda _: product(A, B), range(24)):
            np.testing.assert_allclose(found, want, rtol=1e-4)


def _in_child(package, A, answers):
    answers.put(package.product(A, A)[0].sum())


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(built):
    A = np.eye(200, dtype=np.float32)
    built.package.product(A, A)  # has helpers now
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_in_child, args=(built.package, A, answers))
    child.start()
    assert answers.get(timeout=60) == 200
    child.join(60)
    assert child.exitcode == 0


def test_two_packages_of_different_versions_in_one_process(built, rng, tmp_path, monkeypatch):
    monkeypatch.setattr("polytune.shared_library.build.__version__", "0.0.1")
    monkeypatch.setattr("polytune.shared_library.texts.__version__", "0.0.1")
    kernels = load_kernels(parse_target(f"{KERNELS}:product"))
    folder = tmp_path / "older_kernels"
    build_library(kernels, folder, level_names=level_names()[-1:])
    older = imported(folder)
    assert "0.0.1" in older.__doc__ and "0.0.1" not in built.package.__doc__
    assert older.errors.ArgumentError is not built.package.errors.ArgumentError
    A = rng.random((90, 90), np.float32)
    older.library.set_threads(1)
    assert built.package.library.threads == built.package.library.set_threads(0)
    for package in (older, built.package, older):
        np.testing.assert_allclose(package.product(A, A)[0], A @ A, rtol=1e-4)


def test_what_cannot_be_native_is_refused_with_reason_and_remedy(tmp_path: Path):
    kernels = load_kernels(parse_target(f"{KERNELS}:solved"))
    with pytest.raises(
        PolytuneError,
        match=r"solved cannot be in a library.*\n.*: it calls functions of NumPy's\ninstead: build it without",
    ):
        build_library(kernels, tmp_path / "refused", level_names=level_names()[-1:])
    assert not (tmp_path / "refused").exists()


def test_subscripts_of_floats_are_checked_with_fastmath(package, rng):
    table, x, out = rng.random(8), rng.uniform(0.0, 12.0, 300), np.zeros(300)
    package.looked_up(table, x, 1.5, out)
    np.testing.assert_allclose(out, table[(x / 1.5).astype(int)] / 1.5, rtol=1e-14)
    for number in (np.nan, np.inf, -1e300):
        x[[7, 200]] = number
        with pytest.raises(package.errors.SubscriptError, match="was out of range"):
            package.looked_up(table, x, 1.5, out)

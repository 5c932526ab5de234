"""Kernels of a generated package accept the types they were built for, and nothing that would be read wrongly."""

import importlib
import importlib.util
import inspect
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polytune
from polytune.errors import PackageError
from polytune.packaging import build
from polytune.runtime.modules.cache import runtime_digest
from polytune.runtime.tuning.rules import Thresholds
from polytune.tuner import Budget


@polytune.kernel
def shift(x, A: "float64[:, :]", factor):  # noqa: F821
    for i in range(x.shape[0]):
        x[i] = x[i] * factor + A[i, 0]


@polytune.kernel(budget="0 calls")
def double(x: "float64[::1]"):  # noqa: F821
    for i in range(x.shape[0]):
        x[i] *= 2.0


@polytune.kernel
def scale_rows(A: "float64[:, ::1]", factors: "float64[:, 1::1]"):  # noqa: F821
    A *= factors


HALF = np.float32(0.5)


@polytune.kernel(background=False, thresholds=Thresholds(rho=float("inf"), alpha=2.0))
def drop(x: "float32[::1]", factor: "float32" = HALF, least: "float" = float("-inf"), n: "int" = 2):  # noqa: F821
    """Make the first elements less.

    But not too much less.
    """
    for i in range(n):
        x[i] = max(x[i] * factor, least)


@polytune.kernel
def Budgets(x: "float64[::1]"):  # noqa: F821
    for i in range(x.shape[0]):
        x[i] += 1.0


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("built") / "shifts"
    build([shift, double, drop, scale_rows], folder)
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
    told = tuner.statistics()
    assert (told.calls, told.explored, told.trials) == (6, 1, 0)  # calls of the default are no trials
    assert told.paused == "the budget allows for no trials"
    package.double.budget = 3
    assert tuner.budget == Budget.of_calls(3)
    for _ in range(200):
        package.double(x)
    told = tuner.statistics()
    # A race of near equals takes several, and does not begin where fewer are left.
    assert 1 <= told.trials <= 3 and told.explored > 1
    assert "3 trials of the budget" in told.paused
    with pytest.raises(polytune.PolytuneError, match="'much' is no budget"):
        package.double.budget = "much"
    assert package.double.budget == Budget.of_calls(3)


def test_arrays_of_any_strides_where_built_for_them(embedded) -> None:
    A = np.arange(12.0).reshape(3, 4)
    for given in (A, np.asfortranarray(A), A[:, ::-1], A[::-1]):
        x = np.ones(3)
        embedded(x, given, 2)
        assert np.array_equal(x, 2 + given[:, 0])


def test_an_extent_that_is_one_by_its_type_is_stretched_and_any_other_refused(package) -> None:
    A, factors = np.ones((3, 4)), np.arange(3.0).reshape(3, 1)
    package.scale_rows(A, factors)
    assert np.array_equal(A, np.broadcast_to(factors, (3, 4)))
    with pytest.raises(polytune.ArgumentError, match=r"is float64\[:, ::1\], but .* built for float64\[:, 1::1\]"):
        package.scale_rows(A, np.ones((3, 4)))


def test_array_with_other_strides_than_compiled_in_is_refused(embedded) -> None:
    x = np.ones(6)
    with pytest.raises(polytune.ArgumentError, match=r"'x' of shift is float64\[:\], but .* built for float64\[::1\]"):
        embedded(x[::2], np.ones((3, 1)), 2.0)
    assert np.array_equal(x, np.ones(6))


def test_defaults_documentation_and_settings_are_those_of_the_kernel(package) -> None:
    x = np.ones(3, np.float32)
    package.drop(x)
    assert x.tolist() == [0.5, 0.5, 1.0]
    package.drop(x, n=3, least=0.4)
    assert x.tolist() == [np.float32(0.4), np.float32(0.4), 0.5]
    assert str(inspect.signature(package.drop)) == "(x, factor=0.5, least=-inf, n=2)"
    assert inspect.getdoc(package.drop) == inspect.getdoc(drop.__wrapped__)
    assert (package.drop.background, package.drop.thresholds) == (False, drop.thresholds)
    assert (package.shift.background, package.shift.thresholds) == (True, None)


def test_a_default_that_is_no_number_is_refused_before_anything_is_written(tmp_path) -> None:
    @polytune.kernel
    def copy(x: "float64[::1]", y: "float64[::1]" = np.ones(3)):  # noqa: F821, B008
        for i in range(x.shape[0]):
            y[i] = x[i]

    with pytest.raises(polytune.PolytuneError, match=r"default of argument 'y' of copy is array"):
        build([copy], tmp_path / "copies")
    assert not (tmp_path / "copies").exists()


def test_kernels_are_pickled_by_name(package) -> None:
    assert pickle.loads(pickle.dumps(package.shift)) is package.shift
    assert pickle.loads(pickle.dumps(double)) is double


@pytest.mark.parametrize("name", ["Budget", "EmbeddedKernel", "require_runtime"])
def test_a_kernel_may_have_any_name(tmp_path, monkeypatch, name) -> None:
    named = polytune.kernel(budget="0 calls")(Budgets.__wrapped__)
    named.__name__ = name
    build([double, named], tmp_path / f"names_{name}")
    monkeypatch.syspath_prepend(tmp_path)
    package = importlib.import_module(f"names_{name}")
    x = np.ones(3)
    getattr(package, name)(x)
    package.double(x)
    assert x.tolist() == [4.0] * 3


@pytest.mark.parametrize(
    "replaced, message",
    [
        (f'"{polytune.__version__}"', "built by polytune 0.0.1, and this is " + polytune.__version__),
        (f'"{runtime_digest()}"', f"built by polytune {polytune.__version__}, and this is another state of it"),
    ],
    ids=["version", "text"],
)
def test_a_package_built_for_another_runtime_is_not_imported(tmp_path, monkeypatch, replaced, message) -> None:
    name = f"older_{len(replaced)}"
    build([double], tmp_path / name)
    initial = tmp_path / name / "__init__.py"
    text = initial.read_text()
    assert replaced in text
    initial.write_text(text.replace(replaced, '"0.0.1"'))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PackageError, match=rf"the package {name} was {message}: build it again"):
        importlib.import_module(name)


@pytest.mark.parametrize("ending", ["zip", "whl"])
def test_a_package_in_an_archive(tmp_path, monkeypatch, ending) -> None:
    name = f"archived_{ending}"
    build([double], tmp_path / "folder" / name)
    archive = shutil.make_archive(str(tmp_path / "archive"), "zip", tmp_path / "folder", name)
    shutil.move(archive, tmp_path / f"archive.{ending}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path / f"archive.{ending}")
    package = importlib.import_module(name)
    x = np.ones(5)
    package.double(x)
    assert x.tolist() == [2.0] * 5


def test_a_later_build_leaves_nothing_of_an_earlier_one_and_all_else(tmp_path) -> None:
    folder = tmp_path / "again"
    build([shift, double], folder)
    (folder / "_own.py").write_text("precious = True\n")
    build([double], folder)
    assert sorted(file.name for file in folder.iterdir()) == ["__init__.py", "_double.py", "_own.py"]


def test_a_package_that_was_renamed_compiles_anew_without_a_word(tmp_path) -> None:
    build([double], tmp_path / "first_name")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport numpy as np, {{name}}\nx = np.ones(3)\n"
    program += "{name}.double(x)\nassert (x == 2).all()"
    for name in ("first_name", "second_name"):
        if name == "second_name":
            (tmp_path / "first_name").rename(tmp_path / name)
        command = [sys.executable, "-c", program.format(name=name)]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=120)
        assert (ran.returncode, ran.stderr) == (0, "")

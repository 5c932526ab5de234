"""``FILE:KERNEL`` on the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer

from polytune.cli.target import KernelTarget, import_file, load_kernel, load_kernels, parse_target
from polytune.errors import PolytuneError


@pytest.fixture(autouse=True)
def own_path(monkeypatch):
    """A file's folder is put on the path when it is imported: not on that of the tests that come later."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.parametrize(
    ("suffix", "kernels"),
    [("", ()), (":scale", ("scale",)), (":scale,shift", ("scale", "shift")), (":b, a", ("b", "a"))],
)
def test_parse(kernels_file, suffix, kernels):
    assert parse_target(f"{kernels_file}{suffix}") == KernelTarget(kernels_file, kernels)


def test_colon_in_a_path_is_not_taken_for_a_kernel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a:b").mkdir()
    Path("a:b/c.py").touch()
    assert parse_target("a:b/c.py") == KernelTarget(Path("a:b/c.py"))
    assert parse_target("a:b/c.py:k") == KernelTarget(Path("a:b/c.py"), ("k",))


def test_missing_file(tmp_path):
    with pytest.raises(typer.BadParameter, match=r"there is no file .*nowhere\.py"):
        parse_target(f"{tmp_path}/nowhere.py:gemm")


def test_file_of_another_kind(tmp_path):
    (tmp_path / "kernel.c").touch()
    with pytest.raises(typer.BadParameter, match="not a Python file"):
        parse_target(f"{tmp_path}/kernel.c:gemm")


@pytest.mark.parametrize("names", ["", "f,", "f:g", "2", "f g"])
def test_what_follows_the_colon_has_to_be_names(kernels_file, names):
    with pytest.raises(typer.BadParameter, match="is no list of names"):
        parse_target(f"{kernels_file}:{names}")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(typer.BadParameter, match="is a folder"):
        parse_target(str(tmp_path))


def test_all_kernels_of_a_file(kernels_file):
    assert [kernel.__name__ for kernel in load_kernels(KernelTarget(kernels_file))] == ["scale", "shift"]


def test_kernels_in_the_order_named(kernels_file):
    assert [kernel.__name__ for kernel in load_kernels(KernelTarget(kernels_file, ("shift", "scale")))] == [
        "shift",
        "scale",
    ]


def test_unknown_kernel_suggests_a_close_one(kernels_file):
    with pytest.raises(typer.BadParameter, match="no kernel 'scael'; did you mean scale"):
        load_kernel(f"{kernels_file}:scael")


def test_unknown_kernel_lists_what_there_is(kernels_file):
    with pytest.raises(typer.BadParameter, match="no kernel 'not_a_kernel'; it has scale, shift"):
        load_kernel(f"{kernels_file}:not_a_kernel")


def test_one_of_several_must_be_named(kernels_file):
    with pytest.raises(typer.BadParameter, match=r"name one kernel, .*:scale; here: scale, shift"):
        load_kernel(str(kernels_file))


def test_file_without_kernels(tmp_path):
    file = tmp_path / "plain.py"
    file.write_text("def f(): pass\n")
    with pytest.raises(typer.BadParameter, match=r"has no kernel: annotate a function with @polytune\.kernel"):
        load_kernel(str(file))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "import no_such_module\n",
            ":1 cannot be imported: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("import math\n\nmath.sqrt(-1)\n", ":3 cannot be imported: ValueError"),
        ("def f(:\n", " cannot be imported: SyntaxError: .*line 1"),
        ("import sys\nsys.exit(0)\n", ":2 ends the program when it is imported; put"),
    ],
)
def test_file_that_cannot_be_imported(tmp_path, text, message):
    file = tmp_path / "broken.py"
    file.write_text(text)
    with pytest.raises(PolytuneError, match=rf"^broken\.py{message}"):
        import_file(file)
    assert "polytune_target.broken" not in sys.modules


def test_file_finds_modules_beside_it(tmp_path):
    (tmp_path / "constants_beside.py").write_text("WIDTH = 3\n")
    (tmp_path / "uses_them.py").write_text("from constants_beside import WIDTH\n")
    assert import_file(tmp_path / "uses_them.py").WIDTH == 3


def test_file_called_like_a_library_hides_nothing(tmp_path):
    file = tmp_path / "json.py"
    file.write_text("MINE = True\n")
    before = sys.modules["json"]
    assert import_file(file).MINE
    assert sys.modules["json"] is before


def test_module_of_a_package_keeps_its_relative_imports(tmp_path):
    inner = tmp_path / "outer_package" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "outer_package" / "__init__.py").write_text("WIDTH = 5\n")
    (inner / "__init__.py").touch()
    (inner / "kernels.py").write_text("from .. import WIDTH\n")
    module = import_file(inner / "kernels.py")
    assert (module.__name__, module.WIDTH) == ("outer_package.inner.kernels", 5)

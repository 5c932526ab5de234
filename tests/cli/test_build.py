"""``polytune build``."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polytune
from polytune.cli.target import load_kernel
from polytune.errors import PolytuneError
from polytune.history import default_store, machine_key
from polytune.packaging import build
from polytune.runtime.teams.threads import maximum_threads

ROOT = Path(__file__).parents[2]


def test_package_holds_every_kernel_of_the_file(run, kernels_file, tmp_path):
    package = tmp_path / "built_kernels"
    ran = run("build", kernels_file, "-o", package, "--json")
    assert ran.code == 0, ran.err
    assert ran.json == {"package": str(package), "kernels": ["scale", "shift"]}
    program = (
        f"import sys; sys.path.append({str(tmp_path)!r})\n"
        "import numpy as np, built_kernels\n"
        "A = np.ones((3, 4))\nbuilt_kernels.scale(2.5, A)\nassert (A == 2.5).all(), A\n"
        "x = np.arange(5, dtype=np.float32)\nbuilt_kernels.shift(5, x)\nassert x.tolist() == [1, 2, 3, 4, 4], x\n"
    )
    used = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert used.returncode == 0, used.stderr


def test_places_in_messages_are_those_of_modules_and_not_of_the_machine_that_builds(run, tmp_path, monkeypatch):
    application = tmp_path / "places_application"
    application.mkdir()
    (application / "__init__.py").write_text("")
    (application / "kernels.py").write_text(PLACES)
    ran = run("build", application / "kernels.py", "-o", tmp_path / "placed_kernels", "--no-devices")
    assert ran.code == 0, ran.err
    texts = [file.read_text() for file in (tmp_path / "placed_kernels").glob("*.py")]
    assert len(texts) == 2 and not any(str(tmp_path) in text for text in texts)
    monkeypatch.syspath_prepend(tmp_path)
    taken = importlib.import_module("placed_kernels").taken
    with pytest.raises(polytune.ArgumentError, match=r"^array 'y': places_application/kernels.py:8 y\[i\] goes past"):
        taken(np.zeros(3), np.zeros(3, np.int64), np.zeros(2))
    with pytest.raises(polytune.SubscriptError, match=r"^places_application/kernels.py:8: a subscript of 'x'"):
        taken(np.zeros(3), np.full(3, 9), np.zeros(3))


PLACES = """
import polytune


@polytune.kernel
def taken(x: "float64[::1]", index: "int64[::1]", y: "float64[::1]"):
    for i in range(index.shape[0]):
        y[i] = x[index[i]]
"""


def test_package_holds_only_the_kernels_named(run, kernels_file, tmp_path):
    ran = run("build", f"{kernels_file}:shift", "-o", tmp_path / "only_shift", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["kernels"] == ["shift"]


def test_device_code_is_in_the_package_unless_it_is_not_wanted(run, kernels_file, tmp_path):
    for option, is_there in (("--devices", True), ("--no-devices", False)):
        package = tmp_path / f"with{option.replace('-', '_')}"
        ran = run("build", f"{kernels_file}:scale", "-o", package, option)
        assert ran.code == 0, ran.err
        assert ("PARTITIONED" in (package / "_scale.py").read_text()) is is_there


def test_name_that_cannot_be_imported(run, kernels_file, tmp_path):
    ran = run("build", kernels_file, "-o", tmp_path / "my-kernels")
    assert ran.code == 2
    assert "'my-kernels' is no name of a package" in ran.err
    assert not (tmp_path / "my-kernels").exists()


NAMED = """
import polytune


def named(name):
    def rename(function):
        function.__name__ = name
        return polytune.kernel(function)

    return rename


@named({first!r})
def one(x):
    for i in range(x.shape[0]):
        x[i] = 1.0


@named({second!r})
def two(x):
    for i in range(x.shape[0]):
        x[i] = 2.0
"""


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("one", "../two", "'../two' is no name that Python code can have"),
        ("one", "/tmp/two", "is no name that Python code can have"),
        ("one", "a two", "is no name that Python code can have"),
        ("one", "<lambda>", "is no name that Python code can have"),
        ("one", "class", "'class' is no name that Python code can have"),
        ("one", "_init__", "'_init__' is one of those that Python gives"),
        ("one", "__all__", "'__all__' is one of those that Python gives"),
        ("scale", "Scale", "'scale' and 'Scale' would have one file"),
        ("scale", "scale", "two kernels are called 'scale'"),
    ],
)
def test_names_that_make_no_package(run, tmp_path, first, second, said):
    file = tmp_path / "renamed.py"
    file.write_text(NAMED.format(first=first, second=second))
    ran = run("build", file, "-o", tmp_path / "package")
    assert ran.code in (1, 2)
    assert said in ran.err
    assert {path.name for path in tmp_path.iterdir()} <= {"renamed.py", "__pycache__"}


def test_two_kernels_of_one_name_are_no_package(tmp_path):
    @polytune.kernel
    def fill(x):
        for i in range(x.shape[0]):
            x[i] = 1.0

    with pytest.raises(PolytuneError, match="two kernels are called 'fill'"):
        build([fill, fill], tmp_path / "package")
    assert not (tmp_path / "package").exists()


def test_package_in_the_current_folder(run, kernels_file, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    ran = run("build", f"{kernels_file}:shift", "-o", ".")
    assert ran.code == 0, ran.err
    assert (tmp_path / "here" / "_shift.py").is_file()


def test_output_that_is_a_file(run, kernels_file, tmp_path):
    (tmp_path / "taken").touch()
    ran = run("build", kernels_file, "-o", tmp_path / "taken")
    assert ran.code == 2
    assert "is a file" in ran.err


def test_folder_with_something_else_in_it_is_left_alone(run, kernels_file, tmp_path):
    folder = tmp_path / "application"
    folder.mkdir()
    (folder / "__init__.py").write_text("precious = True\n")
    ran = run("build", kernels_file, "-o", folder)
    assert ran.code == 2
    assert "holds something else" in ran.err
    assert [file.read_text() for file in folder.iterdir()] == ["precious = True\n"]


def test_earlier_build_is_replaced(run, kernels_file, tmp_path):
    for names in ("scale", "scale,shift"):
        ran = run("build", f"{kernels_file}:{names}", "-o", tmp_path / "rebuilt")
        assert ran.code == 0, ran.err
    assert "shift" in (tmp_path / "rebuilt" / "__init__.py").read_text()


def test_two_kernels_of_one_name(run, kernels_file, tmp_path):
    ran = run("build", kernels_file, f"{kernels_file}:scale", "-o", tmp_path / "twice")
    assert ran.code == 2
    assert "two kernels are called 'scale'" in ran.err


@pytest.mark.parametrize("name", ["class", "import"])
def test_keyword_is_no_name_of_a_package(run, kernels_file, tmp_path, name):
    assert run("build", kernels_file, "-o", tmp_path / name).code == 2


TYPED = """
import polytune

@polytune.kernel
def doubled(x: "float64[::1]"):
    for i in range(x.shape[0]):
        x[i] = 2.0 * x[i]
"""


def test_a_package_takes_the_best_known_along_if_it_is_wanted(run, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "kernels.py").write_text(TYPED)
    kernel = load_kernel(f"{tmp_path}/kernels.py:doubled")
    name, machine = kernel.name_in_history(), machine_key(maximum_threads())
    store = default_store()
    store.record(name, "x_0=7", machine, {"version": "source"}, 1e-6)
    store.record(name, "x_0=7", machine, {"version": "parallel"}, 2e-6)
    store.record(name, "x_0=8", "another machine", {"version": "source"}, 1e-6)
    assert run("build", f"{tmp_path}/kernels.py", "-o", tmp_path / "plain").code == 0
    assert "tuned=" not in (tmp_path / "plain" / "__init__.py").read_text()
    ran = run("build", f"{tmp_path}/kernels.py", "-o", tmp_path / "packed", "--tuned")
    assert ran.code == 0, ran.err
    assert "tuned={'x_0=7': {'version': 'source'}}" in (tmp_path / "packed" / "__init__.py").read_text()
    program = (
        f"import sys; sys.path.append({str(tmp_path)!r})\n"
        "import numpy as np, packed\n"
        "x = np.ones(7)\n"
        "print(packed.doubled.tuner(x).choose()['version'])\n"
        "packed.doubled.freeze()\npacked.doubled(x)\nassert (x == 2).all()\n"
    )
    used = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert used.returncode == 0, used.stderr
    assert used.stdout.split() == ["source"]


def test_what_a_kernel_is_called_in_the_history_is_what_its_calls_say(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "kernels.py").write_text(TYPED)
    kernel = load_kernel(f"{tmp_path}/kernels.py:doubled")
    assert kernel.tuner(np.ones(7)).key.kernel == kernel.name_in_history()


def test_levels_are_for_libraries_alone(run, kernels_file, tmp_path):
    ran = run("build", kernels_file, "-o", tmp_path / "none", "--level", "x86-64-v3")
    assert ran.code == 2 and "--level is for --native" in ran.err
    ran = run("build", kernels_file, "-o", tmp_path / "none", "--native", "--level", "z80")
    assert ran.code == 1 and "there is no level 'z80' of processors here" in ran.err
    ran = run("build", kernels_file, "-o", tmp_path / "größe", "--native")
    assert ran.code == 2 and "functions in C" in ran.err
    assert not any(tmp_path.glob("*/__init__.py"))

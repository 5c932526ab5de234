"""``polytune doctor``: what it finds, and what it says where something is missing."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys

import pytest

from polytune.cli import findings
from polytune.cli.commands import doctor
from polytune.cli.findings import Finding, State
from polytune.errors import DeviceCompilationError
from polytune.runtime.devices.backends import KINDS
from polytune.version import DISTRIBUTION


def test_this_machine_is_healthy(run, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    ran = run("doctor", "--json")
    assert ran.code == 0, ran.out
    found = {finding["name"]: finding for finding in ran.json["findings"]}
    assert ran.json["healthy"]
    assert found["numba"]["detail"] == importlib.metadata.version("numba")
    assert str(tmp_path) in found["disk cache"]["detail"]
    assert {"python", "processor", "processor caches", "threads", "pycuda", "pyopencl"} <= set(found)
    assert all(finding["state"] != "broken" for finding in found.values())


def distribution_in(folder, name, version, summary, entry_points=""):
    """An installed distribution without files, as its metadata describe it."""
    described = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    described.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {summary}\n"
    (described / "METADATA").write_text(text, encoding="utf-8")
    (described / "entry_points.txt").write_text(entry_points, encoding="utf-8")


@pytest.mark.parametrize(
    ("summary", "entry_points", "whose"),
    [
        ("Hyperparameters", "", "another project, which is not this compiler"),
        ("A compiler", "[console_scripts]\npolytune = polytune.cli.main:main\n", "this project by its earlier name"),
    ],
)
def test_distribution_that_is_called_polytune_is_warned_of(tmp_path, monkeypatch, summary, entry_points, whose):
    distribution_in(tmp_path, "polytune", "0.0.0", summary, entry_points)
    distribution_in(tmp_path, DISTRIBUTION, "7.0", "This one")
    monkeypatch.syspath_prepend(tmp_path)
    this, other = findings.find_installation()
    assert (this.name, this.state) == ("polytune", State.OK)
    assert this.detail.startswith(f"{DISTRIBUTION} 7.0, ")
    assert other.state is State.WARNING
    assert other.detail == f"the distribution polytune 0.0.0 ({summary}) is installed: {whose}"
    assert f"pip install --force-reinstall --no-deps {DISTRIBUTION}" in other.remedy
    assert doctor.is_healthy((this, other))


def test_without_such_a_distribution_there_is_no_warning(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    (found,) = findings.find_installation()
    assert found.state is State.OK
    assert f"not installed by the name {DISTRIBUTION}" in found.detail


def test_table_shows_each_finding_with_its_remedy(run, monkeypatch):
    made_up = (Finding("numba", State.OK, "1.2"), Finding("pycuda", State.ABSENT, "not installed", "install it"))
    monkeypatch.setattr(doctor, "examine", lambda: made_up)
    ran = run("doctor")
    assert ran.code == 0
    assert [line.split() for line in ran.out.splitlines()] == [
        ["numba", "ok", "1.2"],
        ["pycuda", "absent", "not", "installed"],
        ["install", "it"],
    ]


def test_only_what_is_broken_fails(run, monkeypatch):
    monkeypatch.setattr(doctor, "examine", lambda: (Finding("islpy", State.BROKEN, "cannot be imported"),))
    assert run("doctor").code == 1
    assert run("doctor", "--json").json["healthy"] is False


def test_package_that_does_not_import(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    found = findings.find_package("sympy")
    assert (found.state, found.remedy) == (State.BROKEN, "pip install sympy")


def test_islpy_without_barvinok_is_broken(monkeypatch):
    import islpy

    monkeypatch.delattr(islpy.Set, "card")
    found = findings.find_package("islpy")
    assert found.state is State.BROKEN
    assert "Barvinok" in found.detail
    assert "islpy-barvinok" in found.remedy


def test_cache_that_cannot_be_written_is_no_failure(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    found = findings.find_disk_cache()
    assert found.state is State.ABSENT
    assert "cannot be written" in found.detail
    assert "POLYTUNE_CACHE_DIR" in found.remedy


def test_size_of_the_cache_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "some").write_bytes(bytes(3 * 2**20))
    assert findings.find_disk_cache().detail == f"{tmp_path}, 3.0 MiB"


def test_the_history_that_the_environment_names_is_looked_at(tmp_path, monkeypatch):
    assert findings.find_history().detail == "history.sqlite in the disk cache"
    monkeypatch.setenv("POLYTUNE_HISTORY", f"sqlite:///{tmp_path}/shared.db")
    assert findings.find_history().detail == f"{tmp_path}/shared.db, 0 measured configurations"
    monkeypatch.setenv("POLYTUNE_HISTORY", "mysql://host/name")
    found = findings.find_history()
    assert found.state is State.BROKEN and "is no history" in found.detail and "POLYTUNE_HISTORY" in found.remedy


def test_missing_packages_for_devices_say_how_to_install_them(monkeypatch):
    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = {finding.name: finding for finding in findings.find_bindings()}
    assert all(finding.state is State.ABSENT for finding in found.values())
    assert "pip install 'polytune-compiler[cuda]'" in found["pycuda"].remedy
    assert "pip install 'polytune-compiler[opencl]'" in found["pyopencl"].remedy


def test_missing_compiler_says_how_to_install_it(monkeypatch):
    from polytune.runtime.devices import nvrtc

    def compiler():
        raise DeviceCompilationError("there is none")

    monkeypatch.setattr(nvrtc, "compiler", compiler)
    found = findings.find_cuda_compiler()
    assert (found.state, found.detail) == (State.ABSENT, "there is none")
    assert "pip install nvidia-cuda-nvrtc" in found.remedy


LIMITS = {
    "memory": 3 << 30,
    "multiprocessors": 2,
    "threads_per_block": 1024,
    "shared_memory": 48 << 10,
    "registers_per_block": 65536,
    "float64": False,
}


def found_in(monkeypatch, program):
    monkeypatch.setattr(findings, "_PROGRAM", [sys.executable, "-c", program])
    return findings.find_devices()


def entry(**changes):
    usual = {"kind": "cuda", "identity": "cuda:0", "description": "H200", "reason_if_unusable": "", "remedy": ""}
    return {**usual, "used": True, "limits": LIMITS, **changes}


def test_devices_are_listed_with_their_limits(monkeypatch):
    report = [entry(), entry(identity="opencl:1", used=False), entry(identity=None, description="OpenCL")]
    report[2] |= {"reason_if_unusable": "no driver", "remedy": "install one", "limits": None}
    found = found_in(monkeypatch, f"import json; print(json.dumps({report!r}))")
    assert [(one.name, one.state, one.remedy) for one in found] == [
        ("cuda:0", State.OK, ""),
        ("opencl:1", State.OK, "not used; POLYTUNE_DEVICES=opencl:1 chooses it"),
        ("OpenCL", State.ABSENT, "install one"),
    ]
    assert found[0].detail == (
        "H200: 3.0 GiB, 2 multiprocessors, 1024 threads and 48 KiB of shared memory a block, "
        "65536 registers a block, no double precision"
    )
    assert found[2].detail == "no driver"


@pytest.mark.parametrize("program", ["import os; os.abort()", "print('no JSON')"])
def test_driver_that_ends_its_process_is_only_reported(monkeypatch, program):
    (found,) = found_in(monkeypatch, program)
    assert (found.name, found.state) == ("devices", State.ABSENT)
    assert "POLYTUNE_DEVICES=none" in found.remedy


def test_driver_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(findings, "_LONGEST", 0.2)
    (found,) = found_in(monkeypatch, "import time; time.sleep(20)")
    assert "did not answer within" in found.detail


def test_report_is_of_what_can_be_found(monkeypatch):
    """The real report, in this process."""
    from polytune.cli.device_report import report

    monkeypatch.setenv("POLYTUNE_DEVICES", "none")
    entries = report()
    assert {entry["kind"] for entry in entries} == set(KINDS)
    for found in entries:
        assert not found["used"]
        assert found["limits"] or found["reason_if_unusable"]


def test_check_that_raises_becomes_a_finding():
    def check():
        raise RuntimeError("unreadable")

    (found,) = findings._guarded("processor", check)
    assert (found.state, found.detail) == (State.BROKEN, "RuntimeError: unreadable")

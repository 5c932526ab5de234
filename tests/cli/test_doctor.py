"""``polytune doctor``: what it finds, and what it says where something is missing."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys

import pytest

from polytune.cli import doctor, findings
from polytune.cli.findings import Finding, State


def test_this_machine_is_healthy(run, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    ran = run("doctor", "--json")
    assert ran.code == 0, ran.out
    found = {finding["name"]: finding for finding in ran.json["findings"]}
    assert ran.json["healthy"]
    assert found["numba"]["detail"] == importlib.metadata.version("numba")
    assert str(tmp_path) in found["disk cache"]["detail"]
    assert {"python", "processor", "processor caches", "threads", "pycuda", "pyopencl"} <= set(found)
    assert all(finding["state"] in {"ok", "absent"} for finding in found.values())


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


@pytest.mark.parametrize(("package", "check"), [("pycuda", findings.find_pycuda), ("pyopencl", findings.find_pyopencl)])
def test_missing_binding_says_how_to_install_it(monkeypatch, package, check):
    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = check()
    assert found.state is State.ABSENT
    assert "pip install 'polytune[" in found.remedy


def test_binding_that_kills_its_process_only_finds_no_device(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.0")
    found = findings._find_binding("pyopencl", "import os; os.abort()", "install it")
    assert (found.state, found.detail) == (State.ABSENT, "1.0 is installed but finds no device")


def test_devices_of_a_binding_are_listed(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.0")
    found = findings._find_binding("pyopencl", "print('one'); print('two')", "install it")
    assert (found.state, found.detail) == (State.OK, "1.0: one; two")


def test_check_that_raises_becomes_a_finding():
    def check():
        raise RuntimeError("unreadable")

    found = findings._guarded("processor", check)
    assert (found.state, found.detail) == (State.BROKEN, "RuntimeError: unreadable")

"""Which devices are used, by what is there and what the environment says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from polytune.errors import DeviceError, DeviceUnavailableError, DeviceWarning
from polytune.runtime.devices import backend, backends, discovery
from polytune.runtime.devices.backends import Found, Listing
from tests.warned import of_the_code

ROOT = Path(__file__).parents[3]


class MadeUp:
    """As much of a device as discovery looks at."""

    def __init__(self, identity):
        self.identity, self.description, self.lost = identity, f"made up {identity}", False


@pytest.fixture
def machine(monkeypatch):
    """A machine with two CUDA GPUs, which OpenCL offers too, another GPU, a processor, and a broken device."""

    def found(identity, model, is_gpu=True, reason=""):
        remedy = "do this" if reason else ""
        return Found(identity, model, model, is_gpu, lambda: MadeUp(identity), reason, remedy)

    listings = {
        "cuda": Listing("CUDA", (found("cuda:0", "H200"), found("cuda:1", "H200"))),
        "opencl": Listing(
            "OpenCL",
            (
                found("opencl:0", "H200"),
                found("opencl:1", "Arc"),
                found("opencl:2", "EPYC", is_gpu=False),
                found("opencl:3", "Old", reason="it is broken"),
            ),
        ),
    }
    absent = Listing("?", (), "no such kind", "name another")
    monkeypatch.setattr(backends, "KINDS", tuple(listings))
    monkeypatch.setattr(backends, "listed", lambda kind: listings.get(kind, absent))
    monkeypatch.setattr(discovery, "_opened", discovery._Open())
    monkeypatch.delenv("POLYTUNE_DEVICES", raising=False)
    return listings


def identities():
    return [device.identity for device in discovery.devices()]


def test_all_gpus_each_by_one_kind(machine):
    assert identities() == ["cuda:0", "cuda:1", "opencl:1"]


def test_gpu_without_cuda_is_used_through_opencl(machine):
    machine["cuda"] = Listing("CUDA", (), "pycuda is not installed", "install it")
    assert identities() == ["opencl:0", "opencl:1"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("none", []),
        ("cuda", ["cuda:0", "cuda:1"]),
        ("cuda:1", ["cuda:1"]),
        (" opencl:2 , cuda:0 ", ["opencl:2", "cuda:0"]),
        ("opencl", ["opencl:0", "opencl:1", "opencl:2"]),
        ("cuda:0,cuda", ["cuda:0", "cuda:1"]),
    ],
)
def test_environment_chooses(machine, monkeypatch, wanted, expected):
    monkeypatch.setenv("POLYTUNE_DEVICES", wanted)
    assert identities() == expected


@pytest.mark.parametrize(
    ("wanted", "said"),
    [("cuda:7", "there are cuda:0, cuda:1"), ("opencl:3", "it is broken; do this"), ("gpu", "'gpu'")],
)
def test_what_cannot_be_chosen_is_warned_of_once(machine, monkeypatch, recwarn, wanted, said):
    monkeypatch.setenv("POLYTUNE_DEVICES", wanted)
    assert identities() == []
    assert identities() == []
    (warned,) = of_the_code(recwarn)
    assert warned.category is DeviceWarning and said in str(warned.message)
    assert warned.filename == __file__  # and not a line of polytune's


def test_devices_are_opened_once(machine):
    assert discovery.devices()[0] is discovery.devices()[0]
    assert discovery.device("cuda:0") is discovery.devices()[0]


def test_lost_device_is_not_offered_again(machine):
    discovery.device("cuda:0").lost = True
    assert identities() == ["cuda:1", "opencl:1"]
    with pytest.raises(DeviceUnavailableError, match="stopped answering"):
        discovery.device("cuda:0")


def test_device_that_cannot_be_opened_costs_itself_alone(machine, monkeypatch):
    attempts = []

    def fails():
        attempts.append(1)
        raise DeviceError("it is on fire")

    first, second = machine["cuda"].found
    broken = Found(first.identity, first.description, first.model, True, fails)
    machine["cuda"] = Listing("CUDA", (broken, second))
    with pytest.warns(DeviceWarning, match="cuda:0 is not used: it is on fire"):
        assert identities() == ["cuda:1", "opencl:1"]
    assert identities() == ["cuda:1", "opencl:1"]
    assert attempts == [1]


@pytest.mark.parametrize(
    ("identity", "said"),
    [
        ("cuda:7", "no device 'cuda:7': there are cuda:0, cuda:1"),
        ("opencl:3", "it is broken; do this"),
        ("tpu:0", "no such kind; name another"),
    ],
)
def test_device_that_is_not_there(machine, identity, said):
    with pytest.raises(DeviceUnavailableError, match=said):
        discovery.device(identity)


def test_probe_tells_everything(machine):
    machine["cuda"] = Listing("CUDA", (), "pycuda is not installed", "install it")
    probes = discovery.probe()
    assert probes[0] == ("cuda", None, "CUDA", "pycuda is not installed", "install it")
    assert [probe.identity for probe in probes[1:]] == ["opencl:0", "opencl:1", "opencl:2", "opencl:3"]
    assert probes[-1].reason_if_unusable == "it is broken"


def test_obstacle_names_every_device_that_cannot_be_used():
    assert Listing("CUDA", (), "no driver", "install it").obstacle == "no driver; install it"
    old = Found("opencl:0", "Old (Maker)", "Old", False, lambda: MadeUp("opencl:0"), "too old", "buy another")
    slow = Found("opencl:1", "Slow (Maker)", "Slow", False, lambda: MadeUp("opencl:1"), "too slow", "wait")
    both = "opencl:0 (Old): too old; buy another | opencl:1 (Slow): too slow; wait"
    assert Listing("OpenCL", (old, slow)).obstacle == both
    usable = Found("opencl:2", "New (Maker)", "New", False, lambda: MadeUp("opencl:2"))
    assert Listing("OpenCL", (old, usable)).obstacle == ""


def test_packages_that_are_not_installed(monkeypatch):
    for package in ("pycuda", "pycuda.driver", "pyopencl"):
        monkeypatch.setitem(sys.modules, package, None)
    backends.listed.cache_clear()
    try:
        for kind, remedy in (("cuda", "polytune-compiler[cuda]"), ("opencl", "polytune-compiler[opencl]")):
            listing = backends.listed(kind)
            assert not listing.found
            assert listing.reason
            assert remedy in listing.remedy
    finally:
        backends.listed.cache_clear()


def test_whole_process_on_the_stand_in(stand_in):
    """Discovery, with the compiler that the environment names, down to a kernel's result."""
    program = """
from tests.device_stand_in.load import load
load()
import numpy as np
from polytune.runtime.devices.discovery import devices
from tests.runtime.devices.kernels import ADD, compiled, run
(device,) = devices()
b = np.zeros(8)
run(device, compiled(device, ADD, "add"), (1, 1, 1), (8, 1, 1), [np.int64(8), np.float64(1), np.arange(8.0), b])
print(device.identity, b.sum())
"""
    environment = {"POLYTUNE_CUDA_COMPILER": "tests.device_stand_in.compiler", "POLYTUNE_DEVICES": "cuda"}
    assert in_process(program, environment) == "cuda:0 36.0"


def test_compiler_that_is_named_wrongly(stand_in, monkeypatch):
    from polytune.runtime.devices.cuda import CudaDevice

    monkeypatch.setenv("POLYTUNE_CUDA_COMPILER", "tests.nowhere:compiler")
    with pytest.raises(DeviceUnavailableError, match=r"POLYTUNE_CUDA_COMPILER='tests.nowhere:compiler'"):
        CudaDevice(0)


def in_process(program, environment):
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        env={**os.environ, **environment},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_every_backend_is_a_file_and_has_all_words_of_kernels():
    folder = Path(backends.__path__[0])
    assert set(backends.KINDS) == {file.stem for file in folder.glob("*.py")} - {"__init__"}
    assert backends.KINDS[:2] == ("cuda", "opencl")
    words = re.findall(r"``(PT_[A-Z]+)[(`]", backend.__doc__)
    assert {"PT_KERNEL", "PT_SHARED", "PT_BARRIER"} <= set(words)
    for kind, prelude in backends.PRELUDES.items():
        missing = [word for word in words if f"#define {word}" not in prelude]
        assert not missing, f"{kind} defines no {missing}"


def test_a_gpu_of_another_backend_is_used_where_none_before_it_reaches_it(machine, monkeypatch):
    machine["other"] = Listing(
        "Other",
        (
            Found("other:0", "Arc", "Arc", True, lambda: MadeUp("other:0")),
            Found("other:1", "New", "New", True, lambda: MadeUp("other:1")),
        ),
    )
    monkeypatch.setattr(backends, "KINDS", ("cuda", "opencl", "other"))
    assert identities() == ["cuda:0", "cuda:1", "opencl:1", "other:1"]
    monkeypatch.setenv("POLYTUNE_DEVICES", "other")
    assert identities() == ["other:0", "other:1"]

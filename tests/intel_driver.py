"""Intel's OpenCL driver for processors, which comes from packages and runs on processors that PoCL's package does not
know, of other makers too.

Its package names a folder that is not there to OpenCL's loader, so it is found only by who names it.  What it runs is
run in processes of its own: a driver that crashes ends the process that it is in.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("intel-opencl-rt", "intel-cmplr-lib-rt")

_LIST = """
from polytune.runtime.devices import backends
listing = backends.listed("opencl")
usable = [found for found in listing.found if not found.reason]
for found in usable[:1]:
    found.open()
print("usable:", *[found.description for found in usable])
"""
_SECONDS = 60


def library() -> Path | None:
    """The driver; None where its packages are not installed."""
    try:
        files = [metadata.files(package) or [] for package in PACKAGES]
    except metadata.PackageNotFoundError:
        return None
    found = [Path(str(file.locate())).resolve() for file in files[0] if file.name == "libintelocl.so"]
    return found[0] if found and found[0].exists() else None


def environment(driver: Path, folder: Path) -> dict[str, str]:
    """The surroundings of a process in which the loader finds this driver and no other.

    Args:
        driver: the library.
        folder: where the file that names it is written to.
    """
    written = folder / "intel.icd"
    written.write_text(f"{driver}\n")
    return {**os.environ, "OCL_ICD_VENDORS": str(written), "PYTHONPATH": str(ROOT)}


def usable_devices(surroundings: Mapping[str, str]) -> str:
    """The OpenCL devices that a process of its own can open, in words; empty where there are none, or it crashes."""
    try:
        ran = subprocess.run(
            [sys.executable, "-c", _LIST],
            env=dict(surroundings),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return ""
    lines = [line for line in ran.stdout.splitlines() if line.startswith("usable:")]
    return lines[-1].removeprefix("usable:").strip() if ran.returncode == 0 and lines else ""


def surroundings_with_opencl(folder: Path) -> dict[str, str] | None:
    """Environment variables with which a process has an OpenCL device: by the drivers that are found anyway, or by
    Intel's where none of these can be used; None where there is no device.

    Args:
        folder: where the file that names Intel's driver is written to.
    """
    if usable_devices(os.environ):
        return {}
    driver = library()
    found = {} if driver is None else environment(driver, folder)
    return {"OCL_ICD_VENDORS": found["OCL_ICD_VENDORS"]} if found and usable_devices(found) else None


@functools.cache
def why_not(*, wanted: bool) -> str:
    """Why nothing is to be run on the driver here; empty where it is.

    Args:
        wanted: whether it is to be run even where another driver does.
    """
    driver = library()
    if driver is None:
        return f"Intel's OpenCL driver is not installed: pip install {' '.join(PACKAGES)}"
    if not wanted and (others := usable_devices(os.environ)):
        return f"tests of OpenCL run on {others}; --intel-opencl runs a sample of them on Intel's driver too"
    with tempfile.TemporaryDirectory() as folder:
        return "" if usable_devices(environment(driver, Path(folder))) else f"{driver} cannot be used on this machine"

"""What ``polytune doctor`` says of devices and of the compilers for them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from polytune.cli.finding import Finding, State
from polytune.errors import DeviceCompilationError

_LONGEST = 60

_PROGRAM = [sys.executable, "-m", "polytune.cli.device_report"]


def find_cuda_compiler() -> Finding:
    """NVRTC, or nvcc in its place: without either no kernel can be made for a CUDA GPU."""
    from polytune.runtime.devices import nvrtc

    try:
        return Finding("CUDA compiler", State.OK, nvrtc.compiler())
    except DeviceCompilationError as error:
        return Finding("CUDA compiler", State.ABSENT, str(error), f"for a CUDA GPU: {nvrtc.INSTALL}")


def find_devices() -> tuple[Finding, ...]:
    """A finding for each device, and one for each kind that has none."""
    try:
        asked = subprocess.run(_PROGRAM, capture_output=True, text=True, timeout=_LONGEST, stdin=subprocess.DEVNULL)
        report = json.loads(asked.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        said = "the process that looked for them did not end well"
        if isinstance(error, subprocess.TimeoutExpired):
            said = f"the drivers did not answer within {_LONGEST} seconds"
        remedy = f"{' '.join(_PROGRAM)} shows what happens; POLYTUNE_DEVICES=none keeps polytune away from them"
        return (Finding("devices", State.ABSENT, said, remedy),)
    return tuple(_finding(entry) for entry in report)


def _finding(entry: dict[str, Any]) -> Finding:
    name = entry["identity"] or entry["description"]
    if entry["reason_if_unusable"]:
        reason = entry["reason_if_unusable"]
        detail = f"{entry['description']}: {reason}" if entry["identity"] else reason
        return Finding(name, State.ABSENT, detail, entry["remedy"])
    detail = f"{entry['description']}: {_words(entry['limits'])}"
    remedy = "" if entry["used"] else f"not used; POLYTUNE_DEVICES={name} chooses it"
    return Finding(name, State.OK, detail, remedy)


def _words(limits: dict[str, Any]) -> str:
    """The limits that decide what runs well on a device."""
    words = [
        f"{limits['memory'] / 2**30:.1f} GiB",
        f"{limits['multiprocessors']} multiprocessors",
        f"{limits['threads_per_block']} threads and {limits['shared_memory'] // 1024} KiB of shared memory a block",
    ]
    if limits["registers_per_block"]:
        words.append(f"{limits['registers_per_block']} registers a block")
    if not limits["float64"]:
        words.append("no double precision")
    return ", ".join(words)

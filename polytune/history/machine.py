"""What measurements of one machine have in common, and those of another have not."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from functools import cache
from pathlib import Path


@cache
def machine_key(threads: int | None = None) -> str:
    """The processor's model and the number of cores this process may use: ``"AMD EPYC 7B13, 8 cores"``.

    Two machines with the same key are taken to need the same configuration.

    Args:
        threads: how many threads work for a kernel; named where that is another number than that of the cores.
    """
    cores = _usable_cores()
    key = f"{_processor_model()}, {cores} core{'s' if cores != 1 else ''}"
    if threads in (None, cores):
        return key
    return f"{key}, {threads} thread{'s' if threads != 1 else ''}"


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor_model() -> str:
    system = platform.system()
    name = ""
    if system == "Linux":
        name = model_from_cpuinfo(_read("/proc/cpuinfo"))
    elif system == "Darwin":
        name = _output("sysctl", "-n", "machdep.cpu.brand_string")
    elif system == "Windows":
        name = os.environ.get("PROCESSOR_IDENTIFIER", "")
    return " ".join(name.split()) or platform.processor() or platform.machine() or "unknown processor"


def model_from_cpuinfo(text: str) -> str:
    """The processor's name in the text of ``/proc/cpuinfo``; empty where it has none.

    x86 names a model; Arm gives numbers for implementer and part instead, which do as well.
    """
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value.strip())
    if fields.get("model name"):
        return re.sub(r"\s*@.*|\((R|TM)\)", "", fields["model name"])
    parts = [fields[name] for name in ("CPU implementer", "CPU part", "CPU variant") if name in fields]
    return f"Arm {' '.join(parts)}" if parts else ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""

"""The traits that measurements of one machine have in common, and those of another have not."""

from __future__ import annotations

import platform
import re
import subprocess
from functools import cache
from pathlib import Path

from polytune.caches import data_caches
from polytune.cores import count_of_cores
from polytune.environment import PROCESSOR_IDENTIFIER


@cache
def machine_key(threads: int | None = None) -> str:
    """The processor, the number of cores this process may use, and the caches: ``"AMD EPYC 7B13, family 25 model 1
    stepping 1, 8 cores, L1 32 KiB, L2 512 KiB, L3 32768 KiB"``.

    Virtual machines call processors of several generations by one name, which the numbers tell apart.

    Two machines with the same key are taken to need the same configuration.

    Args:
        threads: how many threads work for a kernel; named where that is another number than that of the cores.
    """
    cores = _usable_cores()
    caches = "".join(f", L{cache.level} {cache.size // 1024} KiB" for cache in data_caches())
    key = f"{_processor_model()}, {cores} core{'s' if cores != 1 else ''}{caches}"
    if threads in (None, cores):
        return key
    return f"{key}, {threads} thread{'s' if threads != 1 else ''}"


def _usable_cores() -> int:
    return count_of_cores()


def _processor_model() -> str:
    system = platform.system()
    name = ""
    if system == "Linux":
        name = model_from_cpuinfo(_read("/proc/cpuinfo"))
    elif system == "Darwin":
        name = _output("sysctl", "-n", "machdep.cpu.brand_string")
    elif system == "Windows":
        name = PROCESSOR_IDENTIFIER.text
    return " ".join(name.split()) or platform.processor() or platform.machine() or "unknown processor"


def model_from_cpuinfo(text: str) -> str:
    """The processor's name in the text of ``/proc/cpuinfo``; empty where it has none.

    x86 names a model, and numbers of its family, of the model in it and of the stepping; Arm gives numbers for
    implementer, part and variant instead, which do as well.
    """
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value.strip())
    if fields.get("model name"):
        name = re.sub(r"\s*@.*|\((R|TM)\)", "", fields["model name"])
        numbers = (("family", "cpu family"), ("model", "model"), ("stepping", "stepping"))
        known = " ".join(f"{short} {fields[field]}" for short, field in numbers if fields.get(field))
        return f"{name}, {known}" if known else name
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

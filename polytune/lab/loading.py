"""Opening a recording, whatever its format."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

from polytune.errors import RecordingError
from polytune.lab import journal, ktt_csv
from polytune.lab.description import read_description
from polytune.lab.files import TextFile, read
from polytune.lab.json_text import TooLargeError, decode
from polytune.lab.kernel_tuner_cache import read_kernel_tuner_cache
from polytune.lab.ktt_json import read_ktt_json
from polytune.lab.measured_csv import read_measured_csv
from polytune.lab.recording import RecordedSpace
from polytune.lab.t4 import read_t4

EXAMPLE = "example:"
_ENDING = ".jsonl.gz"
_TOP_LEVEL_NAME = re.compile(r'"(tune_params_keys|cache|results|Results|ConfigurationSpace)"\s*:')


def load(
    path: str | Path, *, time: str | None = None, unit: str | None = None, description: str | Path | None = None
) -> RecordedSpace:
    """Read a recorded space; the format is recognised by the content, and gzip by its first bytes.

    Args:
        path: a Kernel Tuner cache, a table in CSV, T4 results, KTT results (CSV or JSON), or a recording of polytune's
            own; or ``example:NAME`` for one that comes with polytune.
        time: of a plain table, the column with the times, and
        unit: their unit: ``s``, ``ms``, ``us`` or ``ns``.
        description: the T1 file that belongs to T4 results, to check them against.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it is in none of the formats, or wrong in itself.
    """
    return parse(read(find(path)), time=time, unit=unit, description=description)


def parse(
    file: TextFile, *, time: str | None = None, unit: str | None = None, description: str | Path | None = None
) -> RecordedSpace:
    """The space in a file that has been read.

    Args:
        file: its text.
        time, unit, description: as for `load`.

    Raises:
        RecordingError: it is in none of the formats, or wrong in itself.
    """
    kind = _format(file)
    if (time or unit) and kind != "table":
        raise RecordingError(f"{file.name} says itself what its times are: leave out the column and the unit")
    if description is not None and kind != "T4":
        raise RecordingError(f"{file.name} is no T4 result file: a description belongs to one only")
    described = None if description is None else read_description(read(Path(description)))
    try:
        match kind:
            case "table":
                return read_measured_csv(file, time, unit)
            case "T4":
                return read_t4(file, described)
            case "journal":
                return journal.read_journal(file)
            case "Kernel Tuner":
                return read_kernel_tuner_cache(file)
            case "KTT JSON":
                return read_ktt_json(file)
            case _:
                return ktt_csv.read_ktt_csv(file)
    except RecursionError:  # of a value that could just be decoded, but not be looked at
        raise RecordingError(f"{file.name}: lists or objects lie in one another too deeply to be read") from None


def examples() -> list[str]:
    """The names of the recordings that come with polytune."""
    folder = resources.files("polytune.lab") / "examples"
    return sorted(entry.name.removesuffix(_ENDING) for entry in folder.iterdir() if entry.name.endswith(_ENDING))


def find(path: str | Path) -> Path:
    """The file that a path or ``example:NAME`` stands for.

    Raises:
        RecordingError: there is no such example.
    """
    text = str(path)
    if not text.startswith(EXAMPLE):
        return Path(path)
    name = text.removeprefix(EXAMPLE)
    if name not in examples():
        raise RecordingError(f"there is no example {name!r}; there are {', '.join(examples())}")
    return Path(str(resources.files("polytune.lab") / "examples" / f"{name}{_ENDING}"))


def _format(file: TextFile) -> str:
    text = file.text.lstrip()
    if not text:
        raise RecordingError(f"{file.name}: the file is empty")
    first_line = text.partition("\n")[0]
    if not text.startswith("{"):
        return "KTT CSV" if first_line.startswith(f"{ktt_csv.KERNEL},") else "table"
    if _is_journal(first_line):
        return "journal"
    name = _TOP_LEVEL_NAME.search(text)
    kind = name[1] if name else ""
    if kind in ("tune_params_keys", "cache"):
        return "Kernel Tuner"
    if kind == "results":
        return "T4"
    if kind == "Results":
        return "KTT JSON"
    if kind == "ConfigurationSpace":
        raise RecordingError(f"{file.name} is a T1 description: it has no times; name the T4 results that belong to it")
    raise RecordingError(
        f"{file.name} is in no format of recorded spaces: Kernel Tuner's cache, T4, KTT's CSV or JSON, a table in CSV, "
        "polytune's own; docs/replay.md says what each of them has. See whether this is the file that was meant"
    )


def _is_journal(first_line: str) -> bool:
    try:
        return journal.MARK in decode(first_line)
    except TooLargeError:
        return f'"{journal.MARK}"' in first_line  # its reader says where
    except json.JSONDecodeError:
        return False

"""Results on the disk: the log that grows while a simulation runs, and the JSON or CSV file at its end.

Each of them holds all that `polytune compare` needs; the log is JSON lines, a `Setting` first and then one `Run` each.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from polytune.errors import RecordingError
from polytune.files import replace_text
from polytune.lab.early_end import warn_of_cut
from polytune.lab.files import TextFile, read
from polytune.lab.json_text import TooLargeError, decode, why
from polytune.lab.place import Line
from polytune.lab.results import Results, Setting
from polytune.lab.run import Run

_FAILED = "-"
_NOT_AS_WRITTEN = (KeyError, TypeError, ValueError, OverflowError)
_LONGEST_CELL = (1 << 31) - 1
_LISTS = ("distribution", "random_curve")  # they stand in the first line only
_SETTING_COLUMNS = (*(field.name for field in fields(Setting) if field.name not in _LISTS), "distribution")
_LATER_COLUMNS = ("random_curve", "final")  # files of earlier versions lack them
_RUN_COLUMNS = ("search", "budget", "repeat", "slowdown", "evaluations", "slowdowns")


class RunLog:
    """The runs of a simulation as they are made, in a ``with`` statement.

    Args:
        path: the file.
        setting: of the simulation.
        resume: whether to go on with a file that is there.

    Attributes:
        runs: those that the file has already.

    Raises:
        RecordingError: the file is there and not to be gone on with, or is of another simulation.
    """

    def __init__(self, path: Path, setting: Setting, *, resume: bool):
        self.runs: list[Run] = []
        self._path, self._setting = path, setting
        begun = path.exists() and path.stat().st_size > 0
        if begun and not resume:
            raise RecordingError(f"{path} has the runs of an earlier simulation: resume it, or remove the file")
        if begun:
            found = read_results(path)
            if found.setting != setting:
                raise _mismatch(path, found.setting, setting)
            self.runs = list(found.runs)
        # Written anew, so that a line that was cut off is gone.
        replace_text(path, "".join(_line(document) for document in [setting.to_json(), *_documents(self.runs)]))
        self._stream: IO[str] = path.open("a", encoding="utf-8")

    def __enter__(self) -> RunLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def take_over(self, results: Results) -> None:
        """Add the runs of a finished file that the log has not.

        Raises:
            RecordingError: the file is of another simulation.
        """
        if results.setting != self._setting:
            raise _mismatch(self._path.with_suffix(""), results.setting, self._setting)
        known = {run.task for run in self.runs}
        for run in results.runs:
            if run.task not in known:
                self.add(run)

    def add(self, run: Run) -> None:
        """Write a run, so that it is kept whatever comes next."""
        self.runs.append(run)
        self._stream.write(_line(run.to_json()))
        self._stream.flush()


def write_results(path: Path, results: Results) -> None:
    """Write a file that is JSON or CSV by its ending, whole or not at all.

    Raises:
        RecordingError: the ending is another one.
        OSError: the file cannot be written.
    """
    if path.suffix == ".json":
        document = {**results.setting.to_json(), **results.summary(), "runs": _documents(results.runs)}
        text = json.dumps(document, allow_nan=False)
    elif path.suffix == ".csv":
        text = _to_csv(results)
    else:
        raise RecordingError(f"{path}: results are written as .json or .csv")
    replace_text(path, text)


def read_results(path: Path) -> Results:
    """Read a file that `write_results` wrote, or a log, finished or not.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it is something else.
    """
    file = read(path)
    if not file.text.lstrip().startswith("{"):
        return _from_csv(file)
    try:
        document = decode(file.text)
    except TooLargeError as error:
        raise Line(file.name, error.lineno).error(why(error)) from None
    except json.JSONDecodeError:
        return _from_log(file)
    if "runs" not in document:
        return _from_log(file)  # a log of which no run has been made yet
    try:
        return Results.ordered(Setting.from_json(document), map(Run.from_json, document["runs"]))
    except _NOT_AS_WRITTEN as error:
        raise RecordingError(f"{file.name}: these are no results of 'polytune simulate' ({_what(error)})") from None


def _from_log(file: TextFile) -> Results:
    lines = file.text.splitlines()
    runs: list[Run] = []
    setting: Setting | None = None
    for number, text in enumerate(lines, 1):
        place = Line(file.name, number)
        try:
            document = decode(text)
            if setting is None:
                setting = Setting.from_json(document)
            else:
                runs.append(Run.from_json(document))
        except _NOT_AS_WRITTEN as error:  # JSON's error is one of them
            if setting is not None and number == len(lines) and not file.text.endswith("\n"):
                warn_of_cut(file, number, len(runs))
                break
            raise place.error(f"this is no result of 'polytune simulate --output' ({_what(error)})") from None
    if setting is None:
        raise RecordingError(f"{file.name}: the file is empty")
    return Results.ordered(setting, runs)


def _to_csv(results: Results) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*_RUN_COLUMNS, *_SETTING_COLUMNS, *_LATER_COLUMNS))
    setting = results.setting
    common = [getattr(setting, name) for name in _SETTING_COLUMNS[:-1]]
    for number, run in enumerate(results.runs):
        lists = (" ".join(map(repr, getattr(setting, name))) if number == 0 else "" for name in _LISTS)
        distribution, random_curve = lists
        slowdowns = " ".join(repr(value) if math.isfinite(value) else _FAILED for value in run.slowdowns)
        task = run.task
        row = (task.search, task.budget, task.repeat, run.slowdown, run.evaluations, slowdowns)
        final = "" if run.final is None else repr(run.final) if math.isfinite(run.final) else _FAILED
        writer.writerow((*row, *common, distribution, random_curve, final))
    return text.getvalue()


def _from_csv(file: TextFile) -> Results:
    with _cells_of_any_length():
        try:
            rows = list(csv.DictReader(io.StringIO(file.text)))
        except csv.Error as error:
            raise RecordingError(f"{file.name}: this is no table in CSV ({error})") from None
    if not rows or not set(_RUN_COLUMNS + _SETTING_COLUMNS) <= rows[0].keys():
        raise RecordingError(f"{file.name}: these are no results of 'polytune simulate', which begin with a header")
    runs: list[Run] = []
    try:
        lists = {name: (rows[0].get(name) or "").split() for name in _LISTS}
        setting = Setting.from_json({**rows[0], **lists})
        for row in rows:
            slowdowns = [None if value == _FAILED else float(value) for value in row["slowdowns"].split()]
            final = row.pop("final", "")
            measured = {"final": None if final == _FAILED else float(final)} if final else {}
            runs.append(Run.from_json({**row, **measured, "slowdowns": slowdowns}))
    except (AttributeError, *_NOT_AS_WRITTEN) as error:
        raise Line(file.name, len(runs) + 2).error(f"this is no run ({_what(error)})") from None
    return Results.ordered(setting, runs)


@contextlib.contextmanager
def _cells_of_any_length() -> Iterator[None]:
    """Have the module csv read cells of more than 128 KiB, which runs of some ten thousand evaluations need."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _documents(runs: Iterable[Run]) -> list[dict[str, Any]]:
    return [run.to_json() for run in runs]


def _line(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"


def _what(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


def _mismatch(path: Path, found: Setting, wanted: Setting) -> RecordingError:
    names = [name for name, value in vars(found).items() if value != vars(wanted)[name] and name not in _LISTS]
    differences = ", ".join(f"{name} {vars(found)[name]!r}, not {vars(wanted)[name]!r}" for name in names)
    return RecordingError(f"{path} is of another simulation ({differences}); name another file")

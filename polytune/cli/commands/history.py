"""``polytune history``: what has been measured in earlier runs, forgetting it, and files to give it to others."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from polytune.cli.console import kernel_table, print_json, print_table, progress, results
from polytune.cli.options import Debug, Json
from polytune.errors import HistoryError
from polytune.files import is_no_file
from polytune.history import HistoryStore, Measurement, default_store
from polytune.history.exchange import check_written, merged, read_measurements, write_measurements
from polytune.records import dataclass


@dataclass(frozen=True)
class HistoryEntry:
    """The knowledge of one kernel, for arguments of one shape, on one machine.

    Attributes:
        kernel, shape, machine: which.
        measurements: the configurations, the fastest first, what failed last.
    """

    kernel: str
    shape: str
    machine: str
    measurements: tuple[Measurement, ...]

    @classmethod
    def all_of(cls, measurements: Iterable[Measurement]) -> list[HistoryEntry]:
        """The entries of measurements that a store gave, in its order."""
        grouped = itertools.groupby(measurements, lambda m: (m.kernel, m.shape, m.machine))
        return [cls(*key, tuple(group)) for key, group in grouped]

    @property
    def best(self) -> Measurement | None:
        """The fastest configuration; None where all have failed."""
        return self.measurements[0] if self.measurements[0].median_seconds is not None else None

    @property
    def failed(self) -> int:
        """Return how many configurations failed when they were last tried."""
        return sum(measurement.status == "failed" for measurement in self.measurements)

    @property
    def updated(self) -> float:
        """The last change, in seconds since 1970."""
        return max(measurement.updated for measurement in self.measurements)

    def to_json(self) -> dict[str, Any]:
        """The entry with all its measurements."""
        return {
            "kernel": self.kernel,
            "shape": self.shape,
            "machine": self.machine,
            "measurements": [
                {name: value for name, value in m.to_json().items() if name not in ("kernel", "shape", "machine")}
                for m in self.measurements
            ],
        }


def history(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KERNEL | export FILE | import FILE... | merge FILE...]",
            help="Only this kernel, with all its configurations; or what to do with files of JSON lines, "
            "SQLite files and addresses of histories.",
        ),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="With merge: the file to write.")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Delete what is listed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --forget: do not ask.")] = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Print what was measured in earlier runs: for each kernel and shape how many configurations, and the best time.

    export FILE writes it to a file; import FILE... adds what such files hold and this history does not know, or knows
    less newly; merge FILE... -o FILE makes one of several. A FILE may be an address, as postgresql://host/name.
    """
    if yes and not forget:
        raise typer.BadParameter("--yes goes with --forget")
    kernel, more = (words[0], words[1:]) if words else (None, [])
    if kernel in ACTIONS:
        if forget:
            raise typer.BadParameter(f"--forget does not go with {kernel}")
        exchange(kernel, more, output, as_json=as_json)
        return
    if more or output is not None:
        raise typer.BadParameter(
            "-o goes with merge"
            if output is not None
            else "one KERNEL at most; its hash belongs in quotes with its name"
        )
    store = default_store()
    entries = chosen(HistoryEntry.all_of(store.all()), kernel)
    if forget:
        count = _forget(store, entries, kernel, confirmed=yes)
        if as_json:
            print_json({"path": str(store.place), "forgotten": count})
        else:
            results.print(Text(f"{store.place}: {_counted(count)} forgotten"), soft_wrap=True)
    elif as_json:
        print_json({"path": str(store.place), "entries": [entry.to_json() for entry in entries]})
    elif not entries:
        results.print(Text(f"{store.place}: nothing has been measured yet"), soft_wrap=True)
    elif kernel is None:
        print_table(_overview(entries))
    else:
        for entry in entries:
            print_table(_measurements(entry))


def chosen(entries: Sequence[HistoryEntry], kernel: str | None) -> list[HistoryEntry]:
    """The entries of a kernel, given by its name or by its name and hash; all entries for None.

    Raises:
        HistoryError: there is none.
    """
    if kernel is None:
        return list(entries)
    found = [entry for entry in entries if kernel in (entry.kernel, _name(entry.kernel))]
    if not found:
        names = sorted({_name(entry.kernel) for entry in entries})
        close = difflib.get_close_matches(kernel, names, n=1)
        known = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(names) or 'no kernel at all'}"
        raise HistoryError(f"the history has nothing of a kernel {kernel!r}; {known}")
    return found


def _forget(store: HistoryStore, entries: Sequence[HistoryEntry], kernel: str | None, *, confirmed: bool) -> int:
    """Delete the entries, once a person has said so.  Return how many measurements they had."""
    count = sum(len(entry.measurements) for entry in entries)
    what = _counted(count)
    if not confirmed:
        typer.confirm(f"Forget {what} of {kernel or 'all kernels'} in {store.place}?", abort=True, err=True)
    names = [None] if kernel is None else list(dict.fromkeys(entry.kernel for entry in entries))
    forgotten = sum(store.clear(name) for name in names)
    check_written(store)
    return forgotten


def _overview(entries: Sequence[HistoryEntry]) -> Table:
    machines = {entry.machine for entry in entries}
    table = kernel_table(machines, ("measured", "failed", "best ms"))
    table.add_column("last", no_wrap=True)
    for entry in entries:
        best = entry.best
        table.add_row(
            Text(entry.kernel),
            Text(entry.shape),
            *([Text(entry.machine)] if len(machines) > 1 else []),
            str(len(entry.measurements)),
            str(entry.failed),
            _milliseconds(None if best is None else best.median_seconds),
            _date(entry.updated),
        )
    return table


def _measurements(entry: HistoryEntry) -> Table:
    title = Text(f"{entry.kernel}, {entry.shape}, on {entry.machine}")
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    table.add_column("configuration", overflow="fold")
    table.add_column("median ms", justify="right")
    table.add_column("best ms", justify="right")
    table.add_column("measured", justify="right")
    table.add_column("last")
    for measurement in entry.measurements:
        failed = f" failed: {measurement.reason}" if measurement.status == "failed" else ""
        table.add_row(
            Text(_configuration(measurement.configuration) + failed),
            _milliseconds(measurement.median_seconds),
            _milliseconds(measurement.best_seconds),
            str(measurement.count),
            _date(measurement.updated),
        )
    return table


def _name(kernel: str) -> str:
    """The name of a kernel without the hash of what it does."""
    return kernel.partition(" ")[0]


def _configuration(configuration: Mapping[str, Any]) -> str:
    """The values, the version first: it says what the others mean."""
    names = sorted(configuration, key=lambda name: (name != "version", name))
    return " ".join(f"{name}={configuration[name]}" for name in names)


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.4g}"


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).isoformat(sep=" ", timespec="minutes")


ACTIONS = ("export", "import", "merge")


def exchange(action: str, files: Sequence[str], output: str | None, *, as_json: bool) -> None:
    """Do one of the ``ACTIONS``, and say what was done.

    Args:
        action: one of the ``ACTIONS``.
        files: those that are read; for export the one that is written.
        output: the file to write, for merge; else None.
        as_json: whether what was done is printed as JSON.

    Raises:
        typer.BadParameter: the files do not go with it.
        HistoryError: a file cannot be read or written.
    """
    if (output is not None) != (action == "merge"):
        raise typer.BadParameter(
            "merge needs -o FILE, the file to write" if action == "merge" else "-o goes with merge"
        )
    if not files or (action == "export" and len(files) > 1):
        raise typer.BadParameter(f"{action} needs {'one FILE' if action == 'export' else 'FILE...'}")
    store = default_store()
    if action == "export":
        count = write_measurements(files[0], store.all())
        said = f"{_shown(files[0])}: {_counted(count)} written"
    elif action == "import":
        found = merged(each for file in files for each in read_measurements(file))
        count = store.add_all(found)
        check_written(store)
        known = "" if count == len(found) else f"; of {len(found) - count} something as new is known"
        said = f"{store.place}: {_counted(count)} added{known}"
    else:
        assert output is not None
        count = write_measurements(output, merged(each for file in files for each in read_measurements(file)))
        said = f"{_shown(output)}: {_counted(count)} written"
    if as_json:
        print_json(
            {
                "action": action,
                "path": _shown(output or (store.place if action == "import" else files[0])),
                "count": count,
            }
        )
    else:
        # What was written may have gone to where results go, as to /dev/stdout: nothing may follow it there.
        console = progress if action != "import" and is_no_file(Path(output or files[0])) else results
        console.print(Text(said), soft_wrap=True)


def _shown(place: str) -> str:
    """A file or an address, without a password."""
    return re.sub("(://[^/@:]*):[^@]*@", r"\1:***@", place)


def _counted(count: int) -> str:
    return f"{count} measured configuration{'' if count == 1 else 's'}"

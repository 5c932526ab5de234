"""The report on all papers: what is at hand is read, each item made and kept, and the page written."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from polytune.errors import PolytuneError, RecordingError, RecordingWarning
from polytune.files import check_output_folder, replace_text
from polytune.lab.loading import EXAMPLE, examples, load
from polytune.lab.papers import (
    design_of_experiments,
    hierarchical_tuning,
    historical_data,
    performance_counters,
    sample_sizes,
)
from polytune.lab.papers.item import Effort, Item, Recordings, Reproduction
from polytune.lab.papers.page import page
from polytune.lab.recording import RecordedSpace
from polytune.lab.simulation import one_thread
from polytune.tuner.counters.names import expected_times

__all__ = ["ITEMS", "find_recordings", "write_report"]

ITEMS: Sequence[Item] = (
    *hierarchical_tuning.ITEMS,
    *historical_data.ITEMS,
    *sample_sizes.ITEMS,
    *performance_counters.ITEMS,
    *design_of_experiments.ITEMS,
)

_LAPLACIAN = {"vector_length", "lws_y", "y_component_number", "elements_number", "threads_number"}
_ALSO_LAPLACIAN = {"temporary_size", "load_overlap", "vector_recompute"}
_LAPLACIAN_TIME = "time_per_pixel"
_ENDINGS = (".csv", ".csv.gz", ".json", ".json.gz", ".jsonl", ".jsonl.gz")
_NOISE = 0.02
_FEWEST = 100  # configurations of a space that tells something


def find_recordings(folder: Path | None) -> Recordings:
    """The recordings in a folder and those below it, and the examples; files that are none are passed over.

    Of several files of the same measurements, in other formats say, the one with the shortest name of the form
    ``KERNEL__DEVICE`` counts, or else the first.

    Raises:
        RecordingError: the folder is not there.
    """
    spaces: list[RecordedSpace] = []
    profiled: list[RecordedSpace] = []
    own = [load(EXAMPLE + name) for name in examples()]
    counted: list[RecordedSpace] = []
    laplacian = None
    if folder is not None and not folder.is_dir():
        raise RecordingError(f"{folder} is no folder: --data names one with recorded spaces")
    files = sorted(folder.rglob("*")) if folder is not None else []
    for file in files:
        if not file.name.endswith(_ENDINGS) or not file.is_file():
            continue
        recorded = _read(file)
        if recorded is None or len(recorded) < _FEWEST:
            continue
        if set(recorded.space.names) >= _LAPLACIAN:
            # With columns of their own, these are runs of searches on it, and no space.
            if set(recorded.space.names) <= _LAPLACIAN | _ALSO_LAPLACIAN:
                laplacian = laplacian or recorded
        elif expected_times(recorded.counters):
            counted.append(recorded)
        elif recorded.counters:
            profiled.append(recorded)
        else:
            same = next((number for number, known in enumerate(spaces) if _is_same(known, recorded)), None)
            if same is None:
                spaces.append(recorded)
            elif _rank(recorded) < _rank(spaces[same]):
                spaces[same] = recorded
    counted += (recorded for recorded in own if recorded.counters)
    return Recordings(spaces, profiled, laplacian, [recorded for recorded in own if not recorded.counters], counted)


def _is_same(one: RecordedSpace, other: RecordedSpace) -> bool:
    """Return whether two recordings are of the same measurements; some formats keep means, others single times."""
    return (
        (len(one), one.failed) == (len(other), other.failed)
        and one.space.configuration(one.best) == other.space.configuration(other.best)
        and abs(math.log(one.optimum / other.optimum)) < _NOISE
    )


def _rank(recorded: RecordedSpace) -> tuple[bool, int]:
    """Return how much the name of a recording tells; the least is the best."""
    return "__" not in recorded.name, len(recorded.name)


def _read(file: Path) -> RecordedSpace | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecordingWarning)
        for options in ({}, {"time": _LAPLACIAN_TIME, "unit": "s"}):
            try:
                return load(file, **options)
            except (PolytuneError, OSError):
                continue
    return None


def write_report(
    output: Path, data: Path | None, effort: Effort, say: Callable[[str], None], names: Sequence[str] = ()
) -> Path:
    """Make all items, or those named, and write ``index.html`` to a folder.

    What has been made is kept there, so that a report that was interrupted goes on where it was; with another effort
    everything is made anew.

    Args:
        output: the folder; made if it is not there.
        data: a folder with recordings; None for the examples alone.
        effort: how much is computed.
        say: told what is being done, a line at a time.
        names: of items; all where there are none.

    Returns:
        The page.

    Raises:
        RecordingError: there is no such item, or no such folder.
        OutputError: the folder cannot be written to.
        MissingLibraryError: a library of the extra ``search`` is not installed.
    """
    known = {item.name for item in ITEMS}
    if unknown := [name for name in names if name not in known]:
        raise RecordingError(f"there is no item {unknown[0]!r}; there are {', '.join(item.name for item in ITEMS)}")
    wanted = [item for item in ITEMS if not names or item.name in names]
    check_output_folder(output)
    output.mkdir(parents=True, exist_ok=True)
    say("reading recordings")
    recordings = find_recordings(data)
    effort = replace(effort, say=say)
    made_of = {"repeats": effort.repeats, "seed": effort.seed, "recordings": _identity(recordings)}
    found: list[tuple[Item, Reproduction | None]] = []
    for number, item in enumerate(wanted, start=1):
        file = output / f"{item.name}.json"
        kept = _kept(file, made_of)
        if kept is None:
            say(f"{number} of {len(wanted)}: {item.name}")
            with one_thread():
                reproduction = item.make(recordings, effort, output / item.name)
            document = {"made_of": made_of, "outcome": None if reproduction is None else reproduction.to_json()}
            replace_text(file, json.dumps(document))
            kept = document
        else:
            say(f"{number} of {len(wanted)}: {item.name}, made before")
        reproduction = None if kept["outcome"] is None else Reproduction.from_json(kept["outcome"])
        found.append((item, reproduction))
        laplacian = "with" if recordings.laplacian else "without"
        about = (
            f"{len(recordings.spaces)} recorded spaces, {len(recordings.profiled)} with counters, {laplacian} that of "
            f"the Laplacian kernel, and {len(recordings.examples) + len(recordings.counted)} of polytune's own, "
            f"{len(recordings.counted)} of them with counters; {effort.repeats} runs where a paper has 200, seed "
            f"{effort.seed}."
        )
        replace_text(output / "index.html", page(found, about))
    return output / "index.html"


def _identity(recordings: Recordings) -> list[str]:
    every = [*recordings.spaces, *recordings.profiled, *recordings.examples, *recordings.counted]
    every += [] if recordings.laplacian is None else [recordings.laplacian]
    return [f"{each.name} {each.device} {len(each)} {each.optimum!r}" for each in every]


def _kept(file: Path, made_of: dict[str, Any]) -> dict[str, Any] | None:
    """Read what a file keeps of an item; None where it keeps nothing that was made of the same, or figures are gone."""
    try:
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if document["made_of"] != made_of:
            return None
        outcome = document["outcome"]
        if outcome is not None:
            figures = Reproduction.from_json(outcome).figures
            if not all(path.is_file() for path in figures.values()):
                return None
        return document
    except (OSError, ValueError, LookupError, TypeError):
        return None

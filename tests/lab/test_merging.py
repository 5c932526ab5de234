"""Results of several files as one for each space."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polytune.errors import RecordingError
from polytune.lab import simulate
from polytune.lab.merging import merge
from polytune.lab.results import Results


def test_files_of_one_space_are_merged(recorded):
    first = simulate(recorded, ["random"], [5], 3, seed=1)
    again = simulate(recorded, ["random"], [5], 4, seed=1)
    other_search = simulate(recorded, ["genetic"], [5], 3, seed=1)
    other_seed = simulate(recorded, ["random"], [5], 2, seed=2)
    (merged,) = merge([first, again, other_search, other_seed])
    assert len(merged.of_search("random", 5)) == 4 + 2
    assert len(merged.of_search("genetic", 5)) == 3
    assert merged.slowdowns("random", 5)[:4] == again.slowdowns("random", 5)
    assert merged.slowdowns("random", 5)[4:] == other_seed.slowdowns("random", 5)


def test_different_spaces_stay_apart(recorded):
    slower = replace(recorded, seconds=recorded.seconds * 1.5)
    merged = merge([simulate(space, ["random"], [5], 2) for space in (recorded, slower)])
    assert [len(results.runs) for results in merged] == [2, 2]


def test_spaces_of_one_name_are_told_apart(recorded):
    spaces = [
        recorded,
        replace(recorded, seconds=recorded.seconds * 1.5),
        replace(recorded, device="stone", seconds=recorded.seconds * 2),
        replace(recorded, name="pit"),
    ]
    merged = merge(simulate(space, ["random"], [5], 2) for space in spaces)
    names = [results.setting.space for results in merged]
    assert names[2:] == ["bowl, stone", "pit"]
    assert len(set(names)) == 4 and all(name.startswith("bowl, paper, ") for name in names[:2])


def test_runs_that_contradict_each_other_are_not_merged(recorded):
    found = simulate(recorded, ["random"], [5], 2, seed=1)
    worse = replace(found.runs[1], slowdowns=tuple(value + 1 for value in found.runs[1].slowdowns))
    with pytest.raises(RecordingError, match="run of random with 5 evaluations on bowl from seed 1, but not the same"):
        merge([found, Results(found.setting, (found.runs[0], worse))])


def test_runs_with_different_options_are_not_merged(recorded):
    found = simulate(recorded, ["random"], [5], 2)
    exact, trees = (Results(replace(found.setting, options=options), found.runs) for options in ("exact", "trees"))
    assert len(merge([found, exact])) == 1
    with pytest.raises(RecordingError, match=r"with different options \(exact, and trees\)"):
        merge([found, exact, trees])

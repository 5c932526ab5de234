"""Processes of real campaigns are killed, and what they leave is checked; the check finds what it looks for."""

from __future__ import annotations

import json

import pytest

from benchmarks.scale.kills import Journal, check_journal, run_kills
from polytune.history import HistoryStore

WHAT = {"kernel": "shift", "shape": "n=100", "configuration": {"version": "source"}}


@pytest.mark.slow
def test_no_trial_is_lost_or_doubled_though_every_part_of_a_campaign_is_killed():
    pytest.importorskip("distributed")
    found = run_kills(["worker", "scheduler", "client"], trials=4, longest=2.5, seed=3, timeout=240.0)
    assert found.faults == () and found.campaigns >= 1
    assert found.kills == {"worker": 1, "scheduler": 1, "client": 1}
    assert found.trials >= 3 * found.campaigns


def left(folder, *notes, records=()):
    """A folder as clients leave it, which have written notes and records."""
    journal, store = Journal(folder / "journal"), HistoryStore(folder / "history")
    for event in notes:
        journal.note(event, **WHAT, **({} if event == "measured" else {"count": 1}))
    for count in records:
        store.record("shift 0123", "n=100", "machine", WHAT["configuration"], 0.5, count=count)
    store.close()
    return check_journal(folder)


def test_what_is_whole_is_no_fault(tmp_path):
    assert left(tmp_path, "measured", "recording", "recorded", records=[1]) == (1, 0, [])


def test_a_record_of_which_nobody_knows_the_end_may_be_there_or_not(tmp_path):
    for number, records in enumerate([(), (1,)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert left(folder, "measured", "recording", records=records) == (0, 1, [])


@pytest.mark.parametrize(
    ("notes", "records", "fault"),
    [
        (("recording", "recorded"), (), "lost, 0 of 1"),
        (("recording", "recorded"), (1, 1), "doubled, 2 of 1"),
        (("recording",), (1, 1), "doubled, 2 of 1"),
        (("recording", "recorded", "measured"), (1,), "measured again although acknowledged"),
    ],
)
def test_what_is_lost_or_doubled_is_found(tmp_path, notes, records, fault):
    (found,) = left(tmp_path, *notes, records=records)[2]
    assert fault in found and json.dumps(WHAT, sort_keys=True) in found

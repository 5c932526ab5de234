"""A history is data: whatever the state of a search in it says, calls go on, and try only what the space has."""

from __future__ import annotations

import json
import random

from polytune.history import HistoryStore
from polytune.tuner import Integer, Is, Nominal, OnlineTuner, Space

KEY = ("kernel", "n=100", "machine")
SPACE = Space(
    [
        Nominal("version", ("source", "tiled", "packed")),
        Integer("tile_0", 8, 64, powers_of_two=True, when=Is("version", "tiled", "packed")),
        Integer("threads", 1, 4),
    ]
)
WRONG = [None, -1, 1e308, "text", [], {}, [1, 2], {"version": "gone"}, 10**30, True]


def places(document, path=()):
    """Where the values of a document are."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


def calls(store, count):
    tuner = OnlineTuner(SPACE, key=KEY, store=store)
    for _ in range(count):
        configuration = tuner.choose()
        assert SPACE.contains(configuration)
        tuner.report(configuration, 1e-3 * (2 + len(configuration["version"]) + configuration["threads"]))
    tuner.save()


def test_wrong_states_cost_time_alone(tmp_path):
    store = HistoryStore(tmp_path)
    calls(store, 40)
    right = json.dumps(store.load_search(*KEY))
    chance = random.Random(0)
    for number in range(300):
        state = json.loads(right)
        place = chance.choice(list(places(state)))
        inner = state
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = chance.choice(WRONG)
        store.save_search(*KEY, state)
        try:
            calls(store, 12)
        except Exception as error:
            raise AssertionError(
                f"{number}: {place} = {inner[place[-1]]!r}: {type(error).__name__}: {error}"
            ) from error

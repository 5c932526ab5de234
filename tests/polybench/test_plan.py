"""Which configurations are verified."""

import numpy as np

from polybench.datasets import Dataset
from polybench.plan import configurations
from polytune.tuner import Integer, Is, Nominal, Space

SPACE = Space(
    [
        Nominal("version", ("source", "tiled", "skewed")),
        Integer("threads", 1, 2, default=2),
        *(Integer(f"tile_{i}", 1, 64, when=Is("version", "tiled", "skewed"), default=32) for i in range(3)),
    ]
)


def plan(space=SPACE, dataset=Dataset.MINI):
    return [dict(c) for c in configurations(space, dataset, np.random.default_rng(0))]


def test_every_version_comes_with_its_default_sizes():
    planned = plan()
    assert all(dict(version) in planned for version in SPACE.enumerate_nominal())


def test_every_version_comes_with_odd_sizes_on_one_thread_and_on_two():
    for version in ("tiled", "skewed"):
        assert {"version": version, "threads": 1, "tile_0": 1, "tile_1": 3, "tile_2": 7} in plan()
        assert {"version": version, "threads": 2, "tile_0": 3, "tile_1": 7, "tile_2": 5} in plan()
    assert {"version": "source", "threads": 1} in plan()
    assert {"version": "source", "threads": 2} in plan()


def test_tiles_of_large_problems_are_not_tiny():
    odd = [c for c in plan(dataset=Dataset.LARGE) if c.get("tile_0") in (13, 37)]
    assert {(c["tile_0"], c["tile_1"], c["tile_2"]) for c in odd} >= {(13, 37, 7), (37, 7, 29)}


def test_nothing_comes_twice():
    planned = [tuple(sorted(c.items())) for c in plan()]
    assert len(planned) == len(set(planned))


def test_all_are_members_of_the_space():
    for configuration in plan():
        SPACE.validate(configuration)


def test_a_size_that_the_space_lacks_gives_way_to_the_nearest():
    space = Space([Nominal("version", ("tiled",)), Integer("tile_0", 4, 64, powers_of_two=True, default=32)])
    assert {c["tile_0"] for c in plan(space)} >= {32, 4}


def test_a_version_without_tiles_and_threads_comes_once():
    assert plan(Space([Nominal("version", ("only",))])) == [{"version": "only"}]

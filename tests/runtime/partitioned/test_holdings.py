"""What the host and devices have of an array, against arrays of version numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polytune.runtime.devices.transfers import view
from polytune.runtime.partitioned.boxes import is_empty, whole
from polytune.runtime.partitioned.holdings import MANY_BOXES, Holdings
from polytune.runtime.partitioned.pool import pool_of
from tests.runtime.partitioned.fake_device import FakeDevice

SHAPE = (5, 6)


def holdings_of(device):
    return Holdings(device, device.stream(), pool_of(device))


def axis(extent, steps):
    return st.tuples(st.integers(0, extent), st.integers(0, extent), st.sampled_from(steps)).map(
        lambda found: (min(found[:2]), max(found[:2]), found[2])
    )


def boxes(steps):
    return st.tuples(*(axis(extent, steps) for extent in SHAPE))


def actions(steps):
    return st.lists(
        st.tuples(st.sampled_from(["host", 0, 1]), boxes(steps), st.sampled_from(["read", "write"])),
        max_size=12,
    )


class Coherent:
    """Two devices and the host share an array; every write stores a new number wherever it goes, and every read sees
    the newest numbers, or the model is wrong."""

    def __init__(self):
        self.newest = np.zeros(SHAPE)
        self.host = np.zeros(SHAPE)
        self.sides = [holdings_of(FakeDevice({}, identity)) for identity in ("cuda:0", "cuda:1")]
        self.moved = 0

    def bring_home(self, box, asking):
        for number, side in enumerate(self.sides):
            wanted = side.clashes("A", [box]) if number == asking else [box]
            if side.is_needed("A", wanted):
                side.fetch(["A"])
                side.stream.synchronize()
                side.commit(["A"])

    def read(self, where, box):
        self.bring_home(box, where)
        if where == "host":
            seen = view(self.host, box)
        else:
            side = self.sides[where]
            side.upload("A", self.host, [box])
            side.stream.synchronize()
            seen = view(side.device.image(side.buffer("A"), self.host), box)
        np.testing.assert_array_equal(seen, view(self.newest, box))

    def write(self, where, box, number):
        self.bring_home(box, None)
        view(self.newest, box)[...] = number
        if where == "host":
            view(self.host, box)[...] = number
        else:
            side = self.sides[where]
            side.array("A", self.host)
            view(side.device.image(side.buffer("A"), self.host), box)[...] = number
            side.wrote("A", [box])
        for other, side in enumerate(self.sides):
            if other != where:
                side.host_wrote("A", [box])

    def run(self, steps):
        for number, (where, box, action) in enumerate(steps, 1):
            if action == "read":
                self.read(where, box)
            else:
                self.write(where, box, number)
        self.bring_home(whole(SHAPE), None)
        np.testing.assert_array_equal(self.host, self.newest)


@settings(deadline=None, max_examples=200)
@given(actions([1]))
def test_everybody_sees_the_newest_elements(steps):
    Coherent().run(steps)


@settings(deadline=None, max_examples=200)
@given(actions([1, 2, 3]))
def test_everybody_sees_the_newest_elements_of_strided_boxes(steps):
    Coherent().run(steps)


@given(boxes([1, 2]))
def test_nothing_is_moved_twice(box):
    device, host = FakeDevice({}), np.zeros(SHAPE)
    holdings = holdings_of(device)
    for _ in range(2):
        holdings.upload("A", host, [box])
    assert device.operations.count("upload") == (not is_empty(box))
    assert holdings.uploaded == view(host, box).size * 8


def test_only_what_is_missing_is_moved():
    device, host = FakeDevice({}), np.zeros(SHAPE)
    holdings = holdings_of(device)
    holdings.upload("A", host, [((0, 2, 1), (0, 6, 1))])
    holdings.upload("A", host, [whole(SHAPE)])
    assert holdings.uploaded == host.nbytes


def test_many_boxes_cost_transfers_not_results():
    device, host = FakeDevice({}), np.arange(300.0)
    holdings = holdings_of(device)
    for start in range(0, 300, 2):
        holdings.upload("A", host, [((start, start + 1, 1),)])
    assert len(holdings.array("A", host).valid) == MANY_BOXES
    holdings.upload("A", host, [whole(host.shape)])
    holdings.stream.synchronize()
    np.testing.assert_array_equal(device.image(holdings.buffer("A"), host), host)


def test_memory_goes_back_but_for_what_is_kept():
    device, host = FakeDevice({}), np.zeros(SHAPE)
    holdings = holdings_of(device)
    holdings.upload("A", host, [whole(SHAPE)])
    buffer = holdings.buffer("A")
    holdings.release()
    assert pool_of(device).take(host.nbytes) is buffer
    again = holdings_of(device)
    kept = again.array("A", host)
    kept.kept = True
    again.release()
    assert pool_of(device).take(host.nbytes) is not kept.buffer

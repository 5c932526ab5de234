"""The machine as read from files laid out as Linux does."""

import os

import pytest

from polytune.caches import caches_from_sysfs
from polytune.runtime import machine as module
from polytune.runtime.machine import Cache, Machine, machine


def test_this_machine_has_what_every_machine_has():
    this = machine()
    assert this is machine()
    assert this.processor
    assert 1 <= this.cores <= (os.cpu_count() or 1)
    assert this.vector_bytes in (16, 32, 64)
    assert this.caches[0].level == 1
    assert 4096 <= this.caches[0].size <= 1 << 22
    assert [cache.level for cache in this.caches] == sorted(cache.level for cache in this.caches)
    assert all(0 < cache.share <= cache.size for cache in this.caches)


def test_affinity_limits_the_cores():
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("no affinity on this system")
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert module._usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)


def sysfs(folder, **indices):
    for name, facts in indices.items():
        (folder / name).mkdir()
        for fact, text in zip(("level", "type", "size", "shared_cpu_list"), facts, strict=True):
            (folder / name / fact).write_text(text + "\n")
    return folder


def test_caches_from_sysfs(tmp_path):
    folder = sysfs(
        tmp_path,
        index0=("1", "Data", "48K", "0,64"),
        index1=("1", "Instruction", "32K", "0,64"),
        index2=("2", "Unified", "2048K", "0,64"),
        index3=("3", "Unified", "96M", "0-15,64-79"),
    )
    assert caches_from_sysfs(folder) == (
        Cache(1, 48 << 10, 2),
        Cache(2, 2048 << 10, 2),
        Cache(3, 96 << 20, 32),
    )


def test_two_cores_of_a_virtual_machine_do_not_have_its_hosts_whole_cache(tmp_path):
    folder = sysfs(
        tmp_path,
        index0=("2", "Unified", "2048K", "0"),
        index1=("3", "Unified", "480M", "0-1"),
    )
    second, third = caches_from_sysfs(folder)
    assert (second.share, third.size, third.share) == (2 << 20, 480 << 20, 16 << 20)


def test_unreadable_caches_are_left_out(tmp_path):
    folder = sysfs(tmp_path, index0=("1", "Data", "strange", "0"), index1=("2", "Unified", "1M", "0-3"))
    (tmp_path / "index2").mkdir()
    assert caches_from_sysfs(folder) == (Cache(2, 1 << 20, 4),)
    assert caches_from_sysfs(tmp_path / "nothing") == ()


def test_a_missing_level_is_answered_by_the_outermost_cache():
    inner, outer = Cache(1, 1 << 15, 1), Cache(2, 1 << 20, 2)
    this = Machine("some", "", 4, 32, (inner, outer))
    assert this.cache(1) is inner
    assert this.cache(3) is outer
    assert this.cache(3).share == 1 << 19
    assert str(this) == "some, 4 cores, 256-bit vectors, L1 32 KiB, L2 1024 KiB"


@pytest.mark.parametrize(
    ("own", "parent", "wanted"),
    [("max 100000", "max 100000", None), ("150000 100000", "max 100000", 2), ("800000 100000", "100000 100000", 1)],
)
def test_processor_time_granted_to_the_control_group(tmp_path, own, parent, wanted):
    group = tmp_path / "outer" / "inner"
    group.mkdir(parents=True)
    (group / "cpu.max").write_text(own + "\n")
    (tmp_path / "outer" / "cpu.max").write_text(parent + "\n")
    membership = tmp_path / "cgroup"
    membership.write_text("1:cpu:/elsewhere\n0::/outer/inner\n")
    assert module._container_cores(tmp_path, membership) == wanted
    assert module._container_cores(tmp_path, tmp_path / "no such file") is None

"""What a profile says about a kernel, in both vocabularies of counters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytune.errors import MeasurementError
from polytune.tuner.counters.bottlenecks import bottlenecks, wanted_changes
from polytune.tuner.counters.names import GLOBAL_SIZE, NSIGHT, NVPROF, vocabulary_of

DRAM, L2, SHARED = NSIGHT.memory
FP32, FP64, INTEGER, MISC, MEMORY, CONTROL, CONVERSION = NSIGHT.instructions


def profile(**changed):
    """A kernel that keeps a large device half busy with nothing in particular."""
    counters = dict.fromkeys(NSIGHT.names, 0.0)
    counters.update(dict.fromkeys(NSIGHT.instructions, 1e6))
    counters.update({GLOBAL_SIZE: 1e6, NSIGHT.sm_activity: 100.0, NSIGHT.issue: 25.0})
    return counters | changed


def analyse(counters, memory_bound=False):
    return bottlenecks(counters, cores=4352, memory_bound=memory_bound)


def changes(counters, memory_bound=False):
    return wanted_changes(counters, cores=4352, memory_bound=memory_bound)


def test_nothing_wrong_nothing_to_change():
    assert changes(profile()) == {}


def test_utilisation_of_memory_is_split_between_reads_and_writes():
    found = changes(profile(**{DRAM.utilisation: 80.0, DRAM.reads: 3e6, DRAM.writes: 1e6}))
    assert found == pytest.approx({DRAM.reads: -0.6, DRAM.writes: -0.2})


def test_texture_reads_count_by_their_own_utilisation():
    utilisation, transactions = NSIGHT.texture
    assert changes(profile(**{utilisation: 30.0})) == {transactions: -0.3}


def test_local_memory_counts_as_the_busiest_cache_lets_it():
    loads, stores = NSIGHT.local_traffic
    counters = profile(**{L2.utilisation: 50.0, L2.reads: 1e6, L2.writes: 1e6, stores: 5e5})
    found = changes(counters)
    assert found[loads] == found[stores] == pytest.approx(-0.5 * 0.5)
    assert found[L2.reads] == pytest.approx(-0.25)
    assert stores not in changes(counters | {stores: 0.0})


def test_a_class_of_instructions_that_fills_the_issue_slots_should_be_less():
    # 90 % of the instructions, half a warp wide: at 45 % of the slots they are at 0.9 of what one class can reach.
    counters = profile(**dict.fromkeys(NSIGHT.instructions, 1e5), **{NSIGHT.issue: 45.0})
    counters[FP32] = 5.4e6
    assert analyse(counters).instructions[FP32] == pytest.approx(0.81)
    found = changes(counters)
    assert found[FP32] == pytest.approx(-(0.81 - 0.5) / 0.5)
    assert found[NSIGHT.issue] == pytest.approx(0.55 * 0.8)
    assert changes(counters, memory_bound=True)[FP32] == pytest.approx(-(0.81 - 0.7) / 0.3)


def test_idle_multiprocessors_and_missing_threads_ask_for_more():
    found = changes(profile(**{NSIGHT.sm_activity: 60.0, GLOBAL_SIZE: 4352.0}))
    assert found == pytest.approx({NSIGHT.sm_activity: 0.4, GLOBAL_SIZE: 0.8})


def test_the_older_vocabulary_measures_in_tenths():
    counters = dict.fromkeys(NVPROF.names, 0.0) | dict.fromkeys(NVPROF.instructions, 1e6)
    counters |= {GLOBAL_SIZE: 1e6, "sm_efficiency": 100.0, "issue_slot_utilization": 25.0}
    counters |= {"dram_utilization": 8.0, "dram_read_transactions": 1e6, "local_memory_overhead": 25.0}
    assert changes(counters) == pytest.approx({"dram_read_transactions": -0.8, "local_memory_overhead": -0.2})


def test_missing_counters_are_named():
    counters = profile()
    del counters[FP32], counters[GLOBAL_SIZE]
    with pytest.raises(MeasurementError, match=r"lacks 2 of the 23 .* Nsight Compute .* Global size, smsp__sass.*fp32"):
        analyse(counters)
    assert vocabulary_of(profile()) is NSIGHT and vocabulary_of(NVPROF.names) is NVPROF


@given(st.lists(st.floats(0, 100), min_size=len(NSIGHT.names), max_size=len(NSIGHT.names)), st.booleans())
def test_changes_are_shares(values, memory_bound):
    found = changes(dict(zip(sorted(NSIGHT.names), values, strict=True)), memory_bound)
    assert all(-1 <= change <= 1 and change != 0 for change in found.values())
    more = {NSIGHT.issue, NSIGHT.sm_activity, GLOBAL_SIZE}
    assert all((change > 0) == (name in more) for name, change in found.items())

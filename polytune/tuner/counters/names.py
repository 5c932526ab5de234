"""The names of the counters that matter: two vocabularies of NVIDIA's profilers, and polytune's own.

Up to Pascal (compute capability 6) the metrics of nvprof, from Volta and Turing on those of Nsight Compute.  For its
own kernels polytune counts itself (``polytune.runtime.tuning.counters``), and says of each kind of work how long a
thread is expected to need for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polytune.errors import MeasurementError
from polytune.records import dataclass

GLOBAL_SIZE = "Global size"
"""The number of threads of a launch, recorded with the counters by the Kernel Tuning Toolkit."""

EXPECTED = "expected__{}.ns"
"""The nanoseconds that the busiest thread is expected to need for one kind of work."""

_EXPECTED_START, _EXPECTED_END = EXPECTED.split("{}")


def expected_times(counters: Mapping[str, float] | Iterable[str]) -> list[str]:
    """The names of the counters that tell how long a kind of work is expected to take; none in other vocabularies."""
    return [name for name in counters if name.startswith(_EXPECTED_START) and name.endswith(_EXPECTED_END)]


@dataclass(frozen=True)
class MemoryLevel:
    """A part of the memory system: its utilisation and the traffic through it.

    Attributes:
        utilisation: the counter of it.
        reads, writes: the counters of the transactions.
    """

    utilisation: str
    reads: str
    writes: str


@dataclass(frozen=True)
class Vocabulary:
    """The names of one profiler's counters.

    Attributes:
        full: the value of a utilisation counter at full utilisation: 100 (percent) or 10 (a level).
        memory: DRAM, L2 cache and shared memory.
        texture: utilisation and transactions of the texture (L1) cache, which is only read through this path.
        local_overhead: the share in percent of the traffic that is private arrays and spilled registers; None where
            it has to be computed, as stores to local memory by writes to the L2 cache.
        local_traffic: the counters of transactions to local memory.
        sm_activity: the percentage of time in which the multiprocessors have work.
        instructions: executed instructions of each class, per thread.
        issue: the percentage of issue slots used.
        issue_share: the share of the issue slots that instructions of one class can take at most.
    """

    full: float
    memory: tuple[MemoryLevel, ...]
    texture: tuple[str, str]
    local_overhead: str | None
    local_traffic: tuple[str, ...]
    sm_activity: str
    instructions: tuple[str, ...]
    issue: str
    issue_share: float

    @property
    def names(self) -> frozenset[str]:
        """All counters that an analysis reads."""
        levels = [name for level in self.memory for name in (level.utilisation, level.reads, level.writes)]
        overhead = [self.local_overhead] if self.local_overhead else []
        singles = [*self.texture, *overhead, *self.local_traffic, self.sm_activity, *self.instructions, self.issue]
        return frozenset([*levels, *singles, GLOBAL_SIZE])


NVPROF = Vocabulary(
    full=10,
    memory=(
        MemoryLevel("dram_utilization", "dram_read_transactions", "dram_write_transactions"),
        MemoryLevel("l2_utilization", "l2_read_transactions", "l2_write_transactions"),
        MemoryLevel("shared_utilization", "shared_load_transactions", "shared_store_transactions"),
    ),
    texture=("tex_utilization", "tex_cache_transactions"),
    local_overhead="local_memory_overhead",
    local_traffic=("local_memory_overhead",),
    sm_activity="sm_efficiency",
    instructions=(
        "inst_fp_32",
        "inst_fp_64",
        "inst_integer",
        "inst_misc",
        "inst_compute_ld_st",
        "inst_control",
        "inst_bit_convert",
    ),
    issue="issue_slot_utilization",
    issue_share=1.0,
)

_SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"

NSIGHT = Vocabulary(
    full=100,
    memory=(
        MemoryLevel(
            "dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram__sectors_read.sum", "dram__sectors_write.sum"
        ),
        MemoryLevel(
            "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
            "lts__t_sectors_op_read.sum",
            "lts__t_sectors_op_write.sum",
        ),
        MemoryLevel(
            "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        ),
    ),
    texture=(
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.avg.pct_of_peak_sustained_active",
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    ),
    local_overhead=None,
    local_traffic=(
        "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
        "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    ),
    sm_activity="smsp__cycles_active.avg.pct_of_peak_sustained_elapsed",
    instructions=tuple(
        _SASS.format(kind) for kind in ("fp32", "fp64", "integer", "misc", "memory", "control", "conversion")
    ),
    issue="smsp__issue_active.avg.pct_of_peak_sustained_active",
    # A pipeline is half a warp wide: it takes an instruction every other cycle.
    issue_share=0.5,
)


def vocabulary_of(counters: Mapping[str, float] | Iterable[str]) -> Vocabulary:
    """The vocabulary that the counters are named in.

    Raises:
        MeasurementError: counters are missing, in whichever vocabulary is the nearest.
    """
    names = set(counters)
    nearest = min((NSIGHT, NVPROF), key=lambda vocabulary: len(vocabulary.names - names))
    missing = sorted(nearest.names - names)
    if missing:
        profiler = "Nsight Compute" if nearest is NSIGHT else "nvprof"
        raise MeasurementError(
            f"the profile lacks {len(missing)} of the {len(nearest.names)} counters that an analysis needs, as "
            f"{profiler} names them: {', '.join(missing)}; record these too"
        )
    return nearest

"""What a call has to do at least, and how fast the machine can do it."""

import numpy as np
import pytest

from benchmarks.cpu.limits import PRODUCT_SIZE, Rate, probes, rates
from benchmarks.cpu.roofline import parameter_values, roof_of, work_of
from benchmarks.timing import Sample
from polybench.datasets import Dataset
from polybench.registry import benchmark
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.counting.traffic import reads_old_values


def analysed(name, dataset=Dataset.MINI):
    found = benchmark(name)
    initial = found.initialise(**found.sizes(dataset))
    return found, found.kernel.stages(signature_of(found.argument_names, initial)), initial


@pytest.mark.parametrize(
    ("name", "elements"),
    [
        # C comes and goes, A and B come.
        ("gemm", 2 * 20 * 25 + 20 * 30 + 30 * 25),
        # y and tmp only go: what they held is overwritten.
        ("atax", 38 * 42 + 42 + 42 + 38),
        # tmp only goes, D comes and goes.
        ("2mm", 16 * 18 + 16 * 22 + 22 * 18 + 18 * 24 + 2 * 16 * 24),
        # Half of L is never looked at.
        ("trisolv", 40 * 41 // 2 + 40 + 40),
        # Both come and go: of B, too, the ends are read.
        ("jacobi-1d", 4 * 30),
    ],
)
def test_bytes_are_those_that_no_cache_saves(name, elements):
    found, stages, initial = analysed(name)
    work = work_of(found, stages, Dataset.MINI, initial)
    assert work.operations == found.operations(**found.sizes(Dataset.MINI))
    assert work.dtype == "float64"
    assert work.bytes == 8 * elements


def test_bytes_of_single_precision_and_of_arrays_within_the_kernel():
    found, stages, initial = analysed("deriche")
    work = work_of(found, stages, Dataset.MINI, initial)
    assert work.dtype == "float32"
    assert work.bytes == 4 * 2 * 64 * 64
    assert work.intensity == 4.0


def test_parameters_of_a_call():
    _, stages, initial = analysed("gemm")
    names = ("alpha", "beta", "C", "A", "B")
    assert parameter_values(stages.scop, dict(zip(names, initial, strict=True))) == {"ni": 20, "nj": 25, "nk": 30}


def test_old_values_of_an_array():
    _, stages, _ = analysed("2mm")
    assert not reads_old_values(stages.scop, "tmp")
    assert reads_old_values(stages.scop, "D")


def test_probes_do_what_they_are_counted_for():
    matrix = np.ones((299, 201))
    found = probes((1.5, matrix, np.ones(3)))
    assert {name: probe.amount for name, probe in found.items() if name != "triad"} == {
        "dgemm": 2.0 * PRODUCT_SIZE**3,
        "sgemm": 2.0 * PRODUCT_SIZE**3,
        "read": 8.0 * 299 * 201,
        "streams": 8.0 * 299 * 201,
    }
    for name in ("read", "streams"):
        assert found[name].call(1.5, matrix) == [299.0 * 201]
    product = found["dgemm"].call()
    assert product.shape == (PRODUCT_SIZE, PRODUCT_SIZE)
    assert product.dtype == np.float64
    found["triad"].call()


def test_arrays_that_are_too_small_to_be_read_in_parallel():
    assert not {"read", "streams"} & set(probes((np.ones(3),)))


def test_roof_of_small_arrays_is_the_triads():
    found, stages, initial = analysed("gemm")
    work = work_of(found, stages, Dataset.MINI, initial)
    limits = rates({"dgemm": Sample((2.0,)), "triad": Sample((4.0,))}, probes((np.ones(3),)))
    roof = roof_of(work, limits)
    assert roof.bandwidth == limits["triad"].median
    assert roof.flops == limits["dgemm"].median
    read = {"read": Rate(Sample((1.0,)), 7.0), "streams": Rate(Sample((1.0,)), 9.0)}
    roof = roof_of(work, {**limits, **read})
    assert (roof.plain_bandwidth, roof.bandwidth) == (7.0, 9.0)

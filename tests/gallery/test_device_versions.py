"""The kernels of the gallery on a device: the CUDA text on the stand-in for a GPU, bit for bit as in source order."""

from __future__ import annotations

import numpy as np
import pytest

from gallery.registry import benchmark, names
from polybench.benchmark import copy_arguments
from polybench.datasets import Dataset
from tests.device_versions.offered import cuda_stand_in, offered
from tests.device_versions.pairwise import pairwise_cover
from tests.device_versions.versions import TINY, Subject, assert_same_bits, choices, on_device

WITHOUT_A_DEVICE = {"reduction", "fourier", "laplacian"}
"""Strict, the sum of a vector has no independent iterations; subscripts that depend on data and arrays of bytes are for
processors alone."""


@pytest.mark.parametrize("name", names())
def test_cuda_text(name: str) -> None:
    stand_in = cuda_stand_in()
    if stand_in is None:
        pytest.skip("the stand-in for CUDA cannot be built here")
    found = benchmark(name)
    initial = found.initialise(**found.sizes(Dataset.MINI))
    subject = Subject.of(found.kernel.__wrapped__, initial)
    assert (subject is None) == (name in WITHOUT_A_DEVICE)
    if subject is None:
        return
    expected = list(copy_arguments(initial))
    with np.errstate(all="ignore"):
        subject.interpreter.run({"version": "source"}, expected, 0)
    versions = pairwise_cover(choices(subject.codes, TINY))
    chosen = versions[names().index(name) % len(versions)]
    with offered(("cuda",)) as (platform,):
        arguments = list(copy_arguments(initial))
        subject.run(subject.execution(), on_device(platform, chosen), arguments)
        assert_same_bits(arguments, expected, f"{name}, {chosen}")

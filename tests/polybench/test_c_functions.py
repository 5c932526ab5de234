"""The 30 kernels as C, at MINI: what polytune prints is the kernel, bit for bit."""

import numpy as np
import pytest

from polybench.benchmark import copy_arguments
from polybench.datasets import Dataset
from polybench.registry import benchmark, names
from polybench.verify import ulps
from polytune.runtime.calls.arguments import signature_of
from tests.codegen.c_programs import compiled


@pytest.mark.slow
def test_all_kernels_compute_in_c_what_they_compute_in_python(tmp_path):
    found = {name: benchmark(name) for name in names()}
    initial = {name: each.initialise(**each.sizes(Dataset.MINI)) for name, each in found.items()}
    scops = {
        name: each.kernel.strict.stages(signature_of(each.argument_names, initial[name])).scop
        for name, each in found.items()
    }
    calls = compiled(scops, {name: each.argument_names for name, each in found.items()}, tmp_path)
    assert len(calls) == 30
    wrong = {}
    for name, call in calls.items():
        expected, actual = copy_arguments(initial[name]), copy_arguments(initial[name])
        with np.errstate(all="ignore"):
            found[name].kernel.__wrapped__(*expected)
        call(*actual)
        error = max(ulps(wanted, got) for wanted, got in zip(expected, actual, strict=True))
        if not error <= found[name].strict_ulps:
            wrong[name] = error
    assert not wrong

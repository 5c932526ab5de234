"""What people are told of versions."""

import re

import pytest

from polytune.explanation import explain_versions
from tests.schedule.kernels import polybench_case


@pytest.mark.parametrize("name", ["gemm", "seidel-2d", "gramschmidt", "adi", "floyd-warshall", "nussinov", "atax"])
def test_every_version_is_explained_once(name: str) -> None:
    stages = polybench_case(name).stages
    explained = re.findall(r"^  (\w+):", explain_versions(stages), re.MULTILINE)
    assert sorted(explained) == sorted(program.name for program in stages.programs)

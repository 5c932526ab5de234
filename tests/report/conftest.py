"""What the tests of reports share: pages of kernels whose tuning is made up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import polytune
from tests.report import subjects


@pytest.fixture
def tuned_product() -> Iterator[polytune.Kernel[..., None]]:
    """A kernel that has been tuned, without a single call."""
    kernel = polytune.kernel(background=False)(subjects.product.__wrapped__)
    subjects.told(kernel.tuner(*subjects.matrices()), 120)
    yield kernel

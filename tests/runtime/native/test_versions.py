"""Every version of a kernel of each kind, translated and compiled by Numba: the same numbers come out."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.native import translation
from tests.golden.kernels import KINDS, OTHERS, Kernel

SIZE = 41


def arguments_of(kernel: Kernel) -> list:
    random = np.random.default_rng(3)
    values = []
    for text in kernel.types.values():
        if text == "int":
            values.append(3)
        else:
            # Diagonally dominant where there is a diagonal, so that factorisations stay finite.
            array = random.uniform(0.5, 1.0, (SIZE + 3,) * (text.count(":") - text.count("::")))
            values.append(array + 50 * np.eye(SIZE + 3) if array.ndim == 2 and len(kernel.types) == 1 else array)
    if kernel.name == "windows":
        values[0] = values[0][:SIZE].copy()
    return values


def results(generated: GeneratedKernel, kernel: Kernel) -> dict[str, list[np.ndarray]]:
    """What each version makes of the arguments, on two threads and with small tiles."""
    found = {}
    for version in generated.module.VERSIONS:
        sizes = dict.fromkeys(version.sizes, 7)
        configuration = generated.space.configuration(version=version.name, **sizes)
        values = arguments_of(kernel)
        generated.run(configuration, generated.prepare(tuple(values)))
        found[version.name] = [value for value in values if isinstance(value, np.ndarray)]
    return found


@pytest.mark.parametrize("kernel", [*KINDS, *OTHERS], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("mode", ["not strict", "strict", "fastmath"])
def test_both_compilers_agree(kernel: Kernel, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = polytune.kernel(strict=mode == "strict", fastmath=mode == "fastmath")(kernel.function)
    generated = function.generated(*arguments_of(kernel))
    own = results(generated, kernel)
    translated = [version for version in generated.module.VERSIONS if translation.is_at_hand(version.function)]
    assert translated == list(generated.module.VERSIONS), "some are left to Numba"
    monkeypatch.setenv("POLYTUNE_NATIVE", "0")
    numbas = results(generated.again(), kernel)
    for version, arrays in own.items():
        for first, second in zip(arrays, numbas[version], strict=True):
            np.testing.assert_allclose(first, second, rtol=_DIFFERENCE[mode], atol=0, err_msg=version)


_DIFFERENCE = {"strict": 0.0, "not strict": 1e-13, "fastmath": 1e-12}
"""The relative difference that rounding may make."""

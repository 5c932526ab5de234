"""The table of the gallery: its kernels, the papers that they are from, and their five sizes.

The categories are the papers: J. Oľha et al., "Exploiting historical data" (CCPE 2020) and J. Filipovič et al., "Using
hardware performance counters" (JPDC 2022); J. Tørring and A. Elster, "Analyzing search techniques" (IPDPSW 2022);
P. Bruel et al., "Autotuning under tight budget constraints" (CCGRID 2019).
"""

from __future__ import annotations

from polybench.datasets import SuiteEntry

_HISTORY, _SAMPLES, _DESIGN = "historical data", "sample sizes", "experiments"

_MATRIX = ("m", "n"), ((38, 42), (116, 124), (390, 410), (1900, 2100), (8192, 8192))
_IMAGE = ("h", "w"), ((20, 26), (120, 160), (480, 640), (2048, 2048), (4096, 4096))
_PRODUCT = ("ni", "nj", "nk"), ((20, 25, 30), (60, 70, 80), (200, 220, 240), (1024, 1024, 1024), (2048, 2048, 2048))

CATALOGUE: dict[str, SuiteEntry] = {
    "bicg": SuiteEntry(_HISTORY, "bicg", *_MATRIX),
    "convolution": SuiteEntry(_HISTORY, "convolution", *_IMAGE),
    "coulomb": SuiteEntry(_HISTORY, "coulomb", ("n", "atoms"), ((8, 10), (24, 32), (64, 64), (128, 256), (256, 256))),
    "fourier": SuiteEntry(_HISTORY, "fourier", ("n", "images"), ((8, 6), (24, 12), (48, 32), (96, 128), (128, 512))),
    "gemm": SuiteEntry(_HISTORY, "gemm", *_PRODUCT),
    "gemm-batched": SuiteEntry(
        _HISTORY, "gemm_batched", ("batch", "n"), ((6, 8), (60, 16), (1000, 16), (16384, 16), (65536, 16))
    ),
    "hotspot": SuiteEntry(
        _HISTORY, "hotspot", ("tsteps", "n"), ((6, 20), (20, 90), (60, 250), (200, 1000), (400, 4000))
    ),
    "transpose": SuiteEntry(_HISTORY, "transpose", *_MATRIX),
    "n-body": SuiteEntry(_HISTORY, "n_body", ("n",), ((20,), (150,), (1000,), (8000,), (16384,))),
    "reduction": SuiteEntry(
        _HISTORY, "reduction", ("n",), ((100,), (10_000,), (300_000,), (16_000_000,), (64_000_000,))
    ),
    "add": SuiteEntry(_SAMPLES, "add", *_IMAGE),
    "harris": SuiteEntry(_SAMPLES, "harris", *_IMAGE),
    "mandelbrot": SuiteEntry(
        _SAMPLES,
        "mandelbrot",
        ("h", "w", "limit"),
        ((12, 18, 30), (60, 80, 100), (240, 320, 256), (1024, 1024, 512), (4096, 4096, 1024)),
    ),
    "laplacian": SuiteEntry(_DESIGN, "laplacian", *_IMAGE),
}
"""The kernels by name, by the paper that they are from."""

"""The suite's table: its 30 kernels, their categories, and their five sizes.

Names and sizes are those of PolyBench/C 4.2.1.  Nothing is compiled or imported to read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Dataset(StrEnum):
    """The suite's five sizes of a problem."""

    MINI = "MINI"
    SMALL = "SMALL"
    MEDIUM = "MEDIUM"
    LARGE = "LARGE"
    EXTRALARGE = "EXTRALARGE"

    @property
    def is_small(self) -> bool:
        """Return whether a tile of a few points, and a run in plain Python, are still quick."""
        return self in (Dataset.MINI, Dataset.SMALL)


@dataclass(frozen=True)
class SuiteEntry:
    """A line of the table.

    Attributes:
        category: the suite's category.
        module: the module in ``polybench.kernels`` that holds the kernel.
        parameters: the names of its sizes.
        values: for each dataset, in the order of ``Dataset``, the value of each parameter.
    """

    category: str
    module: str
    parameters: tuple[str, ...]
    values: tuple[tuple[int, ...], ...]

    def sizes(self, dataset: Dataset) -> dict[str, int]:
        """The sizes of a dataset, by parameter."""
        values = self.values[list(Dataset).index(dataset)]
        return dict(zip(self.parameters, values, strict=True))


_DATA = ("m", "n"), ((28, 32), (80, 100), (240, 260), (1200, 1400), (2600, 3000))
_TWO_PRODUCTS = (
    ("ni", "nj", "nk", "nl"),
    (
        (16, 18, 22, 24),
        (40, 50, 70, 80),
        (180, 190, 210, 220),
        (800, 900, 1100, 1200),
        (1600, 1800, 2200, 2400),
    ),
)
_THREE_PRODUCTS = (
    ("ni", "nj", "nk", "nl", "nm"),
    (
        (16, 18, 20, 22, 24),
        (40, 50, 60, 70, 80),
        (180, 190, 200, 210, 220),
        (800, 900, 1000, 1100, 1200),
        (1600, 1800, 2000, 2200, 2400),
    ),
)
_MATRIX_VECTOR = ("m", "n"), ((38, 42), (116, 124), (390, 410), (1900, 2100), (1800, 2200))
_TENSOR = ("nq", "nr", "np"), ((8, 10, 12), (20, 25, 30), (40, 50, 60), (140, 150, 160), (220, 250, 270))
_SQUARE = ("n",), ((40,), (120,), (400,), (2000,), (4000,))
_PRODUCT = (
    ("ni", "nj", "nk"),
    ((20, 25, 30), (60, 70, 80), (200, 220, 240), (1000, 1100, 1200), (2000, 2300, 2600)),
)
_TWO_SQUARES = ("n",), ((30,), (90,), (250,), (1300,), (2800,))
_MATRIX = ("m", "n"), ((20, 30), (60, 80), (200, 240), (1000, 1200), (2000, 2600))
_IMAGE = ("w", "h"), ((64, 64), (192, 128), (720, 480), (4096, 2160), (7680, 4320))
_GRAPH = ("n",), ((60,), (180,), (500,), (2800,), (5600,))
_SEQUENCE = ("n",), ((60,), (180,), (500,), (2500,), (5500,))
_ALTERNATING = ("tsteps", "n"), ((20, 20), (40, 60), (100, 200), (500, 1000), (1000, 2000))
_FIELD = (
    ("tmax", "nx", "ny"),
    ((20, 20, 30), (40, 60, 80), (100, 200, 240), (500, 1000, 1200), (1000, 2000, 2600)),
)
_CUBE = ("tsteps", "n"), ((20, 10), (40, 20), (100, 40), (500, 120), (1000, 200))
_LINE = ("tsteps", "n"), ((20, 30), (40, 120), (100, 400), (500, 2000), (1000, 4000))
_PLANE = ("tsteps", "n"), ((20, 30), (40, 90), (100, 250), (500, 1300), (1000, 2800))
_SEIDEL = ("tsteps", "n"), ((20, 40), (40, 120), (100, 400), (500, 2000), (1000, 4000))

CATALOGUE: dict[str, SuiteEntry] = {
    "correlation": SuiteEntry("datamining", "correlation", *_DATA),
    "covariance": SuiteEntry("datamining", "covariance", *_DATA),
    "2mm": SuiteEntry("kernels", "mm2", *_TWO_PRODUCTS),
    "3mm": SuiteEntry("kernels", "mm3", *_THREE_PRODUCTS),
    "atax": SuiteEntry("kernels", "atax", *_MATRIX_VECTOR),
    "bicg": SuiteEntry("kernels", "bicg", *_MATRIX_VECTOR),
    "doitgen": SuiteEntry("kernels", "doitgen", *_TENSOR),
    "mvt": SuiteEntry("kernels", "mvt", *_SQUARE),
    "gemm": SuiteEntry("blas", "gemm", *_PRODUCT),
    "gemver": SuiteEntry("blas", "gemver", *_SQUARE),
    "gesummv": SuiteEntry("blas", "gesummv", *_TWO_SQUARES),
    "symm": SuiteEntry("blas", "symm", *_MATRIX),
    "syr2k": SuiteEntry("blas", "syr2k", *_MATRIX),
    "syrk": SuiteEntry("blas", "syrk", *_MATRIX),
    "trmm": SuiteEntry("blas", "trmm", *_MATRIX),
    "cholesky": SuiteEntry("solvers", "cholesky", *_SQUARE),
    "durbin": SuiteEntry("solvers", "durbin", *_SQUARE),
    "gramschmidt": SuiteEntry("solvers", "gramschmidt", *_MATRIX),
    "lu": SuiteEntry("solvers", "lu", *_SQUARE),
    "ludcmp": SuiteEntry("solvers", "ludcmp", *_SQUARE),
    "trisolv": SuiteEntry("solvers", "trisolv", *_SQUARE),
    "deriche": SuiteEntry("medley", "deriche", *_IMAGE),
    "floyd-warshall": SuiteEntry("medley", "floyd_warshall", *_GRAPH),
    "nussinov": SuiteEntry("medley", "nussinov", *_SEQUENCE),
    "adi": SuiteEntry("stencils", "adi", *_ALTERNATING),
    "fdtd-2d": SuiteEntry("stencils", "fdtd_2d", *_FIELD),
    "heat-3d": SuiteEntry("stencils", "heat_3d", *_CUBE),
    "jacobi-1d": SuiteEntry("stencils", "jacobi_1d", *_LINE),
    "jacobi-2d": SuiteEntry("stencils", "jacobi_2d", *_PLANE),
    "seidel-2d": SuiteEntry("stencils", "seidel_2d", *_SEIDEL),
}
"""The kernels by the suite's names, in the suite's order of categories."""

"""The vectorised initial data against the suite's formulas, evaluated element by element as C does."""

import numpy as np
import pytest

from polybench.registry import benchmark

FORMULAS = {
    ("gemm", "C"): lambda s, i, j: float((i * j + 1) % s["ni"]) / s["ni"],
    ("gemm", "A"): lambda s, i, j: float(i * (j + 1) % s["nk"]) / s["nk"],
    ("gemm", "B"): lambda s, i, j: float(i * (j + 2) % s["nj"]) / s["nj"],
    ("2mm", "A"): lambda s, i, j: float((i * j + 1) % s["ni"]) / s["ni"],
    ("2mm", "B"): lambda s, i, j: float(i * (j + 1) % s["nj"]) / s["nj"],
    ("2mm", "C"): lambda s, i, j: float((i * (j + 3) + 1) % s["nl"]) / s["nl"],
    ("2mm", "D"): lambda s, i, j: float(i * (j + 2) % s["nk"]) / s["nk"],
    ("3mm", "A"): lambda s, i, j: float((i * j + 1) % s["ni"]) / (5 * s["ni"]),
    ("3mm", "B"): lambda s, i, j: float((i * (j + 1) + 2) % s["nj"]) / (5 * s["nj"]),
    ("3mm", "C"): lambda s, i, j: float(i * (j + 3) % s["nl"]) / (5 * s["nl"]),
    ("3mm", "D"): lambda s, i, j: float((i * (j + 2) + 2) % s["nk"]) / (5 * s["nk"]),
    ("atax", "A"): lambda s, i, j: float((i + j) % s["n"]) / (5 * s["m"]),
    ("atax", "x"): lambda s, i: 1 + i / float(s["n"]),
    ("bicg", "A"): lambda s, i, j: float(i * (j + 1) % s["n"]) / s["n"],
    ("bicg", "p"): lambda s, i: float(i % s["m"]) / s["m"],
    ("bicg", "r"): lambda s, i: float(i % s["n"]) / s["n"],
    ("doitgen", "A"): lambda s, i, j, k: float((i * j + k) % s["np"]) / s["np"],
    ("doitgen", "C4"): lambda s, i, j: float(i * j % s["np"]) / s["np"],
    ("mvt", "x1"): lambda s, i: float(i % s["n"]) / s["n"],
    ("mvt", "x2"): lambda s, i: float((i + 1) % s["n"]) / s["n"],
    ("mvt", "y1"): lambda s, i: float((i + 3) % s["n"]) / s["n"],
    ("mvt", "y2"): lambda s, i: float((i + 4) % s["n"]) / s["n"],
    ("mvt", "A"): lambda s, i, j: float(i * j % s["n"]) / s["n"],
    ("gemver", "A"): lambda s, i, j: float(i * j % s["n"]) / s["n"],
    ("gemver", "u1"): lambda s, i: i,
    ("gemver", "u2"): lambda s, i: ((i + 1) / float(s["n"])) / 2.0,
    ("gemver", "v1"): lambda s, i: ((i + 1) / float(s["n"])) / 4.0,
    ("gemver", "v2"): lambda s, i: ((i + 1) / float(s["n"])) / 6.0,
    ("gemver", "y"): lambda s, i: ((i + 1) / float(s["n"])) / 8.0,
    ("gemver", "z"): lambda s, i: ((i + 1) / float(s["n"])) / 9.0,
    ("gemver", "x"): lambda s, i: 0,
    ("gemver", "w"): lambda s, i: 0,
    ("gesummv", "A"): lambda s, i, j: float((i * j + 1) % s["n"]) / s["n"],
    ("gesummv", "B"): lambda s, i, j: float((i * j + 2) % s["n"]) / s["n"],
    ("gesummv", "x"): lambda s, i: float(i % s["n"]) / s["n"],
    ("symm", "C"): lambda s, i, j: float((i + j) % 100) / s["m"],
    ("symm", "B"): lambda s, i, j: float((s["n"] + i - j) % 100) / s["m"],
    ("symm", "A"): lambda s, i, j: float((i + j) % 100) / s["m"] if j <= i else -999,
    ("syr2k", "A"): lambda s, i, j: float((i * j + 1) % s["n"]) / s["n"],
    ("syr2k", "B"): lambda s, i, j: float((i * j + 2) % s["m"]) / s["m"],
    ("syr2k", "C"): lambda s, i, j: float((i * j + 3) % s["n"]) / s["m"],
    ("syrk", "A"): lambda s, i, j: float((i * j + 1) % s["n"]) / s["n"],
    ("syrk", "C"): lambda s, i, j: float((i * j + 2) % s["m"]) / s["m"],
    ("trmm", "A"): lambda s, i, j: float((i + j) % s["m"]) / s["m"] if j < i else float(i == j),
    ("trmm", "B"): lambda s, i, j: float((s["n"] + (i - j)) % s["n"]) / s["n"],
    ("durbin", "r"): lambda s, i: s["n"] + 1 - i,
    ("gramschmidt", "A"): lambda s, i, j: (float((i * j) % s["m"]) / s["m"]) * 100 + 10,
    ("ludcmp", "b"): lambda s, i: (i + 1) / float(s["n"]) / 2.0 + 4,
    ("trisolv", "L"): lambda s, i, j: float(i + s["n"] - j + 1) * 2 / s["n"] if j <= i else 0,
    ("trisolv", "x"): lambda s, i: -999,
    ("trisolv", "b"): lambda s, i: i,
    ("correlation", "data"): lambda s, i, j: float(i * j) / s["m"] + i,
    ("covariance", "data"): lambda s, i, j: (float(i) * j) / s["m"],
    ("deriche", "image_in"): lambda s, i, j: np.float32((313 * i + 991 * j) % 65536) / np.float32(65535.0),
    ("floyd-warshall", "path"): lambda s, i, j: (
        999 if (i + j) % 13 == 0 or (i + j) % 7 == 0 or (i + j) % 11 == 0 else i * j % 7 + 1
    ),
    ("nussinov", "seq"): lambda s, i: (i + 1) % 4,
    ("nussinov", "table"): lambda s, i, j: 0,
    ("adi", "u"): lambda s, i, j: float(i + s["n"] - j) / s["n"],
    ("fdtd-2d", "ex"): lambda s, i, j: (float(i) * (j + 1)) / s["nx"],
    ("fdtd-2d", "ey"): lambda s, i, j: (float(i) * (j + 2)) / s["ny"],
    ("fdtd-2d", "hz"): lambda s, i, j: (float(i) * (j + 3)) / s["nx"],
    ("fdtd-2d", "fict"): lambda s, i: i,
    ("heat-3d", "A"): lambda s, i, j, k: float(i + j + (s["n"] - k)) * 10 / s["n"],
    ("heat-3d", "B"): lambda s, i, j, k: float(i + j + (s["n"] - k)) * 10 / s["n"],
    ("jacobi-1d", "A"): lambda s, i: (float(i) + 2) / s["n"],
    ("jacobi-1d", "B"): lambda s, i: (float(i) + 3) / s["n"],
    ("jacobi-2d", "A"): lambda s, i, j: (float(i) * (j + 2) + 2) / s["n"],
    ("jacobi-2d", "B"): lambda s, i, j: (float(i) * (j + 3) + 3) / s["n"],
    ("seidel-2d", "A"): lambda s, i, j: (float(i) * (j + 2) + 2) / s["n"],
}

SHAPES = {
    ("gemm", "C"): "ni nj",
    ("gemm", "A"): "ni nk",
    ("2mm", "tmp"): "ni nj",
    ("2mm", "C"): "nj nl",
    ("3mm", "F"): "nj nl",
    ("3mm", "C"): "nj nm",
    ("3mm", "D"): "nm nl",
    ("atax", "A"): "m n",
    ("atax", "tmp"): "m",
    ("bicg", "A"): "n m",
    ("bicg", "s"): "m",
    ("doitgen", "A"): "nr nq np",
    ("symm", "A"): "m m",
    ("symm", "C"): "m n",
    ("syr2k", "B"): "n m",
    ("syrk", "C"): "n n",
    ("trmm", "B"): "m n",
    ("gramschmidt", "A"): "m n",
    ("gramschmidt", "R"): "n n",
    ("gramschmidt", "Q"): "m n",
    ("correlation", "data"): "n m",
    ("correlation", "corr"): "m m",
    ("covariance", "cov"): "m m",
    ("deriche", "image_out"): "w h",
    ("fdtd-2d", "hz"): "nx ny",
    ("fdtd-2d", "fict"): "tmax",
}

# Unequal sizes, so that a swapped pair shows.
SIZES = {"ni": 5, "nj": 6, "nk": 7, "nl": 8, "nm": 9, "m": 5, "n": 7, "w": 5, "h": 6, "tsteps": 3}
SIZES |= {"nq": 5, "nr": 4, "np": 7, "tmax": 4, "nx": 5, "ny": 7}


def initial(name):
    found = benchmark(name)
    sizes = {key: SIZES[key] for key in found.sizes("MINI")}
    return sizes, dict(zip(found.argument_names, found.initialise(**sizes), strict=True))


@pytest.mark.parametrize(("name", "argument"), FORMULAS, ids="-".join)
def test_data_follow_the_formula(name, argument):
    sizes, arguments = initial(name)
    for index in np.ndindex(arguments[argument].shape):
        assert arguments[argument][index] == FORMULAS[name, argument](sizes, *index), index


@pytest.mark.parametrize(("name", "argument"), SHAPES, ids="-".join)
def test_arrays_have_the_suites_shape(name, argument):
    sizes, arguments = initial(name)
    assert arguments[argument].shape == tuple(sizes[key] for key in SHAPES[name, argument].split())


@pytest.mark.parametrize("name", ["gemm", "2mm", "gemver", "gesummv", "symm", "syr2k", "syrk"])
def test_factors(name):
    _, arguments = initial(name)
    assert (arguments["alpha"], arguments["beta"]) == (1.5, 1.2)


@pytest.mark.parametrize("name", ["cholesky", "lu", "ludcmp"])
def test_the_factorised_matrix(name):
    sizes, arguments = initial(name)
    n = sizes["n"]
    factor = [[-j / n + 1 if j < i else float(i == j) for j in range(n)] for i in range(n)]
    product = [[sum(factor[r][t] * factor[s][t] for t in range(n)) for s in range(n)] for r in range(n)]
    np.testing.assert_allclose(arguments["A"], product, rtol=1e-14)


@pytest.mark.parametrize("name", ["correlation", "covariance"])
def test_the_number_of_observations_is_a_float(name):
    sizes, arguments = initial(name)
    assert isinstance(arguments["float_n"], float)
    assert arguments["float_n"] == sizes["n"]

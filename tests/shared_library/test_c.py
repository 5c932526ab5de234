"""Libraries are called from C, and refuse there what the kernels refuse."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from polytune.errors import ArgumentError
from polytune.runtime.calls.arguments import check_overlap

# The first of them builds the library.
pytestmark = pytest.mark.slow

PROGRAM = r"""
#include "some_kernels.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define REQUIRE(condition) if (!(condition)) { printf("line %d: %s\n", __LINE__, some_kernels_message()); return 1; }

int main(void)
{
    double x[6][8], y[6][8];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 8; j++) x[i][j] = 8 * i + j, y[i][j] = -1.0;
    /* Of rows and columns in reverse order. */
    REQUIRE(some_kernels_smooth(&x[5][7], 6, 8, -64, -8, y[0], 6, 8, 64, 8, 0.25) == SOME_KERNELS_OK);
    REQUIRE(y[0][0] == -1.0 && fabs(y[1][1] - x[4][6]) < 1e-12 && fabs(y[4][6] - x[1][1]) < 1e-12);
    REQUIRE(some_kernels_smooth(x[0], 3, 8, 64, 8, y[0], 6, 8, 64, 8, 0.25) == SOME_KERNELS_ARGUMENT);
    REQUIRE(strstr(some_kernels_message(), "x[i + 1, j] goes past the end of axis 0, for shape (3, 8)") != NULL);
    REQUIRE(some_kernels_smooth(x[0], 6, 8, 64, 8, x[0], 6, 8, 64, 8, 0.25) == SOME_KERNELS_OVERLAP);
    REQUIRE(some_kernels_smooth(NULL, 6, 8, 64, 8, y[0], 6, 8, 64, 8, 0.25) == SOME_KERNELS_ARGUMENT);
    REQUIRE(some_kernels_smooth(x[0], 6, -8, 64, 8, y[0], 6, 8, 64, 8, 0.25) == SOME_KERNELS_ARGUMENT);

    float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, *c = NULL;
    int64_t extents[2] = {0, 0}, rows = 0;
    REQUIRE(some_kernels_product(a[0], 2, 3, a[0], 3, 2, &c, extents, &rows) == SOME_KERNELS_OK);
    REQUIRE(extents[0] == 2 && extents[1] == 2 && rows == 2 && c[0] == 22 && c[3] == 64);
    some_kernels_free(c);
    REQUIRE(some_kernels_product(a[0], 2, 3, a[0], 2, 3, &c, extents, &rows) == SOME_KERNELS_ARGUMENT);
    REQUIRE(some_kernels_product(a[0], 2, 3, a[0], 3, 2, NULL, extents, &rows) == SOME_KERNELS_ARGUMENT);

    double numbers[4] = {0, 1, 2, 3}, *e = NULL;
    int32_t index[4] = {0, 3, 3, 0};
    REQUIRE(some_kernels_gathered(numbers, 4, index, 4, 4, 2, &e, extents) == SOME_KERNELS_OK);
    REQUIRE(extents[0] == 2 && e[0] == 1.0 && fabs(e[1] - exp(-3.0)) < 1e-15);
    some_kernels_free(e);
    REQUIRE(some_kernels_gathered(numbers, 4, index, 4, 4, 9, &e, extents) == SOME_KERNELS_REQUIREMENT);
    REQUIRE(strcmp(some_kernels_message(), "there are 4 elements, not 9") == 0);
    index[1] = 4;
    REQUIRE(some_kernels_gathered(numbers, 4, index, 4, 4, 2, &e, extents) == SOME_KERNELS_SUBSCRIPT);
    REQUIRE(strstr(some_kernels_message(), "nothing was written") != NULL);

    int64_t steps[3] = {1, 2, 1}, place = -1;
    REQUIRE(some_kernels_followed(numbers, 4, steps, 3, &place) == SOME_KERNELS_LATE_SUBSCRIPT);
    REQUIRE(numbers[1] == 2.0 && place == -1);
    REQUIRE(some_kernels_followed(numbers, 4, steps, 2, &place) == SOME_KERNELS_OK && place == 3);

    REQUIRE(some_kernels_thirds((int64_t)1 << 40, numbers, 4) == SOME_KERNELS_ARGUMENT);
    REQUIRE(some_kernels_thirds((int64_t)1 << 62, numbers, 4) == SOME_KERNELS_ARGUMENT);
    REQUIRE(some_kernels_thirds(3, numbers, 4) == SOME_KERNELS_OK && numbers[2] == 3.0);

    double twice[4] = {0};
    REQUIRE(some_kernels_named(numbers, 4, 2.0, 3, twice, 4) == SOME_KERNELS_OK && twice[2] == 2 * numbers[2]);
    REQUIRE(some_kernels_named(numbers, 4, 2.0, 5, twice, 4) == SOME_KERNELS_ARGUMENT);

    double heat = 0;
    double _Complex doubled = 0;
    REQUIRE(some_kernels_total(numbers, 3, 1.0, true, &heat, &doubled) == SOME_KERNELS_OK);
    REQUIRE(heat == 18.0 && doubled == 2.0);
    REQUIRE(some_kernels_set_threads(1) == 1 && some_kernels_level() != NULL);
    REQUIRE(some_kernels_set_level("z80") != SOME_KERNELS_OK);
    puts("all right");
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None or sys.platform == "win32", reason="there is no gcc")
def test_a_program_in_c(built, tmp_path):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    places = [f"-I{built.folder}", f"-L{built.folder}", f"-Wl,-rpath,{built.folder}"]
    subprocess.run(
        ["gcc", *strict, str(source), *places, "-o", str(program), "-lsome_kernels", "-lm"], check=True, timeout=120
    )
    ran = subprocess.run([program], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "all right\n"), ran.stdout + ran.stderr


def test_nothing_but_the_functions_of_the_header_is_seen(built):
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(built.told.library)], capture_output=True, text=True, timeout=60
    )
    if listed.returncode != 0:
        pytest.skip("nm cannot read libraries here")
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert "some_kernels_smooth" in names
    assert all(name.startswith("some_kernels_") for name in names)


def test_overlap_is_decided_as_numpy_does(built):
    """Views of one piece of memory, at every offset and of all kinds of strides, some of them interleaved."""
    function = ctypes.CDLL(str(built.told.library)).some_kernels_smooth
    function.restype = ctypes.c_int
    rng = np.random.default_rng(7)
    memory = np.zeros(4096, np.uint8)
    kinds = set()
    for _ in range(600):
        views = [_random_view(rng, memory) for _ in range(2)]
        status = function(*_words(views[0]), *_words(views[1]), ctypes.c_double(0.5))
        try:
            check_overlap({"x": views[0], "y": views[1]}, ["y"])
            wanted = 0
        except ArgumentError:
            wanted = -4
        assert status == wanted, [(view.__array_interface__["data"][0], view.shape, view.strides) for view in views]
        kinds.add(wanted)
    assert kinds == {0, -4}


def _random_view(rng: np.random.Generator, memory: np.ndarray) -> np.ndarray:
    """An array of 4 by 4 float64 somewhere in the memory, which is not too small for the kernel."""
    strides = [int(rng.integers(-24, 25)) * 8 + int(rng.choice([0, 0, 0, 4])) for _ in range(2)]
    low = sum(min(0, 3 * stride) for stride in strides)
    high = sum(max(0, 3 * stride) for stride in strides) + 8
    start = int(rng.integers(-low, len(memory) - high))
    return np.ndarray((4, 4), np.float64, memory.data, start, tuple(strides))


def _words(view: np.ndarray) -> list[Any]:
    numbers = [*view.shape, *view.strides]
    return [ctypes.c_void_p(view.__array_interface__["data"][0]), *map(ctypes.c_int64, numbers)]

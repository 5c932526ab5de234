"""``polytune inspect``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from polytune.cli.commands.inspect import Stage, read_choices
from polytune.cli.signature import complete_signature, split_pairs
from polytune.errors import DeviceCompilationError
from polytune.runtime.devices import backends, nvrtc
from polytune.runtime.devices.backends import PRELUDES
from polytune.runtime.devices.cubin import kernel_needs
from polytune.signature import ArrayType, ScalarType

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("stage", Stage)
def test_every_stage_is_shown(run, kernels_file, stage):
    text = run("inspect", f"{kernels_file}:scale", "--show", stage.value)
    assert (text.code, text.err) == (0, "")
    assert text.out.strip()
    as_json = run("inspect", f"{kernels_file}:scale", "--show", stage.value, "--json")
    assert as_json.json == {"kernel": "scale", "show": stage.value, "text": text.out.removesuffix("\n")}


def test_every_backend_is_a_stage_that_has_choices():
    for kind in backends.KINDS:
        assert read_choices(Stage(kind), ["block=64", "shared=FALSE"]) == {"block": 64, "shared": False}
        with pytest.raises(typer.BadParameter, match="block is one of 32, 64"):
            read_choices(Stage(kind), ["block=33"])
    with pytest.raises(typer.BadParameter, match="not for loops"):
        read_choices(Stage.LOOPS, ["block=64"])


def test_loops_right_after_a_transform(run):
    gemm = f"{ROOT / 'polybench' / 'kernels' / 'gemm.py'}"
    ordered = run("inspect", gemm, "--show", "loops", "--after", "accumulated")
    assert (ordered.code, ordered.err) == (0, "")
    assert "recipe: tiled -> accumulated\n" in ordered.out and "load" not in ordered.out
    prefetched = run("inspect", gemm, "--show", "loops", "--after", "prefetched")
    assert prefetched.code == 0 and "prefetch " in prefetched.out
    recipes = re.findall(r"^ *recipe: (.*)$", prefetched.out, re.MULTILINE)
    assert recipes and all(recipe.endswith(" -> prefetched") for recipe in recipes)
    packed = run("inspect", gemm, "--show", "loops", "--after", "packed").out
    versions = re.findall(r"^version (\w+):$", packed, re.MULTILINE)
    assert set(versions) == {"tiled_packed", "distributed_packed"} and "load" in packed


def test_transform_that_no_version_has(run, kernels_file):
    ran = run("inspect", f"{kernels_file}:scale", "--show", "loops", "--after", "blocked")
    assert (ran.code, ran.out) == (1, "")
    assert "no version of scale has 'blocked'; they have source, tiled" in ran.err
    ran = run("inspect", f"{kernels_file}:scale", "--show", "loops", "--after", "sideways")
    assert (ran.code, ran.out) == (1, "")
    assert "there is no order or transform 'sideways'; there are source, tiled, coincident, " in ran.err
    for name in ("parallel", "tiled"):
        assert run("inspect", f"{kernels_file}:scale", "--show", "loops", "--after", name).code == 0, name


def test_cpu_stage_is_a_python_module_that_depends_on_the_signature(run, kernels_file):
    plain = run("inspect", f"{kernels_file}:scale", "--show", "cpu").out
    compile(plain, "generated", "exec")
    single = run("inspect", f"{kernels_file}:scale", "--show", "cpu", "--signature", "A: float32[:, ::1]").out
    assert "float32" in single
    assert "float32" not in plain


def test_refusal_points_at_the_line(run, tmp_path):
    file = tmp_path / "refused.py"
    file.write_text(
        "import polytune\n\n@polytune.kernel\ndef square(n, A):\n    for i in range(n):\n        A[i] = {n: 1.0}[n]\n"
    )
    ran = run("inspect", f"{file}:square")
    assert (ran.code, ran.out) == (1, "")
    assert f"{file}:6" in ran.err
    assert "^" in ran.err
    assert "Traceback" not in ran.err


def scale(alpha, A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= alpha


def test_given_types_complete_the_inferred_ones():
    signature = complete_signature(scale, "A: float32[:, :]")
    assert signature.arguments == (("alpha", ScalarType("float64")), ("A", ArrayType("float32", 2, "A")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("B: float64[:]", "there is no argument 'B'; there are alpha, A"),
        ("A", "'A' is not NAME: TYPE"),
        ("A: float128[:, :]", r"'float128\[:, :\]' is not a type"),
    ],
)
def test_bad_signature(text, message):
    with pytest.raises(typer.BadParameter, match=message):
        complete_signature(scale, text)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", []),
        ("n: int", ["n: int"]),
        ("A: float64[:, :, ::1], n: int ,", ["A: float64[:, :, ::1]", "n: int"]),
        ("A: float64[:], B: float32[:, ::1]", ["A: float64[:]", "B: float32[:, ::1]"]),
    ],
)
def test_pairs_are_split_outside_brackets(text, pairs):
    assert split_pairs(text) == pairs


TRIANGLE = """
import polytune

@polytune.kernel
def lower(C, A):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            C[i, j] = 2.0 * A[i, j]

@polytune.kernel
def chain(x):
    for i in range(1, x.shape[0]):
        x[i] = x[i - 1] * x[i]
"""


@pytest.fixture
def triangle_file(tmp_path):
    file = tmp_path / "triangle.py"
    file.write_text(TRIANGLE)
    return file


@pytest.mark.parametrize("dialect", ["cuda", "opencl"])
def test_device_code_is_the_whole_text_in_the_shape_chosen(run, kernels_file, dialect):
    choices = ("--set", "block=64", "--set", "height=4", "--set", "points_x=2")
    text = run("inspect", f"{kernels_file}:scale", "--show", dialect, *choices).out
    defined = dict(re.findall(r"^#define (\w+) (\d+)$", text, re.MULTILINE))
    assert (defined["BLOCK_X"], defined["BLOCK_Y"], defined["POINTS_X"]) == ("16", "4", "2")
    assert PRELUDES[dialect] in text
    assert len(re.findall(r"^PT_KERNEL\(.*\) region_0\(", text, re.MULTILINE)) == 1


def test_device_code_is_accepted_by_a_compiler(run, kernels_file):
    text = run("inspect", f"{kernels_file}:scale", "--show", "cuda", "--region", "0").out
    try:
        nvrtc.compiler()
    except DeviceCompilationError as problem:
        pytest.skip(str(problem))
    assert kernel_needs(nvrtc.compile(text, "sm_90"), "region_0").registers > 0


@pytest.mark.parametrize("name", ["gemm", "mm2", "jacobi_2d"])
@pytest.mark.parametrize("choices", [(), ("--set", "shared=False", "--set", "unroll_tile=true")])
def test_device_code_of_several_regions_is_one_text_that_a_compiler_accepts(run, name, choices):
    file = ROOT / "polybench" / "kernels" / f"{name}.py"
    text = run("inspect", file, "--show", "cuda", *choices).out
    kernels = re.findall(r"^PT_KERNEL\(.*?\) (region_\d+)\(", text, re.MULTILINE)
    assert len(set(kernels)) == len(kernels) > 1
    assert text.count(PRELUDES["cuda"].rstrip("\n")) == 1
    headings = re.findall(r"^/\* region (\d+), lines? [\d, ]+ \*/$", text, re.MULTILINE)
    assert [f"region_{number}" for number in headings] == kernels
    try:
        nvrtc.compiler()
    except DeviceCompilationError as problem:
        pytest.skip(str(problem))
    cubin = nvrtc.compile(text, "sm_90")
    for kernel in kernels:
        assert kernel_needs(cubin, kernel).registers > 0
    alone = run("inspect", file, "--show", "cuda", "--region", kernels[-1].removeprefix("region_"), *choices).out
    assert kernel_needs(nvrtc.compile(alone, "sm_90"), kernels[-1]) == kernel_needs(cubin, kernels[-1])


def test_device_code_of_several_regions_is_accepted_by_a_device(run):
    listing = backends.listed("opencl")
    usable = [found for found in listing.found if not found.reason]
    if not usable:
        pytest.skip(listing.obstacle)
    text = run("inspect", ROOT / "polybench" / "kernels" / "gemm.py", "--show", "opencl").out
    device = usable[0].open()
    for kernel in ("region_0", "region_1"):
        assert device.compile(text, kernel, contract=False) is not None


def test_flags_are_taken_as_they_are_printed(run, kernels_file):
    command = ("inspect", f"{kernels_file}:scale", "--show", "cuda")
    texts = [run(*command, "--set", f"unroll_tile={flag}").out for flag in ("True", "true", "TRUE")]
    assert len(set(texts)) == 1
    assert '#define UNROLLED_TILE _Pragma("unroll 4")' in texts[0]


def test_transfers_of_a_triangle_are_rows(run, triangle_file):
    text = run("inspect", f"{triangle_file}:lower", "--show", "transfers").out
    reads, writes = text.split("writes:")
    assert re.search(r"A\[.*l0.*:.*u0.*, .*l1.*:.*u1.*\]", reads)
    assert re.search(r"for a0 in .*:u0:\n +C\[a0, l1:min\(.*a0 \+ 1.*\)\]", writes)


def test_partition_is_a_set_node_with_a_child_for_each_part(run, triangle_file):
    text = run("inspect", f"{triangle_file}:lower", "--show", "partition").out
    assert "split at R0 and R1 into 4 partitions" in text
    assert text.count("- filter:") >= 4
    assert "i < R0 and j < R1" in text


@pytest.mark.parametrize("stage", ["cuda", "opencl", "transfers", "partition"])
def test_reason_for_the_processor_alone_names_the_loop_and_the_obstacle(run, triangle_file, stage):
    text = run("inspect", f"{triangle_file}:chain", "--show", stage).out
    assert text.startswith("chain runs on the CPU only: ")
    assert "the loop over i at " in text
    assert text.endswith("line 13 reads x that line 13 computes in an earlier iteration\n")


def test_space_has_what_devices_add_only_where_they_add_something(run, triangle_file):
    assert "platform: cpu, or one of the devices" in run("inspect", f"{triangle_file}:lower", "--show", "space").out
    assert "platform" not in run("inspect", f"{triangle_file}:chain", "--show", "space").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--show", "cpu", "--region", "0"), "--region is for partition, cuda, opencl, transfers, not for cpu"),
        (("--show", "transfers", "--set", "block=64"), "--set is for cuda and opencl, not for transfers"),
        (("--show", "cuda", "--set", "tile=64"), "there is no choice 'tile'; there are block, height"),
        (("--show", "cuda", "--set", "block=65"), "block is one of 32, 64, .* not '65'"),
    ],
)
def test_view_that_makes_no_sense(run, triangle_file, arguments, message):
    ran = run("inspect", f"{triangle_file}:lower", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert re.search(message, ran.err)


def test_region_that_is_not_there(run, triangle_file):
    ran = run("inspect", f"{triangle_file}:lower", "--show", "cuda", "--region", "7")
    assert (ran.code, ran.out) == (1, "")
    assert "there is no region 7; there are 1, from 0" in ran.err


def test_the_name_is_left_out_where_a_file_has_one_kernel(run, tmp_path):
    file = tmp_path / "one.py"
    file.write_text(
        "import polytune\n\n\n@polytune.kernel\ndef only(x):\n    for i in range(len(x)):\n        x[i] = 1.0\n"
    )
    ran = run("inspect", str(file), "--show", "scop", "--json")
    assert ran.code == 0 and ran.json["kernel"] == "only"

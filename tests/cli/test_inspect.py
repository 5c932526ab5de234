"""``polytune inspect``."""

from __future__ import annotations

import pytest
import typer

from polytune.cli.inspect import Stage, complete_signature, split_pairs
from polytune.signature import ArrayType, ScalarType


@pytest.mark.parametrize("stage", Stage)
def test_every_stage_is_shown(run, kernels_file, stage):
    text = run("inspect", f"{kernels_file}:scale", "--show", stage.value)
    assert (text.code, text.err) == (0, "")
    assert text.out.strip()
    as_json = run("inspect", f"{kernels_file}:scale", "--show", stage.value, "--json")
    assert as_json.json == {"kernel": "scale", "show": stage.value, "text": text.out.removesuffix("\n")}


def test_cpu_stage_is_a_python_module_that_depends_on_the_signature(run, kernels_file):
    plain = run("inspect", f"{kernels_file}:scale", "--show", "cpu").out
    compile(plain, "generated", "exec")
    single = run("inspect", f"{kernels_file}:scale", "--show", "cpu", "--signature", "A: float32[:, ::1]").out
    assert "float32" in single
    assert "float32" not in plain


def test_refusal_points_at_the_line(run, tmp_path):
    file = tmp_path / "refused.py"
    file.write_text(
        "import polytune\n\n@polytune.kernel\ndef square(n, A):\n    for i in range(n):\n        A[i * i] = 0.0\n"
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
        ("A: float16[:, :]", r"'float16\[:, :\]' is not a type"),
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

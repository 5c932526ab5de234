"""``polytune transfer``."""

from __future__ import annotations

import pytest


@pytest.fixture
def recordings(tmp_path):
    """A kernel of three parameters on two devices: ``c`` matters little, and ``a`` has another best value."""
    files = []
    for device, best in (("first", 3), ("second", 5)):
        file = tmp_path / f"blur__{device}.csv"
        rows = (
            f"{a},{b},{c},{1 + (a - best) ** 2 + abs(b - 2) + 0.01 * ((a + b + c) % 4)}"
            for a in range(8)
            for b in range(5)
            for c in range(4)
        )
        file.write_text("a,b,c,time\n" + "\n".join(rows) + "\n")
        files.append(file)
    return files


def test_json(run, recordings):
    ran = run("transfer", *recordings, "--cutoff", "0.1", "--search", "random", "annealing", "--repeat", "20", "--json")
    assert ran.code == 0, ran.err
    (kernel,) = ran.json["kernels"]
    assert kernel["kernel"] == "blur"
    assert kernel["portions"]["first"] == {"configurations": 160, "portion": 4 / 160, "steps": 91}
    assert kernel["mean_portion"] == 4 / 160 and kernel["portion_deviation"] == 0
    information = kernel["information"]["second"]
    assert information["a"] > information["b"] > information["c"]
    assert len(kernel["prunings"]) == 2 * 2 * 3
    row = next(
        r for r in kernel["prunings"] if (r["source"], r["target"], r["method"]) == ("first", "second", "conservative")
    )
    assert (row["fixed"], row["reduction"], row["performance"]) == ({"c": 3}, 4.0, pytest.approx(1 / 1.02))
    assert [(r["source"], r["target"], r["search"]) for r in kernel["convergence"]] == [
        (source, target, search)
        for source, target in (("first", "second"), ("second", "first"))
        for search in ("random", "annealing")
    ]


def test_tables(run, recordings):
    ran = run(
        "transfer", *recordings, "--cutoff", "0.1", "--method", "conservative", "--search", "random", "--repeat", "5"
    )
    assert ran.code == 0, ran.err
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["first", "160", "0.02500", "91"] in lines
    assert any(line[:4] == ["first", "second", "conservative", "4.0"] for line in lines)
    assert ["average", "0.02500", "±", "0.00000"] in lines


def test_figures(run, recordings, tmp_path):
    pytest.importorskip("matplotlib")
    ran = run("transfer", *recordings, "--plot", tmp_path / "figures", "--json")
    assert ran.code == 0, ran.err
    assert len(ran.json["figures"]) == 3 == len(list((tmp_path / "figures").iterdir()))


def test_one_recording_alone(run):
    ran = run("transfer", "example:gemm", "--json")
    assert ran.code == 0, ran.err
    (kernel,) = ran.json["kernels"]
    assert kernel["portion_deviation"] is None and len(kernel["prunings"]) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "brave"], "there is no 'brave'"),
        (["--threshold", "2"], "the threshold must be above 0 and at most 1, not 2.0"),
        (["--probability", "1"], "give one below 1"),
        (["--search", "gentic"], "did you mean 'genetic'"),
    ],
)
def test_what_makes_no_sense(run, recordings, options, message):
    ran = run("transfer", *recordings, *options)
    assert ran.code == 1 and message in ran.err


def test_names_are_checked_before_anything_is_read(run, tmp_path):
    """Spaces that are alone in their kernel meet no search, and said nothing of its name."""
    for option, said in (("--search", "nope"), ("--method", "nope"), ("--level", "nope")):
        ran = run("transfer", "example:gemm", "example:atax", option, said)
        assert ran.code == 1 and "'nope'" in ran.err and not ran.out
    ran = run("transfer", "example:gemm", "--cutoff", "2")
    assert ran.code == 1 and "the cutoff must be above 0 and at most 1" in ran.err

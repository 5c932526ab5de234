"""How times are related, and what counts as wrong."""

import pytest

from benchmarks.gpu.summary import conclusion, is_right, relations, table

ENTRY = {
    "device_seconds": 2.0,
    "ppcg_default_seconds": 12.0,
    "device_flops": 3e12,
    "device_bandwidth": 4e11,
    "library": {"seconds": 1.0},
    "host_to_device_seconds": 6.0,
    "processor_seconds": 9.0,
    "shared_seconds": 5.0,
}
LIMITS = {"copy": 8e11, "flops": {"float64": 4e12, "float32": 6e12}}


def test_relations():
    assert relations(ENTRY, LIMITS, "float64") == {
        "over_ppcg_default": 6.0,
        "of_library": 0.5,
        "of_measured_flops": 0.75,
        "of_measured_copy": 0.5,
        "shared_over_better_alone": pytest.approx(1.2),
    }


def test_what_was_not_measured_is_not_related():
    assert relations({"device_seconds": 2.0, "library": None}, {}, "float64") == {}


def checked(*, wrong=()):
    return {"mapped": True, "right": 3, "infeasible": 1, "wrong": list(wrong), "error": 0.0}


def test_conclusion_names_what_is_wrong():
    found = {
        "correctness": {"gemm": checked(wrong=[{"configuration": {"split": 1}, "error": 0.5}]), "mvt": checked()},
        "versions": {**checked(), "there_are": 288},
        "transfers": {"whole": {"exact": True}, "block": {"exact": False}},
        "limits": LIMITS,
        "not_reached": ["speed of syrk"],
    }
    assert not is_right(found)
    text = conclusion(found)
    assert "2 of 2 kernels have a device version; 6 configurations gave the right result" in text
    assert "gemm is WRONG in 1 configurations" in text
    assert "gemm: 3 of 288 versions right, 1 infeasible, 0 wrong" in text
    assert "NOT exact: block" in text
    assert "copy 800 GB/s, float64 4 TFLOP/s" in text
    assert "not reached in time: speed of syrk" in text


@pytest.mark.parametrize(
    ("place", "entry"),
    [
        ("correctness", {"gemm": checked(wrong=[{}])}),
        ("versions", checked(wrong=[{}])),
        ("transfers", {"rows": {"exact": False}}),
        ("failures", {"limits": "LaunchError: ..."}),
    ],
)
def test_any_defect_makes_the_run_fail(place, entry):
    good = {"correctness": {"gemm": checked()}, "transfers": {"rows": {"exact": True}}}
    assert is_right(good)
    assert not is_right({**good, place: entry})


def test_table_has_a_line_for_each_problem():
    assert table({"speed": {"gemm": ENTRY, "atax": {}}}).row_count == 2

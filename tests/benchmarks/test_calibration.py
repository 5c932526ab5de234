"""The program that holds the model of the first choice against measurements."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import calibration
from benchmarks.calibration import app, kernels_of, measure, recounted
from benchmarks.rates import Measurement, fitted, losses, text_of, validated
from polytune.runtime.tuning.rates import RATES
from polytune.runtime.tuning.work import Kind

PRIOR = np.array([RATES[kind] for kind in Kind])


def synthetic(rates: np.ndarray) -> list[Measurement]:
    """Kernels whose times are exactly what rates say."""
    rng = np.random.default_rng(0)
    found = []
    for kernel in range(12):
        for version in range(8):
            counts = 10 ** rng.uniform(2, 6, len(Kind)) * (rng.random(len(Kind)) < 0.4)
            seconds = float(counts @ rates) * 1e-9
            found.append(Measurement(f"k{kernel}", f"v{version}", (), True, seconds, tuple(counts)))
    return found


def test_rates_that_explain_the_times_are_found() -> None:
    rng = np.random.default_rng(1)
    rates = PRIOR * 10 ** rng.uniform(-0.7, 0.7, len(PRIOR))
    measurements = synthetic(rates)
    before, after = losses(measurements, PRIOR), losses(measurements, fitted(measurements, PRIOR))
    assert sum(after.values()) < sum(before.values())
    assert np.median(list(after.values())) < 1.02
    assert validated(measurements, PRIOR).keys() == after.keys()


def test_losses_are_those_of_the_first_choice() -> None:
    first, second = np.zeros(len(Kind)), np.zeros(len(Kind))
    first[Kind.CALLS], second[Kind.OPERATIONS] = 1000, 1000  # calls are expected to take longer
    found = [Measurement("k", "a", (), True, 1.0, tuple(first)), Measurement("k", "b", (), True, 3.0, tuple(second))]
    assert losses(found, PRIOR) == {"k": 3.0}


@pytest.mark.slow
def test_all_versions_of_a_kernel_are_measured() -> None:
    ((name, (function, arguments)),) = kernels_of(["damped"], polybench=False).items()
    found = list(measure(name, function, arguments()))
    assert {each.version for each in found} >= {"source", "parallel"}
    own = list(measure(name, function, arguments(), others=0))
    assert all(each.own for each in own) and {each.version for each in own} == {each.version for each in found}
    assert all(each.seconds > 0 and len(each.counts) == len(Kind) for each in found)
    stale = [replace(each, counts=(0.0,) * len(Kind)) for each in found]
    assert list(recounted(stale, function, arguments())) == found
    assert list(recounted([replace(found[0], version="gone")], function, arguments())) == []


def test_measurements_of_a_file_are_taken(tmp_path) -> None:
    file = tmp_path / "measured.json"
    entries = [{**vars(each), "sizes": [], "counts": list(each.counts)} for each in synthetic(PRIOR)]
    file.write_text(json.dumps({"measurements": entries}))
    ran = CliRunner().invoke(app, ["--measurements", str(file), "--fit", "--json"])
    assert ran.exit_code == 0, ran.output
    result = json.loads(ran.stdout)
    assert set(result["losses"].values()) == {1.0} and result["rates"].keys() == {kind.name for kind in Kind}
    assert "12 of 12" in CliRunner().invoke(app, ["--measurements", str(file)]).stdout
    assert CliRunner().invoke(app, ["no_such_kernel"]).exit_code == 2


def test_rates_that_choose_better_are_written(tmp_path, monkeypatch) -> None:
    """As the module that polytune takes them from; rates that choose as well as they can stay."""
    rates = PRIOR * 10 ** np.random.default_rng(1).uniform(-0.7, 0.7, len(PRIOR))
    file, module = tmp_path / "measured.json", tmp_path / "rates.py"
    monkeypatch.setattr(calibration, "RATES_FILE", module)
    for source, is_written in ((PRIOR, False), (rates, True)):
        entries = [{**vars(each), "sizes": [], "counts": list(each.counts)} for each in synthetic(source)]
        file.write_text(json.dumps({"measurements": entries}))
        ran = CliRunner().invoke(app, ["--measurements", str(file), "--install", "--json"])
        assert ran.exit_code == 0, ran.output
        assert module.exists() == is_written
    names: dict[str, Any] = {}
    exec(module.read_text(), names)
    found = np.array([names["RATES"][kind] for kind in Kind])
    assert found == pytest.approx([json.loads(ran.stdout)["rates"][kind.name] for kind in Kind], rel=0.01)
    assert module.read_text() == text_of({kind.name: rate for kind, rate in names["RATES"].items()})

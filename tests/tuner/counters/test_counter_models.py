"""Counters recorded and predicted."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from polytune.errors import MeasurementError
from polytune.tuner.counters.encoding import Encoding
from polytune.tuner.counters.files import is_model, load_model, save_model
from polytune.tuner.counters.models import LeastSquaresCounters, RecordedCounters, TreeCounters
from polytune.tuner.spaces.finite import FiniteSpace

CONFIGURATIONS = [
    {"block": block, "tile": tile, "padded": padded, "layout": layout}
    for block in (16, 32, 64, 128, 256)
    for tile in (1, 2, 4, 8)
    for padded in (0, 1)
    for layout in ("row", "column", "tiled")
]
SPACE = FiniteSpace.from_configurations(("block", "tile", "padded", "layout"), CONFIGURATIONS)


def counters(configuration):
    """Products of the parameters, other ones with padding."""
    loads = 1e6 * configuration["block"] ** 0.5 / configuration["tile"]
    return {"loads": loads * (1 + configuration["padded"]), "blocks": 1e7 / configuration["block"], "nothing": 0.0}


PROFILES = [counters(configuration) for configuration in CONFIGURATIONS]
EXACT = np.array([list(counters(SPACE.configuration(row)).values()) for row in range(len(SPACE))])


def half(model, **settings):
    """The relative errors on the configurations that a model trained on every other one has not seen."""
    seen = np.random.default_rng(1).permutation(len(CONFIGURATIONS))[: len(CONFIGURATIONS) // 2]
    trained = model([CONFIGURATIONS[i] for i in seen], [PROFILES[i] for i in seen], **settings)
    known = {tuple(CONFIGURATIONS[i].values()) for i in seen}
    rows = [row for row in range(len(SPACE)) if tuple(SPACE.configuration(row).values()) not in known]
    assert trained.names == ("loads", "blocks", "nothing")
    predicted = trained.predict(SPACE, np.array(rows))
    assert (predicted[:, 2] == 0).all()
    return np.abs(predicted[:, :2] / EXACT[rows, :2] - 1)


def test_recorded_counters_are_told_as_they_are():
    model = RecordedCounters(CONFIGURATIONS[1:], PROFILES[1:])
    values = model.predict(SPACE, np.arange(len(SPACE)))
    unknown = [row for row in range(len(SPACE)) if SPACE.configuration(row) == CONFIGURATIONS[0]]
    assert np.isnan(values[unknown]).all()
    known = np.delete(np.arange(len(SPACE)), unknown)
    assert (values[known] == EXACT[known]).all()


def test_least_squares_finds_products():
    assert half(LeastSquaresCounters).max() < 1e-5


def test_least_squares_use_the_nearest_combination_of_the_binary_parameters():
    """Padding has been recorded, but never with the layout in rows, which the polynomials are told as a number."""
    chosen = [c for c in CONFIGURATIONS if c["layout"] == "column" or (c["layout"], c["padded"]) == ("row", 0)]
    model = LeastSquaresCounters(chosen, [counters(c) for c in chosen])
    rows = [row for row in range(len(SPACE)) if SPACE.configuration(row)["layout"] == "row"]
    predicted = model.predict(SPACE, np.array(rows))
    for row, (loads, blocks, _) in zip(rows, predicted, strict=True):
        configuration = SPACE.configuration(row)
        # The nearest are the same row without padding and the same column with it; the first of these is taken.
        exact = [counters(configuration | {"padded": padded}) for padded in (0, 1)]
        assert blocks == pytest.approx(exact[0]["blocks"], rel=1e-4)
        assert min(abs(loads / e["loads"] - 1) for e in exact) < 1e-4


def test_least_squares_stay_within_what_was_recorded():
    near = [i for i, c in enumerate(CONFIGURATIONS) if c["block"] <= 32 and c["tile"] <= 2]
    model = LeastSquaresCounters([CONFIGURATIONS[i] for i in near], [PROFILES[i] for i in near])
    predicted = model.predict(SPACE, np.arange(len(SPACE)))
    for column, name in enumerate(model.names):
        recorded = [PROFILES[i][name] for i in near]
        assert predicted[:, column].min() >= min(recorded) * (1 - 1e-9)
        assert predicted[:, column].max() <= max(recorded) * (1 + 1e-9)


def test_trees_reproduce_and_interpolate():
    pytest.importorskip("sklearn")
    exact = TreeCounters(CONFIGURATIONS, PROFILES).predict(SPACE, np.arange(len(SPACE)))
    assert exact == pytest.approx(EXACT)
    assert np.median(half(TreeCounters)) < 0.3
    rows = np.arange(5)
    one, same = (TreeCounters(CONFIGURATIONS[:40], PROFILES[:40], seed=3).predict(SPACE, rows) for _ in range(2))
    assert (one == same).all()


@pytest.mark.parametrize("model", [RecordedCounters, LeastSquaresCounters])
def test_recordings_that_do_not_fit_together(model):
    with pytest.raises(MeasurementError, match="0 configurations and 0 profiles"):
        model([], [])
    with pytest.raises(MeasurementError, match="2 configurations and 1 profiles"):
        model(CONFIGURATIONS[:2], PROFILES[:1])
    with pytest.raises(MeasurementError, match="profile 1 has other counters than the first one: blocks"):
        model(CONFIGURATIONS[:2], [PROFILES[0], {"loads": 1.0, "nothing": 0.0}])


@pytest.mark.parametrize("model", [RecordedCounters, TreeCounters, LeastSquaresCounters])
def test_a_model_in_a_file_predicts_what_it_did(model, tmp_path, monkeypatch):
    if model is TreeCounters:
        pytest.importorskip("sklearn")
    trained = model(CONFIGURATIONS[::2], PROFILES[::2])
    save_model(tmp_path / "model.json", trained)
    monkeypatch.setitem(sys.modules, "sklearn", None)  # reading needs no library
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    loaded = load_model(tmp_path / "model.json")
    assert is_model(tmp_path / "model.json") and type(loaded) is model and loaded.names == trained.names
    rows = np.arange(len(SPACE))
    np.testing.assert_array_equal(loaded.predict(SPACE, rows), trained.predict(SPACE, rows))


def test_trees_predict_what_scikit_learn_does():
    ensemble = pytest.importorskip("sklearn.ensemble")
    seen = [c for c in CONFIGURATIONS if c["tile"] != 4]
    encoded = Encoding.of_configurations(seen)
    values = [list(counters(c).values()) for c in seen]
    theirs = ensemble.ExtraTreesRegressor(10, random_state=0, n_jobs=1).fit(encoded.of(seen), values)
    rows = np.arange(len(SPACE))
    ours = TreeCounters(seen, [counters(c) for c in seen]).predict(SPACE, rows)
    np.testing.assert_allclose(ours, theirs.predict(encoded.of_rows(SPACE, rows, {})))


def test_values_of_parameters_that_a_space_lacks_are_given():
    model = LeastSquaresCounters(CONFIGURATIONS, PROFILES)
    tiles = FiniteSpace.from_configurations(["tile"], [{"tile": tile} for tile in (1, 2, 4, 8)])
    told = model.predict(tiles, np.arange(4), {"block": 64, "padded": 1, "layout": "row"})
    wanted = [counters({"block": 64, "tile": tile, "padded": 1}) for tile in (1, 2, 4, 8)]
    np.testing.assert_allclose(told[:, 0], [each["loads"] for each in wanted], rtol=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is no JSON"),
        ("[1]", "there is no 'polytune_counter_model'"),
        ('{"polytune_counter_model":2,"kind":"trees","model":{}}', "update polytune"),
        ('{"polytune_counter_model":1,"kind":"trees","model":{"names":["a"]}}', "does not hold together"),
        (
            '{"polytune_counter_model":1,"kind":"trees","model":{"names":["a"],"encoding":{"parameters":["p"],'
            '"codes":[]},"profiles":[[1.0]],"trees":[{"feature":[0],"threshold":[0.0],"left":[0],"right":[0],'
            '"leaf_of_profile":[0]}]}}',
            "a tree does not hold together",
        ),
    ],
)
def test_files_that_are_no_models(text, message, tmp_path):
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(MeasurementError, match=message):
        load_model(tmp_path / "model.json")
    with pytest.raises(MeasurementError, match="cannot be read"):
        load_model(tmp_path / "missing.json")

"""What measurements on one device tell of another, on small spaces whose answers can be counted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polytune.errors import SearchError
from polytune.lab import RecordedSpace, load
from polytune.lab.historical import (
    Pruning,
    convergence,
    expected_steps,
    families,
    mutual_information,
    paired_slowdowns,
    portion,
    prune,
    pruned,
    rank_correlation,
    retention,
    steps_to_find,
)
from polytune.lab.place import Line
from polytune.lab.recording import Recorder
from tests.tuner.recordings import recording


def space(device, cost, name="kernel", parameters=("tile", "unroll", "padding", "order")):
    """256 configurations of four parameters; `order` is a name, the others are numbers; times are in seconds."""
    recorder = Recorder(name, device, parameters)
    for tile in (1, 2, 4, 8):
        for unroll in (1, 2, 4, 8):
            for padding in range(4):
                for order in ("rows", "columns", "tiles", "curve"):
                    values = dict(zip(parameters, (tile, unroll, padding, order), strict=True))
                    seconds = cost(tile, unroll, padding, order)
                    times = [seconds] if math.isfinite(seconds) else []
                    recorder.add(values, times, "ok" if times else "failed", place=Line(name, 1))
    return recorder.build(name)


def here(tile, unroll, padding, order):
    """Tiles and unrolling decide; padding is a little, in each of their combinations another one, and order nothing."""
    return 1.0 + abs(math.log2(tile) - 2) + 0.3 * abs(math.log2(unroll) - 1) + 0.01 * ((tile + unroll + padding) % 4)


def elsewhere(tile, unroll, padding, order):
    """Other tiles and another unrolling are best, and padding still is a little."""
    return 2.0 + abs(math.log2(tile) - 3) + 0.3 * abs(math.log2(unroll) - 2) + 0.01 * ((tile + unroll + padding) % 4)


HERE, ELSEWHERE = space("here", here), space("elsewhere", elsewhere)


def test_the_portion_is_counted():
    # 1.0 to 1.0 / 0.9 seconds: the best tile and unrolling with any padding and order.
    assert portion(HERE) == 16 / 256
    assert portion(HERE, 1.0) == 4 / 256
    failing = space("x", lambda t, u, p, o: math.inf if t == 1 else here(t, u, p, o))
    assert portion(failing) == 16 / 256  # what fails is part of the space


@pytest.mark.parametrize(
    ("share", "probability", "steps"), [(0.01, 0.9, 230), (0.05, 0.95, 59), (1.0, 0.99, 1), (0.5, 0.5, 1), (0.5, 0, 1)]
)
def test_steps_to_find(share, probability, steps):
    assert steps_to_find(share, probability) == steps


def test_steps_to_find_are_those_of_a_random_search():
    """Of many runs as many as the probability says have met one after the steps that it says."""
    rng, share = np.random.default_rng(0), 0.03
    for probability in (0.5, 0.9):
        steps = steps_to_find(share, probability)
        met = (rng.random((4000, steps)) < share).any(axis=1).mean()
        assert probability - 0.03 <= met <= probability + 0.05


def test_expected_steps_are_those_without_replacement():
    assert expected_steps(10, 10) == 1.0
    assert expected_steps(10, 1) == 5.5
    assert expected_steps(10, 0) == math.inf


def test_what_is_out_of_its_bounds_is_refused():
    for call in (
        lambda: portion(HERE, 0.0),
        lambda: steps_to_find(0.1, 1.0),
        lambda: steps_to_find(0.0),
        lambda: mutual_information(HERE, 1),
        lambda: prune(HERE, cutoff=2.0),
    ):
        with pytest.raises(SearchError):
            call()
    with pytest.raises(SearchError, match="there is no 'brave'"):
        prune(HERE, "brave")
    with pytest.raises(SearchError, match="there is no 'mean'"):
        prune(HERE, level="mean")


def test_mutual_information_of_what_decides_and_of_what_does_not():
    found = mutual_information(HERE)
    assert found["order"] == pytest.approx(0.0, abs=1e-9)
    assert found["tile"] > found["unroll"] > 5 * found["padding"] > 0
    alone = space("x", lambda t, u, p, o: float(t))  # four times, which one parameter tells: two bits
    assert mutual_information(alone)["tile"] == pytest.approx(2.0)
    assert mutual_information(alone)["unroll"] == pytest.approx(0.0, abs=1e-9)


def test_mutual_information_depends_on_the_order_of_times_alone():
    cubed = space("x", lambda t, u, p, o: here(t, u, p, o) ** 3)
    assert mutual_information(cubed) == pytest.approx(mutual_information(HERE))


def test_mutual_information_is_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    limits = np.quantile(HERE.seconds, np.linspace(0, 1, 11)[1:-1])
    classes = np.digitize(HERE.seconds, np.unique(limits))
    for column, name in enumerate(HERE.space.names):
        nats = metrics.mutual_info_score(HERE.space.rows[:, column], classes)
        assert mutual_information(HERE)[name] == pytest.approx(nats / math.log(2), abs=1e-9)


def test_failed_rows_say_nothing_about_the_time():
    failing = space("x", lambda t, u, p, o: math.inf if o == "curve" else here(t, u, p, o))
    assert mutual_information(failing)["order"] == pytest.approx(0.0, abs=1e-9)


def test_the_three_methods():
    assert set(prune(HERE, "naive", cutoff=0.1).fixed) == {"order", "padding"}
    assert prune(HERE, "naive", cutoff=0.1).fixed["padding"] == 2  # of the best
    assert prune(HERE, "naive", cutoff=0.1, level="median").fixed["padding"] == 1
    conservative = prune(HERE, "conservative", cutoff=0.1)
    assert list(conservative.fixed) == ["order", "padding"] and conservative.parameters == 4
    # The median of tiles is too far from the best; of unrolling it is the best.
    assert list(prune(HERE, "aggressive").fixed) == ["order", "padding", "unroll"]


def test_a_pruned_parameter_keeps_the_value_that_performs_well_most_often():
    """The fastest row has an order with which, of the other paddings, none performs well."""

    def cost(tile, unroll, padding, order):
        slower = 0.2 if (tile, unroll) == (4, 2) and padding else -0.005
        return here(tile, unroll, 0, "rows") + 0.03 * padding + slower * (order == "curve")

    recorded = space("x", cost)
    best, common = prune(recorded, cutoff=0.1, level="best"), prune(recorded, cutoff=0.1)
    assert next(iter(best.fixed.items())) == ("order", "curve")
    assert next(iter(common.fixed.items())) == ("order", "rows")  # as common as two others, and the first of them
    assert prune(recorded, cutoff=0.1, level="common") == common
    steps = [retention(recorded, Pruning("naive", {"order": order}, 4)).pruned_steps for order in ("rows", "curve")]
    assert steps[0] < steps[1]


def test_conservative_pruning_keeps_what_naive_pruning_loses():
    """Of what matters little on the whole one value is needed for the best."""

    def cost(tile, unroll, padding, order):
        return here(tile, unroll, padding, order) - 0.4 * (tile == 4 and unroll == 2 and padding == 2)

    recorded = space("x", cost)
    naive = prune(recorded, "naive", cutoff=0.1, level="median")
    conservative = prune(recorded, "conservative", cutoff=0.1, level="median")
    assert "padding" in naive.fixed and "padding" not in conservative.fixed
    assert retention(recorded, naive).performance < 0.9 <= retention(recorded, conservative).performance


def test_what_a_pruning_keeps_elsewhere():
    found = retention(ELSEWHERE, prune(HERE, cutoff=0.1))
    assert (found.reduction, found.pruned, found.parameters) == (16.0, 2, 4)
    assert found.performance == pytest.approx(2.0 / 2.02)
    good = int((ELSEWHERE.slowdowns <= 1 / 0.9).sum())
    assert found.recall == pytest.approx(1 / good)
    assert found.precision == 1 / 16
    assert found.full_steps == 257 / (good + 1) and found.pruned_steps == 17 / 2


def test_a_value_that_the_other_space_lacks_is_not_pruned():
    other = space("x", lambda t, u, p, o: elsewhere(t, u, p, o), parameters=("tile", "unroll", "shift", "order"))
    found = retention(other, prune(HERE, cutoff=0.1))
    assert found.reduction == 4.0


def test_a_pruned_space_is_a_recorded_space():
    smaller = pruned(ELSEWHERE, prune(HERE, cutoff=0.1))
    assert isinstance(smaller, RecordedSpace)
    assert (len(smaller), smaller.space.names) == (16, ("tile", "unroll"))
    for row in range(len(smaller)):
        values = smaller.space.configuration(row)
        assert smaller.cost(row) == elsewhere(values["tile"], values["unroll"], 2, "rows")
    assert smaller.measurements[0] == (smaller.cost(0),)


def test_searches_take_fewer_steps_in_the_pruned_space():
    found = convergence(HERE, prune(HERE, cutoff=0.1), "random", 300)
    assert found.full_mean == pytest.approx(257 / 17, rel=0.15)
    assert found.pruned_mean == pytest.approx(17 / 2, rel=0.15)
    assert found.gain == found.full_mean / found.pruned_mean
    assert convergence(HERE, prune(HERE, cutoff=0.1), "random", 10) == convergence(
        HERE, prune(HERE, cutoff=0.1), "random", 10
    )


def test_a_pruned_space_without_any_good_configuration():
    def far(tile, unroll, padding, order):
        return 1.0 if padding == 0 and order == "tiles" and tile == 8 else 5.0 + here(tile, unroll, padding, order)

    other = space("x", far)
    pruning = prune(HERE, cutoff=0.1)
    assert retention(other, pruning).performance < 0.9
    found = convergence(other, pruning, "annealing", 3)
    assert found.pruned == (math.inf,) * 3 and found.gain == 0.0
    assert all(math.isfinite(steps) for steps in found.full)


def test_recordings_are_sorted_by_kernel():
    alone = load("example:gemm")
    first, second = (space("", here, f"blur__{device}") for device in ("A100", "A4000"))
    found = families([first, alone, second])
    assert [(family.kernel, list(family.members)) for family in found] == [
        ("blur", ["A100", "A4000"]),
        (alone.name, [alone.device]),
    ]
    mixed = families([first, space("", elsewhere, "other name"), second])
    assert [(family.kernel, list(family.members)) for family in mixed] == [("blur", ["A100", "other name", "A4000"])]
    by_device = families([HERE, ELSEWHERE])
    assert [(family.kernel, list(family.members)) for family in by_device] == [("kernel", ["here", "elsewhere"])]
    with pytest.raises(SearchError, match="several recordings are called"):
        families([first, first])


def test_times_on_two_devices_are_paired_by_configuration():
    turned = Recorder("kernel", "turned", ("order", "tile", "unroll", "padding"))
    for row in reversed(range(len(HERE))):
        configuration = HERE.space.configuration(row)
        if configuration["tile"] == 8:
            turned.add(dict(configuration), [], "failed", place=Line("turned", row))
        else:
            turned.add(dict(configuration), [5 * HERE.cost(row)], "ok", place=Line("turned", row))
    pairs = paired_slowdowns(HERE, turned.build("turned"))
    assert len(pairs) == 192 and np.allclose(pairs[:, 0] / pairs[0, 0], pairs[:, 1] / pairs[0, 1])
    assert len(paired_slowdowns(HERE, load("example:gemm"))) == 0


def test_the_rank_correlation_knows_nothing_of_scales():
    pytest.importorskip("scipy")
    x = np.arange(1.0, 9.0)
    assert rank_correlation(np.column_stack([x, x**3])) == pytest.approx(1.0)
    assert rank_correlation(np.column_stack([x, 1 / x])) == pytest.approx(-1.0)
    # By hand: the squares of the differences of the ranks add up to 4, and 1 - 6 * 4 / (4 * 15) is 0.6.
    assert rank_correlation(np.array([[1, 20], [2, 10], [3, 40], [4, 30.0]])) == pytest.approx(0.6)
    assert math.isnan(rank_correlation(np.ones((5, 2)))) and math.isnan(rank_correlation(np.zeros((0, 2))))


def test_every_figure_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    from polytune.lab.historical.figures import draw_correlation, draw_family

    (family,) = families([HERE, ELSEWHERE])
    information = {name: mutual_information(each) for name, each in family.members.items()}
    runs = {("here", "elsewhere"): [convergence(ELSEWHERE, prune(HERE, cutoff=0.1), "random", 5)]}
    files = draw_family(family, information, runs, tmp_path / "figures")
    assert [file.name for file in files] == [
        "distribution-kernel.png",
        "information-kernel.png",
        "convergence-kernel-here-elsewhere.png",
    ]
    files.append(draw_correlation(family, tmp_path / "figures"))
    for file in files:
        pixels = imread(file)
        assert min(pixels.shape[:2]) > 400 and len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 3


GEMM = [f"kernel_tuner/gemm__RTX_{device}.csv.gz" for device in ("2080_Ti", "3090")]


def test_gemm_from_one_device_to_another():
    """The other device's best configuration stays, in a twentieth of the space, and random search needs a ninth."""
    source, target = map(recording, GEMM)
    found = retention(target, prune(source, "conservative"))
    assert found.performance >= 0.95 and found.reduction >= 5
    assert convergence(target, prune(source, "conservative"), "random", 200).gain >= 3
    back = retention(source, prune(target, "conservative"))
    assert back.performance >= 0.95 and back.reduction >= 5


def test_portions_differ_less_between_devices_than_between_kernels():
    kernels = ("gemm", "convolution", "pnpoly")
    shares = {
        kernel: [portion(recording(f"kernel_tuner/{kernel}__RTX_{device}.csv.gz")) for device in ("2080_Ti", "3090")]
        for kernel in kernels
    }
    assert all(max(each) / min(each) < 3 for each in shares.values())
    assert max(shares["pnpoly"]) / min(shares["gemm"]) > 10

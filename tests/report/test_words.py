"""What the page says of dependences, of loops that are shared out, and of the importance of parameters."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.pipeline import Stages, stages
from polytune.report.markup import Markup, element, named, table
from polytune.report.sections.dependences import dependences_in_words
from polytune.report.sections.landscape import importance_of
from polytune.report.sections.source import sharing_of
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.regions import RegionKind
from polytune.tuner import Integer, Is, Nominal, Ordinal, Space
from tests.schedule.kernels import polybench_case


def analysed(function, *arguments, strict: bool = False) -> Stages:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return stages(function, signature_of(names, arguments), strict)


def words(made: Stages) -> list[tuple[str, str, str, str]]:
    """The dependences with lines counted from that of the function."""
    first = made.function.__code__.co_firstlineno
    found = []
    for each in dependences_in_words(made.dependences):
        parts = [str(int(word) - first) if word.isdigit() else word for word in each.sentence.split()]
        found.append((each.array, " ".join(parts), each.distance, each.binds))
    return found


def smooth(A):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            A[i, j] = A[i - 1, j + 1] + A[i, j - 1] + A[i + 1, j]


def downwards(x):
    for i in range(len(x) - 3, -1, -1):
        x[i] += x[i + 2]


def triangle(A, x):
    for i in range(len(x)):
        for j in range(i):
            x[i] -= A[i, j] * x[j]


def through_a_variable(x, y):
    for i in range(len(x)):
        t = x[i] * 2.0
        y[i] = t + 1.0


def summed(x, total):
    for i in range(len(x)):
        total[0] += x[i]


def twice(x):
    x[0] = 1.0
    x[1] = x[0] + 1.0


def independent(x):
    for i in range(len(x)):
        x[i] = 2.0


def test_distances_of_a_stencil():
    found = words(analysed(smooth, np.ones((9, 9))))
    # From the element to the left, and from the row above, one to the right; then the row below is overwritten.
    assert found == [
        ("A", "line 3 reads what line 3 computed", "i to i+1, j-1 to j+1", "always"),
        ("A", "line 3 overwrites what line 3 used", "i+1", "always"),
    ]


def test_distances_of_a_loop_that_goes_down():
    found = words(analysed(downwards, np.ones(9)))
    assert found == [("x", "line 2 reads what line 2 computed", "i-2", "always")]


def test_distances_without_a_bound():
    found = words(analysed(triangle, np.ones((9, 9)), np.ones(9)))
    assert ("x", "line 3 updates what line 3 updated", "j+1", "unless sums are reassociated") in found
    assert ("x", "line 3 reads what line 3 computed", "i+1 or more, j+1", "always") in found and len(found) == 2


def test_scalars_bind_unless_threads_have_copies():
    found = words(analysed(through_a_variable, np.ones(9), np.ones(9)))
    assert ("t", "line 3 reads what line 2 computed", "the same iteration", "always") in found
    assert {binds for _, sentence, _, binds in found if "overwrites" in sentence} == {"unless each thread has a copy"}


@pytest.mark.parametrize("strict", [False, True])
def test_sums_in_any_order_and_in_that_of_the_source(strict):
    found = words(analysed(summed, np.ones(9), np.ones(1), strict=strict))
    binds = "always" if strict else "unless sums are reassociated"
    assert {(distance, bound) for _, _, distance, bound in found} == {("i+1", binds)}


def test_statements_without_loops_and_nothing_to_wait_for():
    assert words(analysed(twice, np.ones(3))) == [("x", "line 2 reads what line 1 computed", "once", "always")]
    assert words(analysed(independent, np.ones(3))) == []


def test_loops_that_versions_share_out():
    made = polybench_case("gemm").stages
    shared = {}
    for loop, kinds in sharing_of(made).items():
        shared.setdefault(loop.variable, []).append(set(kinds.get(RegionKind.PARALLEL, ())))
        assert set(kinds) <= {RegionKind.PARALLEL}
    every = {program.name for program in made.programs} - {"source", "library"}
    assert shared["i"] == [every] and shared["k"] == [set()]
    assert all("tiled" in names and "parallel" not in names for names in shared["j"])


def test_loops_that_are_shared_out_along_diagonals():
    sharing = sharing_of(polybench_case("seidel-2d").stages)
    kinds = {loop.variable: found for loop, found in sharing.items()}
    assert "tiled" in kinds["_t"][RegionKind.WAVEFRONT] and "tiled" in kinds["i"][RegionKind.WAVEFRONT]


SPACE = Space(
    [
        Nominal("version", ("a", "b")),
        Integer("tile", 1, 64, when=Is("version", "a")),
        Ordinal("threads", (1, 2, 4)),
    ]
)


def measured(cost) -> list:
    rng = np.random.default_rng(0)
    found = {configuration: cost(configuration) for configuration in (SPACE.sample(rng) for _ in range(80))}
    return sorted(found.items(), key=lambda pair: pair[1])


def test_importance_is_that_of_the_parameter_that_matters():
    (first, *others) = importance_of(SPACE, measured(lambda each: {1: 1.0, 2: 2.0, 4: 5.0}[each["threads"]]))
    assert first.parameter == "threads" and first.share > 0.9
    assert {each.parameter for each in others} == {"version", "tile"} and all(each.share < 0.1 for each in others)


def test_importance_of_a_parameter_within_its_version():
    def cost(configuration):
        return 10.0 if configuration["version"] == "b" else 1.0 + (configuration["tile"] > 32)

    found = {each.parameter: each for each in importance_of(SPACE, measured(cost))}
    assert found["version"].share > 0.6 and found["threads"].share < 0.02
    # Not the whole of what is left: numbers are cut at quantiles, of which none is 32.
    assert 0.01 < found["tile"].share < 0.35 and found["tile"].configurations < found["version"].configurations


def test_importance_of_noise_is_next_to_nothing():
    rng = np.random.default_rng(1)
    found = importance_of(SPACE, measured(lambda _: float(np.exp(rng.normal()))))
    assert len(found) == 3 and all(each.share < 0.15 for each in found)


def test_importance_is_not_told_of_too_little():
    assert importance_of(SPACE, measured(lambda _: 1.0)) == ()
    assert importance_of(SPACE, measured(lambda each: float(each["threads"]))[:7]) == ()


def test_only_markup_is_not_escaped():
    assert element("p", "<b>", Markup("<i>"), title='"&') == '<p title="&quot;&amp;">&lt;b&gt;<i></p>'
    assert element("input", disabled=True, checked=False, max=None, aria_label=1) == '<input disabled aria-label="1">'
    assert named("a_<b") == "<code>a_<wbr>&lt;b</code>"
    assert '<th scope="row">&lt;1</th><td class="number">2</td>' in table(("x", "y"), [("<1", 2)], numbers=(1,))

"""The page of a kernel."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import polytune
from polytune.errors import MissingLibraryError, PolytuneError
from polytune.report.facts import SourceLines, Subject, TunedCase, subjects_of
from polytune.report.page import all_sections
from polytune.report.roofs import roofs
from polytune.signature import Signature
from polytune.tuner import Budget, Integer, Nominal, OnlineTuner, Space
from tests.report.subjects import Page, product, smooth, told

NAMES = ["overview", "source", "dependences", "versions", "tuning", "landscape", "roofline", "code"]


def test_every_file_of_a_section_is_a_section():
    folder = Path(polytune.__file__).parent / "report" / "sections"
    assert {file.stem for file in folder.glob("*.py")} - {"__init__"} == {section.name for section in all_sections()}
    assert [section.name for section in all_sections()] == NAMES


def test_page_of_a_tuned_kernel_has_every_section(tuned_product, tmp_path):
    file = tuned_product.report(tmp_path / "product.html")
    assert file == tmp_path / "product.html"
    assert file.stat().st_size < 2_000_000
    page = Page(file.read_text(encoding="utf-8"))
    assert [each["id"] for each in page.all("section")] == NAMES
    links = [each["href"] for each in page.all("a")]
    assert links == [f"#{name}" for name in NAMES]
    (best, seconds), *_ = tuned_product.tuners[next(iter(tuned_product.tuners))].ranking()
    assert str(best["version"]) in page.text
    assert "k: not parallel" in page.text.replace(" : ", ": ") and "accumulates into C (+)" in page.text
    for words in ("faster by tuning", "operations for each byte", "Measured with it"):
        assert words in page.text
    assert seconds > 0
    assert "From the second cache" in page.text


def test_page_needs_nothing_else(tuned_product, tmp_path):
    text = tuned_product.report(tmp_path / "product.html").read_text(encoding="utf-8")
    page = Page(text)
    assert [each["href"] for each in page.all("link")] == ["data:,"]
    assert not page.all("img") and all("src" not in each for each in page.all("script"))
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?https?:""", text)
    assert "@import" not in text


def test_pictures_say_what_they_show_and_come_in_two_widths(tuned_product, tmp_path):
    page = Page(tuned_product.report(tmp_path / "product.html").read_text(encoding="utf-8"))
    pictures = page.all("svg")
    assert len(pictures) == 2 * len(page.all("figure")) == 6
    assert [each["class"] for each in pictures] == ["narrow", "wide"] * 3
    for each in pictures:
        assert each["role"] == "img" and len(each["aria-label"] or "") > 40
    names = [each["id"] for _, each in page.elements if "id" in each]
    assert len(names) == len(set(names))
    used = {(each.get("xlink:href") or "").removeprefix("#") for each in page.all("use")}
    assert used and used <= set(names)


def test_pictures_have_the_colours_of_the_style_sheet(tuned_product, tmp_path):
    text = tuned_product.report(tmp_path / "product.html").read_text(encoding="utf-8")
    style, _, body = text.partition("</style>")
    pictures = "".join(re.findall(r"<svg.*?</svg>", body, re.DOTALL))
    assert not re.findall(r"#0[0-9a-f]{5}\b", pictures)
    for name in set(re.findall(r"var\(--([\w-]+)\)", pictures)):
        assert style.count(f"--{name}:") == 2, name  # in light and in dark


def test_what_users_write_is_text(tmp_path):
    kernel = polytune.kernel(smooth.__wrapped__)
    page = Page(kernel.report(tmp_path / "smooth.html").read_text(encoding="utf-8"))
    assert len(page.all("script")) == 1 and not page.all("b")
    assert "<script>alert(1)</script>" in page.text
    assert "Average neighbours, and <b>add</b> up & scale." in page.text and page.text.count("More of it") == 1


def test_page_without_a_call_says_how_to_have_times(tmp_path):
    kernel = polytune.kernel(smooth.__wrapped__)
    page = Page(kernel.report(str(tmp_path / "smooth.html")).read_text(encoding="utf-8"))
    assert [each["id"] for each in page.all("section")] == ["overview", "source", "dependences", "versions", "code"]
    assert "nothing was measured" in page.text and "smooth.tune(...)" in page.text


def test_each_signature_has_its_part(tmp_path):
    kernel = polytune.kernel(background=False)(smooth.__wrapped__)
    for dtype in ("float32", "float64"):
        kernel.tuner(np.ones(50, dtype), np.ones(50, dtype))
    page = Page(kernel.report(tmp_path / "smooth.html").read_text(encoding="utf-8"))
    assert len(page.all("article")) == len(page.all("h1")) == 2
    names = [each["id"] for _, each in page.elements if "id" in each]
    assert len(names) == len(set(names)) and {"source", "types-1-source"} <= set(names)
    assert {(each["href"] or "")[1:] for each in page.all("a")} <= set(names)


def test_file_that_cannot_be_written(tmp_path):
    with pytest.raises(PolytuneError, match=r"there is no folder .*missing"):
        smooth.report(tmp_path / "missing" / "page.html")
    with pytest.raises(PolytuneError, match="cannot be written"):
        smooth.report(tmp_path)


def test_without_matplotlib_it_is_said_what_to_install(tuned_product, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingLibraryError, match=r"the report needs matplotlib.*pip install .*\[report\]"):
        tuned_product.report(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_settings_of_matplotlib_are_as_before_and_are_not_needed(tuned_product, tmp_path):
    import matplotlib

    with matplotlib.rc_context({"axes.facecolor": "red", "text.usetex": False, "svg.fonttype": "path"}):
        before = dict(matplotlib.rcParams)
        text = tuned_product.report(tmp_path / "page.html").read_text(encoding="utf-8")
        assert dict(matplotlib.rcParams) == before
    assert "#ff0000" not in text and "<text" in text


def test_roofs_are_measured_and_bound_what_is_below():
    found = roofs("float64")
    assert found.operations is not None and found.operations > 1e8 and found.bandwidth > 1e8
    assert found.at(1e-6) == pytest.approx(1e-6 * found.bandwidth) and found.at(1e9) == found.operations
    integers = roofs("int32")
    assert integers.operations is None and integers.at(1e9) == 1e9 * integers.bandwidth


def test_many_parameters_leave_out_those_that_were_the_same(tmp_path):
    space = Space([Nominal("version", ("a", "b")), Integer("tile", 1, 64), Nominal("platform", ("cpu",))])
    tuner = OnlineTuner(space, budget=Budget.unlimited())
    for _ in range(12):
        configuration = tuner.choose()
        tuner.report(configuration, 1e-3 * (1 + (configuration["version"] == "b")) + 1e-6 * configuration["tile"])
    case = TunedCase("n = 1", (1,), 1, space, tuner.best, tuner.statistics(), tuple(tuner.ranking()), (), ())
    subject = Subject("kernel", False, "", Signature(()), SourceLines("", 1, ()), None, (case,))
    made = next(section for section in all_sections() if section.name == "landscape").render(subject)
    assert made is not None and "platform was cpu wherever it matters." in made
    assert "an axis for each of version, tile;" in (Page(made).all("svg")[0]["aria-label"] or "")


def test_page_of_many_sizes_and_types_stays_small(tmp_path):
    kernel = polytune.kernel(background=False)(smooth.__wrapped__)
    for dtype, sizes in (("float64", range(100, 130)), ("float32", range(50, 55))):
        for size in sizes:
            x = np.ones(size, dtype)
            told(kernel.tuner(x, x.copy()), 400 if size in (100, 50, 101) else 3)
    text = kernel.report(tmp_path / "smooth.html").read_text(encoding="utf-8")
    page = Page(text)
    assert len(text) < 2_000_000
    assert "For 29 other sizes" in page.text and "For 4 other sizes" in page.text and "x_0 = 129" in page.text
    assert len(page.all("figure")) == 2 * 3


def test_traffic_that_is_expected_grows_with_the_arrays():
    kernel = polytune.kernel(background=False)(product.__wrapped__)
    for n in (100, 2000):
        told(kernel.tuner(np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))), 2)
    (subject,) = subjects_of(kernel)
    found = {case.parameters[0]: case.traffic for case in subject.cases}
    small, large = found[100], found[2000]
    assert small is not None and large is not None
    # How much comes from behind the second cache depends on the caches of the machine.
    assert large[0] > 10 * small[0] and all(mine >= other >= 0 for mine, other in zip(large, small, strict=True))

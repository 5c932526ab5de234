"""The page in a browser: what a person sees of it."""

from __future__ import annotations

import itertools

import pytest

import polytune
from polybench.datasets import Dataset
from polybench.registry import benchmark
from tests.report.browser import Browser, program
from tests.report.subjects import told

PATH = program()
pytestmark = [
    pytest.mark.skipif(PATH is None, reason="needs Chromium: apt-get install chromium-headless-shell"),
    pytest.mark.slow,  # each starts a browser
]


@pytest.fixture
def browser():
    assert PATH is not None
    with Browser(PATH) as running:
        yield running


@pytest.mark.parametrize("name", ["gemm", "jacobi-2d", "nussinov"])
def test_page_is_readable_at_every_width_in_light_and_in_dark(browser, tmp_path, monkeypatch, name):
    # Other tests measure these kernels, and not with times that are made up.
    monkeypatch.setenv("POLYTUNE_HISTORY", str(tmp_path / "history.sqlite"))
    found = benchmark(name)
    kernel = polytune.kernel(background=False)(found.kernel.__wrapped__)
    told(kernel.tuner(*found.initialise(**found.sizes(Dataset.SMALL))), 100)
    file = kernel.report(tmp_path / "page.html")
    for width, dark in itertools.product((400, 800, 1600), (False, True)):
        browser.open(file.as_uri(), width=width, dark=dark)
        assert browser.complaints() == []
        # Nothing makes the page wider than the window; a table that is too wide scrolls by itself.
        assert browser.evaluate("document.documentElement.scrollWidth") == width
        kinds = browser.evaluate(
            "[...document.querySelectorAll('svg')].filter(each => each.clientWidth).map(each => each.classList[0])"
        )
        assert kinds == ["narrow" if width == 400 else "wide"] * 3, browser.evaluate("document.body.innerText")
        heights = browser.evaluate(
            "[...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().height).filter(h => h > 0)"
        )
        assert heights and min(heights) >= 7
        assert browser.evaluate(CONTRAST) >= 4.5


CONTRAST = """(() => {
  const channels = (text) => text.match(/[\\d.]+/g).slice(0, 3).map((value) => value / 255)
    .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = (text) => { const [r, g, b] = channels(text); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const against = (element) => {
    const ink = light(getComputedStyle(element).color);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  };
  return Math.min(...[...document.querySelectorAll("p, a, th, td, code, strong, summary, figcaption")].map(against));
})()"""
"""The least contrast of any text with the page, as the Web Content Accessibility Guidelines reckon it."""


def test_fewer_lines_are_shown_on_demand(browser, tuned_product, tmp_path):
    browser.open(tuned_product.report(tmp_path / "product.html").as_uri())
    shown = "document.querySelectorAll('svg.wide [data-rank]:not(.hidden)').length"
    everything = browser.evaluate(shown)
    assert everything > 5
    browser.evaluate("const r = document.querySelector('input'); r.value = 3; r.dispatchEvent(new Event('input'))")
    assert browser.evaluate(shown) == 3
    assert browser.evaluate("document.querySelector('output').textContent") == "the fastest 3"
    assert browser.complaints() == []


def test_page_says_the_same_without_its_script(browser, tuned_product, tmp_path):
    file = tuned_product.report(tmp_path / "product.html")
    browser.open(file.as_uri())
    with_script = browser.evaluate("document.body.innerText")
    text = file.read_text(encoding="utf-8")
    start, end = text.index("<script>"), text.index("</script>")
    file.write_text(text[:start] + text[end + len("</script>") :], encoding="utf-8")
    browser.open(file.as_uri())
    without = browser.evaluate("document.body.innerText")
    assert len(without) > 1000 and without in with_script.replace("Show\nall\n", "").replace("Show\n\nall\n", "")

"""Pages that are served while a program runs."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

import numpy as np
import pytest

import polytune
from polytune.report.live import LiveReport
from tests.report.browser import Browser, program
from tests.report.subjects import Page, smooth, told


def answer(address: str, path: str = "", host: str | None = None) -> http.client.HTTPResponse:
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    connection.request("GET", place.path + path, headers={"Host": host} if host else {})
    return connection.getresponse()


@pytest.fixture
def fresh() -> polytune.Kernel[..., None]:
    return polytune.kernel(background=False)(smooth.__wrapped__)


def test_pages_of_kernels_are_served_with_the_token_alone(fresh):
    with LiveReport(lambda: {"smooth": fresh}) as report:
        assert urlsplit(report.address).hostname == "127.0.0.1"
        first = answer(report.address)
        assert first.status == 200 and '<a href="smooth/">' in first.read().decode()
        page = answer(report.address, "smooth/")
        assert page.status == 200 and page.headers["Cache-Control"] == "no-store"
        assert page.headers["Referrer-Policy"] == "no-referrer"
        text = page.read().decode()
        assert Page(text).all("body") == [{"data-live": None}]
        token = urlsplit(report.address).path.strip("/")
        assert len(token) >= 32 and token not in text
        address = report.address.replace(token, "x" * len(token))
        for path in ("", "smooth/", "smooth/revision"):
            assert answer(address, path).status == 404
        for path in ("other/", "smooth/other", "../smooth/", "smooth"):
            assert answer(report.address, path).status == 404
        # Another site that gives this address its own name gets nothing.
        for host in ("example.org", f"example.org:{urlsplit(report.address).port}"):
            assert answer(report.address, "smooth/", host).status == 404
    with pytest.raises(ConnectionError):
        answer(report.address)


def test_page_follows_the_tuning_but_not_too_often(fresh):
    now = 0.0
    with LiveReport(lambda: {"smooth": fresh}, clock=lambda: now) as report:
        before = answer(report.address, "smooth/").read()
        revision = answer(report.address, "smooth/revision").read()
        tuner = fresh.tuner(np.ones(90), np.ones(90))
        told(tuner, 30)
        # Too early: what was made is shown again, under its own revision.
        assert answer(report.address, "smooth/").read() == before
        assert answer(report.address, "smooth/revision").read() == revision
        now = 100.0
        assert answer(report.address, "smooth/revision").read() != revision
        after = answer(report.address, "smooth/").read().decode()
        assert "The time of each of" in after
        # Nothing new: nothing is made again.
        now = 200.0
        assert answer(report.address, "smooth/").read().decode() == after


def test_kernel_that_cannot_be_compiled_says_why(fresh):
    def wrong(x):
        for i in range(len(x)):
            x[i] = undefined_name(x)  # noqa: F821

    kernel = polytune.kernel(wrong)
    with LiveReport(lambda: {"wrong": kernel}) as report:
        assert "undefined_name" in answer(report.address, "wrong/").read().decode()


@pytest.mark.slow
@pytest.mark.skipif(program() is None, reason="needs Chromium: apt-get install chromium-headless-shell")
def test_browser_shows_what_is_new_and_says_when_it_ends(fresh):
    path, now = program(), 0.0
    assert path is not None
    state = "document.getElementById('state').textContent"
    with Browser(path) as browser:
        with LiveReport(lambda: {"smooth": fresh}, clock=lambda: now) as report:
            browser.open(f"{report.address}smooth/")
            browser.until(lambda: browser.evaluate(state) == "live")
            assert not browser.evaluate("document.getElementById('tuning')")
            browser.evaluate("document.querySelector('details').open = true")
            told(fresh.tuner(np.ones(90), np.ones(90)), 30)
            now = 100.0
            browser.until(lambda: browser.evaluate("!!document.getElementById('tuning')"))
            assert browser.complaints() == []
        browser.until(lambda: "has ended" in browser.evaluate(state))


def test_kernels_are_found_as_they_come(fresh):
    kernels: dict[str, polytune.Kernel[..., None]] = {}
    with LiveReport(lambda: kernels) as report:
        assert "no kernel so far" in answer(report.address).read().decode()
        before = answer(report.address, "revision").read()
        kernels["smooth"] = fresh
        assert answer(report.address, "revision").read() != before

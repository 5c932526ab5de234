"""The site as it is built, in a browser."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.report.browser import Browser, program

PATH = program()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PATH is None, reason="needs Chromium: apt-get install chromium-headless-shell"),
    pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="needs MkDocs: make docs installs it"),
]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def site(tmp_path) -> Iterator[tuple[str, Path]]:
    """The address of the site, built with its links checked, and its folder."""
    folder = tmp_path / "site"
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert built.returncode == 0, built.stderr
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", folder
        server.shutdown()


def test_pages_are_whole_and_readable(site):
    address, folder = site
    pages = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.html"))
    assert {"index.html", "tutorial.html", "notebooks/first_kernel.html", "api/polytune.html"} <= set(pages)
    assert all((folder / page).stat().st_size < 2_000_000 for page in pages)
    assert PATH is not None
    with Browser(PATH) as browser:
        for page in ("index.html", "tutorial.html", "notebooks/first_kernel.html", "api/polytune.html", "gallery.html"):
            for width, dark in ((400, True), (1600, False)):
                browser.open(address + page, width=width, dark=dark)
                assert browser.complaints() == [], page
                assert browser.evaluate("document.documentElement.scrollWidth") == width, page
                assert browser.evaluate("[...document.images].every((each) => each.alt)"), page
                foreign = "performance.getEntriesByType('resource').map((each) => each.name)"
                assert all(name.startswith((address, "data:")) for name in browser.evaluate(foreign)), page

"""Kernels and pages for the tests of reports."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np

import polytune
from polytune.tuner import Budget, Configuration, OnlineTuner

EMPTY = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}


@polytune.kernel(background=False)
def smooth(x, y):
    """Average neighbours, and <b>add</b> up & scale.

    More of it.
    """
    for i in range(1, len(x) - 1):
        y[i] = x[i - 1] + x[i] + x[i + 1]  # "<script>alert(1)</script>"
    for i in range(1, len(x)):
        y[i] = y[i] + y[i - 1]


@polytune.kernel(background=False)
def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def matrices(n: int = 24) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return np.zeros((n, n)), rng.random((n, n)), rng.random((n, n))


def told(tuner: OnlineTuner, calls: int, *, seed: int = 0) -> None:
    """Let a tuner choose so many calls, of which no code runs: each takes a time that is made up."""
    tuner.budget = Budget.unlimited()
    rng = np.random.default_rng(seed)
    for _ in range(calls):
        configuration = tuner.choose()
        tuner.report(configuration, made_up(configuration) * (1 + 0.05 * rng.random()), compile_seconds=0.0)


def made_up(configuration: Configuration) -> float:
    """Seconds that depend on the version, and a little on the sizes."""
    name = str(configuration["version"])
    sizes = [float(value) for key, value in configuration.items() if key.startswith("tile")]
    return 1e-3 * (2 + len(name) % 5) + 1e-6 * sum(abs(size - 64) for size in sizes)


class Page(HTMLParser):
    """A page as its elements: fails where they are not nested as they should be."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:], self.getpos())
        self.open.pop()

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(text for tag, text in self.texts if tag not in ("style", "script")).split())

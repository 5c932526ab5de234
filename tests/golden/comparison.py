"""What is generated now against the text that is kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

TEXTS = Path(__file__).with_name("texts")

Compare = Callable[[str, str], None]
"""Compares, or writes anew, the text of a name."""


def without_places(text: str) -> str:
    """The text without what differs between checkouts and releases: the folder of the source, the version."""
    text = re.sub(r"\S*/tests/golden/", "", text)
    return re.sub(r"compiled by polytune \S+", "compiled by polytune", text)


def compare(name: str, text: str, renew: bool) -> None:
    """Hold a text against the one that is kept under a name; with ``renew`` keep this one instead."""
    file = TEXTS / f"{name}.txt"
    text = without_places(text).rstrip("\n") + "\n"
    if renew:
        file.write_text(text, encoding="utf-8")
    assert file.exists(), f"there is no {file.name}: `pytest tests/golden --renew-golden` writes it"
    assert text.splitlines() == file.read_text(encoding="utf-8").splitlines()

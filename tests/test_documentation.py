"""What users can choose by name is on a page of the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polytune.lab.searchers import SEARCHES

ROOT = Path(__file__).parent.parent
PAGES = {path.name: path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]}
VARIABLES = {
    name
    for path in (ROOT / "polytune").glob("**/*.py")
    for name in re.findall(
        r"(?:environ\.get\(|getenv\(|environ\[)\s*\"(POLYTUNE_\w+)\"", path.read_text(encoding="utf-8")
    )
}


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_is_named(search):
    assert f"`{search}`" in PAGES["replay.md"]


def test_every_variable_of_the_environment_is_named():
    assert {"POLYTUNE_CACHE_DIR", "POLYTUNE_DEVICES", "POLYTUNE_NVRTC"} <= VARIABLES
    assert [name for name in VARIABLES if not any(name in text for text in PAGES.values())] == []


def test_the_readme_names_every_page():
    pages = {name for name in PAGES if name != "README.md"}
    assert pages == set(re.findall(r"\(docs/([\w-]+\.md)\)", PAGES["README.md"]))


def test_links_between_pages_lead_somewhere():
    for name, text in PAGES.items():
        folder = ROOT if name == "README.md" else ROOT / "docs"
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (folder / link).exists(), f"{name}: {link}"

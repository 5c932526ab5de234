"""What users can choose by name is on a page of the documentation."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from polytune.lab.searchers import SEARCHES
from polytune.tuner.searchers.method import settings_of
from polytune.version import DISTRIBUTION

ROOT = Path(__file__).parent.parent
IN_ROOT = ("README.md", "CONTRIBUTING.md")
PAGES = {
    path.name: path.read_text(encoding="utf-8")
    for path in [*(ROOT / name for name in IN_ROOT), *(ROOT / "docs").glob("*.md")]
}


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_has_a_row_with_its_settings(search):
    (row,) = [line for line in PAGES["searches.md"].splitlines() if line.startswith(f"| `{search}` |")]
    settings = [each for each in settings_of(SEARCHES.kind(search)) if each.types]
    assert [each.name for each in settings if f"`{each.name}`" not in row] == []
    assert set(re.findall(r"`(\w+)` [\d.]+", row)) <= {each.name for each in settings}
    for each in settings:
        if isinstance(each.default, int | float) and not isinstance(each.default, bool):
            assert f"`{each.name}` {each.default:g}" in row


def test_the_readme_names_every_page():
    pages = {name for name in PAGES if name not in IN_ROOT}
    assert pages == set(re.findall(r"\(docs/([\w-]+\.md)\)", PAGES["README.md"]))


def test_it_is_installed_by_its_name_on_package_indexes():
    """Also in messages: what is said to be installed is this project, not the other one that is called polytune."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["name"] == DISTRIBUTION
    texts = [*PAGES.values(), *(path.read_text(encoding="utf-8") for path in (ROOT / "polytune").glob("**/*.py"))]
    installed = [name for text in texts for name in re.findall(r"pip install[^`\n]*?\b(polytune[\w-]*)", text)]
    assert len(installed) >= 3
    assert set(installed) == {DISTRIBUTION}
    assert not [text for text in texts if re.search(r"\bpolytune\[\w+\]", text)]


def test_links_between_pages_lead_somewhere():
    for name, text in PAGES.items():
        folder = ROOT if name in IN_ROOT else ROOT / "docs"
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (folder / link).exists(), f"{name}: {link}"


TERMS = re.findall(r"^\| ([\w ]+) \| .+ \| `(polytune[\w.]+)` \|$", PAGES["glossary.md"], re.MULTILINE)


def test_words_of_the_glossary_are_defined_once():
    words = [word for word, _ in TERMS]
    assert len(words) == PAGES["glossary.md"].count("\n| ") - 1 >= 20
    assert len(set(words)) == len(words)


@pytest.mark.parametrize(("word", "place"), TERMS)
def test_what_a_word_of_the_glossary_names_exists(word, place):
    module, _, member = place.rpartition(".")
    found = getattr(importlib.import_module(module), member) if member[0].isupper() else importlib.import_module(place)
    assert found.__doc__, f"{word} has no docstring"


def test_files_that_the_recipes_name_exist():
    """Of those for contributors: what is written between backticks, and is a path, leads somewhere."""
    named = {
        path
        for path in re.findall(r"`([\w/.]+/[\w/.]*)`", PAGES["CONTRIBUTING.md"])
        if "NAME" not in path and not path.startswith((".venv", "build/"))
    }
    assert len(named) > 25
    missing = [path for path in named if not any((folder / path).exists() for folder in (ROOT, ROOT / "polytune"))]
    assert not missing

"""The pages of the site that are made when it is built, and its navigation."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.docs.blocks import ROOT

HOOKS = (ROOT / "docs" / "_site" / "hooks.py").read_text(encoding="utf-8")


def hooks() -> dict[str, object]:
    """What the hooks define, without MkDocs, which need not be installed."""
    defined: dict[str, object] = {"__file__": str(ROOT / "docs" / "_site" / "hooks.py")}
    text = re.sub(r"^from mkdocs.*\n", "", HOOKS, flags=re.MULTILINE)
    exec(compile(text, "hooks", "exec"), defined)
    return defined


HOOKED = hooks()
REFERENCE: dict[str, tuple[str, str, str]] = HOOKED["REFERENCE"]  # type: ignore[assignment]


@pytest.mark.parametrize("module", ["polytune", "polytune.tuner", "polytune.lab"])
def test_reference_has_every_public_name(module):
    """Each is documented where it is defined; the errors on a page of their own."""
    public_names = HOOKED["public_names"]
    pages = [public_names(name, ROOT / source) for name, source, _ in REFERENCE.values()]  # type: ignore[operator]
    listed = {name for names in pages for name in names}
    for name in importlib.import_module(module).__all__:
        found = getattr(importlib.import_module(module), name)
        if name != "__version__":
            assert any(place.rpartition(".")[2] == name and resolve(place) is found for place in listed), name


def resolve(place: str) -> object:
    module, _, name = place.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_reference_has_every_error():
    from polytune import errors

    names = HOOKED["public_names"]("polytune.errors", ROOT / "polytune" / "errors.py")  # type: ignore[operator]
    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and name[0] != "_"}
    own = {name for name in defined if vars(errors)[name].__module__ == "polytune.errors"}
    assert {name.rpartition(".")[2] for name in names} == own


def test_classes_of_results_exist():
    for place in HOOKED["RESULTS"]:  # type: ignore[attr-defined]
        assert isinstance(resolve(place), type) and resolve(place).__doc__


def test_pages_that_the_navigation_names_exist():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r"([\w/-]+\.md)$", text.partition("\nnav:\n")[2], re.MULTILINE)
    made = {*REFERENCE, *HOOKED["COPIED"], *HOOKED["NOTEBOOKS"], "api/results.md", "gallery.md"}  # type: ignore[misc]
    assert len(named) == len(set(named)) > 15 and made <= set(named)
    assert [name for name in named if name not in made and not (ROOT / "docs" / name).exists()] == []


def test_links_to_files_that_are_no_pages_become_text():
    class Page:
        class file:
            src_uri = "embedding.md"

    def resolved(text: str, source: str = "embedding.md") -> str:
        Page.file.src_uri = source
        return HOOKED["on_page_markdown"](text, Page, None, None)  # type: ignore[operator,no-any-return]

    assert resolved("[an example](../examples/embed) is") == "an example (`examples/embed`) is"
    assert resolved("see [that](../CONTRIBUTING.md)") == "see [that](contributing.md)"
    assert resolved("[a](tuning.md#b) [c](#d) [e](https://f)") == "[a](tuning.md#b) [c](#d) [e](https://f)"
    assert resolved("[g](docs/tuning.md), [h](LICENSE)", "index.md") == "[g](tuning.md), h (`LICENSE`)"
    assert resolved("```python\nx[i](docs/tuning.md)\n```", "index.md") == "```python\nx[i](docs/tuning.md)\n```"
    assert resolved("[k](why_not_parallel.ipynb), [l](../language.md#m)", "notebooks/first_kernel.md") == (
        "[k](why_not_parallel.md), [l](../language.md#m)"
    )
    assert resolved("[n](docs/notebooks/first_kernel.ipynb)", "index.md") == "[n](notebooks/first_kernel.md)"


def test_pages_of_notebooks_have_their_words_code_and_output():
    assert len(HOOKED["NOTEBOOKS"]) == 3  # type: ignore[arg-type]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {"cell_type": "code", "source": "print(1)", "outputs": [{"output_type": "stream", "text": ["1\n"]}]},
        {
            "cell_type": "code",
            "source": "f()",
            "outputs": [
                {"output_type": "error", "traceback": ["\x1b[31mError\x1b[39m", "why"]},
                {"output_type": "execute_result", "data": {"text/html": "<table></table>", "text/plain": "no"}},
                {"output_type": "execute_result", "data": {"text/html": "<pre>text</pre>", "text/plain": "text"}},
            ],
        },
    ]
    page = HOOKED["notebook_text"]({"cells": cells}, "it.ipynb")  # type: ignore[operator]
    assert page.split("\n\n") == [
        "# Title\nwords",
        '<a href="it.ipynb" download>This page as a notebook</a>',
        "```python\nprint(1)\n```",
        '```text title="Output"\n1\n```',
        "```python\nf()\n```",
        '```text title="Output"\nError\nwhy\n```',
        "<div><table></table></div>",
        '```text title="Output"\ntext\n```',
        "",
    ]

"""Hooks of MkDocs, for what mkdocs.yml cannot say: pages that are made of files elsewhere, and their links."""

from __future__ import annotations

import ast
import json
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]

COPIED = {"index.md": "README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
"""Pages that are files of the project's own folder."""

REFERENCE = {
    "api/polytune.md": (
        "polytune",
        "polytune/__init__.py",
        "What `import polytune` gives, beside the [errors](errors.md).",
    ),
    "api/errors.md": (
        "polytune.errors",
        "polytune/errors.py",
        "Every exception and warning that polytune raises on purpose; all exceptions are `PolytuneError`.",
    ),
    "api/tuner.md": (
        "polytune.tuner",
        "polytune/tuner/__init__.py",
        "The tuner alone, which tunes any callable and needs NumPy only.",
    ),
    "api/designs.md": ("polytune.tuner.designs", "polytune/tuner/designs.py", "Designed experiments by hand."),
    "api/lab.md": ("polytune.lab", "polytune/lab/__init__.py", "What is for those who study searches."),
}
"""Pages with all public names of a module: its name, its file, and what the page says first."""

RESULTS = (
    "polytune.runtime.tuning.tuning_runs.Tuned",
    "polytune.runtime.tuning.tunable.Case",
    "polytune.runtime.tuning.rules.Thresholds",
    "polytune.signature.Signature",
    "polytune.signature.ArrayType",
    "polytune.signature.ScalarType",
)
"""Classes that no public module exports, of which methods of kernels take or return objects."""

REPORTS = ROOT / "build" / "reports"
"""The reports that ``make report`` has written, if it has: they are part of the site."""

NOTEBOOKS = {
    file.relative_to(ROOT / "docs").with_suffix(".md").as_posix(): file
    for file in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
}
"""Pages that are made of notebooks, with what they have printed."""

_SHOWN = 'text title="Output"'
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def public_names(module: str, file: Path) -> list[str]:
    """The full names of what a module exports, by where each is defined: what is in ``__all__``, functions and classes
    for calls first; its public classes where it has none."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    places = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Name) and each.id == "__all__" for each in node.targets
        ):
            names = [name for name in ast.literal_eval(node.value) if not name.startswith("__")]
            found = [
                places.get(name, f"{module}.{name}")
                for name in sorted(names, key=lambda name: (not name.islower(), name))
            ]
            return [name for name in found if module == "polytune.errors" or not name.startswith("polytune.errors.")]
    return [f"{module}.{node.name}" for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made here."""
    for page, source in COPIED.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for page, (module, source, words) in REFERENCE.items():
        names = "\n\n".join(f"::: {name}" for name in public_names(module, ROOT / source))
        files.append(File.generated(config, page, content=f"# {module}\n\n{words}\n\n{names}\n"))
    classes = "\n\n".join(f"::: {name}" for name in RESULTS)
    words = "Objects of these classes are taken or returned by methods of kernels; nobody has to make one."
    files.append(File.generated(config, "api/results.md", content=f"# Results\n\n{words}\n\n{classes}\n"))
    for page, notebook in NOTEBOOKS.items():
        text = notebook_text(json.loads(notebook.read_text(encoding="utf-8")), notebook.name)
        files.append(File.generated(config, page, content=text))
    _add_reports(files, config)
    named = set(_named(config["nav"]))
    others = sorted(file.src_uri for file in files.documentation_pages() if file.src_uri not in named)
    if others:
        config["nav"].append({"More": others})
    return files


def notebook_text(notebook: Mapping[str, Any], name: str) -> str:
    """The page of a notebook that has been run: its words, its code, and what that has shown.

    Args:
        notebook: what its file holds.
        name: of the file, which lies beside the page.
    """
    parts: list[str] = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else _fenced("python", text))
        parts += filter(None, map(_shown, cell.get("outputs", ())))
    title, *others = parts
    link = f'<a href="{name}" download>This page as a notebook</a>'
    return "\n\n".join([title, link, *others, ""])


def _shown(output: Mapping[str, Any]) -> str:
    """What a cell has shown, as text or as a table; empty where that is nothing."""
    if output["output_type"] == "error":
        return _fenced(_SHOWN, _COLOURS.sub("", "\n".join(output["traceback"])))
    data = output.get("data", {})
    page = "".join(data.get("text/html", ""))
    if page and not page.startswith("<pre"):
        return f"<div>{page}</div>"
    text = "".join(output.get("text", "") or data.get("text/plain", "")).rstrip()
    return _fenced(_SHOWN, text) if text else ""


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def _add_reports(files: Files, config: Any) -> None:
    """Add the reports that there are, and a page that leads to them."""
    lines = []
    for report in sorted(REPORTS.glob("*.html")):
        files.append(File.generated(config, f"reports/{report.name}", content=report.read_bytes()))
        lines.append(f"- [{report.stem}](reports/{report.name})")
    listed = "\n".join(lines) or "There are none in this build: `make report` writes them."
    words = (
        "What [`kernel.report`](report.md) writes of kernels of PolyBench, tuned for some seconds on the machine that "
        "built this site."
    )
    files.append(File.generated(config, "gallery.md", content=f"# Gallery of reports\n\n{words}\n\n{listed}\n"))


def _named(nav: Any) -> list[str]:
    """The pages that a navigation names."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in _named(part)]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Have links lead to pages of the site; of those to other files of the project the text stays."""
    source = page.file.src_uri
    folder = ROOT if source in COPIED else ROOT / "docs" / Path(source).parent
    pages = {(ROOT / original).resolve(): copy for copy, original in COPIED.items()}
    pages |= {notebook: made for made, notebook in NOTEBOOKS.items()}

    def link_to(target: str) -> str:
        return posixpath.relpath(target, posixpath.dirname(source) or ".")

    def resolved(found: re.Match[str]) -> str:
        is_image, text, target = found.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return found[0]
        path, hash_mark, anchor = target.partition("#")
        file = (folder / path).resolve()
        if not file.exists():
            return found[0]  # MkDocs says what is wrong with it
        if file in pages:
            return f"{is_image}[{text}]({link_to(pages[file])}{hash_mark}{anchor})"
        if file.is_relative_to(ROOT / "docs") and file.is_file():
            return f"{is_image}[{text}]({link_to(file.relative_to(ROOT / 'docs').as_posix())}{hash_mark}{anchor})"
        return (
            text
            if text.startswith("`") or not file.is_relative_to(ROOT)
            else f"{text} (`{file.relative_to(ROOT).as_posix()}`)"
        )

    blocks = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(resolved, part) for part in blocks)

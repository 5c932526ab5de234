"""The page: its sections in order, in one file that needs no other."""

from __future__ import annotations

import base64
import hashlib
import importlib
import os
import pkgutil
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib import resources
from pathlib import Path

from polytune.errors import PolytuneError
from polytune.files import replace_text
from polytune.report import sections
from polytune.report.facts import Reported, Subject, subjects_of
from polytune.report.markup import Markup, element, joined
from polytune.report.section import Section
from polytune.runtime.machine import machine
from polytune.version import __version__

__all__ = ["all_sections", "document", "report_page", "write_report"]


def write_report(kernel: Reported, path: str | os.PathLike[str]) -> Path:
    """Write the page of a kernel to a file.

    Args:
        kernel: the kernel.
        path: the file; one that is there is replaced.

    Returns:
        The file.

    Raises:
        MissingLibraryError: Matplotlib is not installed.
        PolytuneError: the file cannot be written, or the kernel cannot be compiled.
    """
    file = Path(path)
    if not file.parent.is_dir():
        raise PolytuneError(f"{file} cannot be written: there is no folder {file.parent}")
    text = report_page(kernel.__name__, subjects_of(kernel))
    try:
        replace_text(file, text)
    except OSError as error:
        raise PolytuneError(f"{file} cannot be written: {error.strerror}") from error
    return file


@cache
def all_sections() -> tuple[Section, ...]:
    """The sections that there are, in the order of the page."""
    names = [f"{sections.__name__}.{file.name}" for file in pkgutil.iter_modules(sections.__path__)]
    found: list[Section] = [importlib.import_module(name).SECTION for name in names]
    return tuple(sorted(found, key=lambda section: section.position))


def report_page(name: str, subjects: Sequence[Subject], *, live: bool = False) -> str:
    """The page as HTML.

    Args:
        name: the kernel's.
        subjects: what it is about.
        live: whether it is to be kept up to date by a server, see ``polytune.report.live``.

    Raises:
        MissingLibraryError: Matplotlib is not installed.
    """
    parts = [_part(subject, f"types-{number}-" if number else "") for number, subject in enumerate(subjects)]
    return document(name, joined(parts), live=live)


def document(name: str, content: Markup, *, live: bool = False) -> str:
    """A whole document.

    Args:
        name: what it is about.
        content: what it shows.
        live: whether it is to be kept up to date by a server.
    """
    script, style = _text_of("page.js"), _text_of("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'"
    )
    now = datetime.now().astimezone()
    foot = element(
        "footer",
        f"polytune {__version__}, on {machine()}, ",
        element("time", f"{now:%Y-%m-%d %H:%M %Z}", datetime=now.isoformat(timespec="seconds")),
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"polytune {__version__}"),
        element("link", rel="icon", href="data:,"),
        element("title", f"{name}: polytune"),
        Markup(f"<style>{style}</style>"),
    )
    body = element(
        "body",
        element("main", content, foot, id="page"),
        element("p", "", id="state", role="status"),
        Markup(f"<script>{script}</script>"),
        data_live=live,
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _part(subject: Subject, prefix: str) -> Markup:
    """All sections about one subject; ``prefix`` keeps the names in it apart from those of others."""
    shown = [(section, made) for section in all_sections() if (made := section.render(subject)) is not None]
    heading = element(
        "header",
        element("h1", element("code", subject.name), _mode(subject)),
        element("p", subject.description) if subject.description else "",
        element("p", element("code", f"{subject.name}({subject.signature})"), class_="signature"),
        element(
            "nav",
            *(element("a", section.title, href=f"#{prefix}{section.name}") for section, _ in shown),
            aria_label="Sections",
        ),
    )
    contents = (
        element("section", element("h2", section.title), content, id=f"{prefix}{section.name}")
        for section, content in shown
    )
    return element("article", heading, *contents)


def _mode(subject: Subject) -> str:
    """The option that says how the kernel computes, behind its name."""
    if subject.is_strict:
        return " (strict)"
    return " (fastmath)" if subject.stages.fastmath else ""


@cache
def _text_of(file: str) -> str:
    return resources.files("polytune.report").joinpath(file).read_text(encoding="utf-8").strip()

"""A section of the page."""

from __future__ import annotations

from collections.abc import Callable

from polytune.records import dataclass
from polytune.report.facts import Subject
from polytune.report.markup import Markup

__all__ = ["Section"]


@dataclass(frozen=True)
class Section:
    """A section of the page; a file in ``sections`` declares one as ``SECTION``.

    Attributes:
        name: one word, by which links find it.
        title: its heading.
        position: sections come in the order of their positions.
        render: makes what stands under the heading; None where there is nothing to say, and the section is left out.
    """

    name: str
    title: str
    position: int
    render: Callable[[Subject], Markup | None]

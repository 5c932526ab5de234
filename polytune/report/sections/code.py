"""The code that was made of the kernel, folded."""

from __future__ import annotations

from polytune.frontend.generated_names import without_marks
from polytune.report.facts import Subject
from polytune.report.markup import Markup, element, folded, joined
from polytune.report.section import Section

_MOST = 750_000  # characters of all texts of a page

_STAGES = (
    ("schedule", "Schedules, as trees"),
    ("loops", "Loops of every version"),
    ("cpu", "The generated module"),
)


def _render(subject: Subject) -> Markup | None:
    words = element(
        "p",
        "What ",
        element("code", "polytune inspect --show"),
        " prints of these stages. The generated module is what runs.",
        class_="muted",
    )
    return joined([words, *(_stage(subject, name, title) for name, title in _STAGES)])


def _stage(subject: Subject, name: str, title: str) -> Markup:
    text = without_marks(subject.stages.show(name))
    shown, most = text, _MOST // len(_STAGES) // subject.parts
    if len(text) > most:
        shown = text[: text.rfind("\n", 0, most)]
        kept, whole = shown.count("\n") + 1, text.count("\n") + 1
        title += f", the first {kept} of {whole} lines; polytune inspect --show {name} prints all"
    return folded(f"{title} ({shown.count(chr(10)) + 1} lines)", element("pre", element("code", shown), tabindex=0))


SECTION = Section("code", "Generated code", 90, _render)

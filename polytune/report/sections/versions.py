"""The versions of the kernel: what each does, and how fast it came to be."""

from __future__ import annotations

from collections import Counter

from polytune.explanation import VersionDescription, describe_versions
from polytune.frontend.generated_names import without_marks
from polytune.report.facts import Subject, TunedCase
from polytune.report.markup import Markup, element, joined, listed, named, table
from polytune.report.section import Section
from polytune.tuner.budget import seconds_text


def _render(subject: Subject) -> Markup | None:
    found = [
        element(
            "div",
            element("dt", element("code", each.name), " the best" if each.name in subject.best_versions else ""),
            element("dd", _said(each)),
        )
        for each in describe_versions(subject.stages)
    ]
    words = element(
        "p",
        f"{len(found)} version{'s' if len(found) != 1 else ''}: code that computes the same in another order, or in "
        "another way. Sizes of tiles and the number of threads are arguments of each.",
        class_="muted",
    )
    shown = [words, element("dl", *found, class_="versions")]
    shown += [element("p", without_marks(sentence)) for sentence in subject.stages.given_up]
    shown += [_measured(case) for case in subject.main_cases if case.ranking]
    return joined(shown)


def _said(version: VersionDescription) -> Markup:
    said = listed(without_marks(sentence) for sentence in version.sentences)
    if not version.alike:
        return said
    return joined([element("p", "as ", element("code", version.alike), ", and:"), said])


def _measured(case: TunedCase) -> Markup:
    """The best time of each version that was tried."""
    fastest: dict[str, float] = {}
    tried: Counter[str] = Counter()
    for configuration, seconds in case.ranking:
        name = str(configuration["version"])
        tried[name] += 1
        fastest.setdefault(name, seconds)
    slowest = max(fastest.values())
    rows = [
        (
            named(name),
            seconds_text(seconds),
            tried[name],
            element("span", class_="bar", style=f"width: {100 * seconds / slowest:.1f}%"),
        )
        for name, seconds in sorted(fastest.items(), key=lambda pair: pair[1])
    ]
    caption = f"The fastest time measured of each version, for {case.label}"
    shown = table(("Version", "Time of a call", "Tried", "Beside the others"), rows, caption=caption, numbers=(1, 2))
    return element("div", shown, class_="bars")


SECTION = Section("versions", "Versions", 40, _render)

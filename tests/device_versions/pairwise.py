"""Few choices of many parameters such that any two values of two parameters occur together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any

Pair = frozenset[tuple[str, Any]]
"""A value of one parameter and a value of another one, each with the parameter's name."""


def pairwise_cover(values: Mapping[str, Sequence[Any]], once: Collection[Pair] = ()) -> list[dict[str, Any]]:
    """Choices of a value for each parameter that cover every pair of values of every two parameters.

    Greedy: each choice begins with a pair that is not covered yet, and gets, parameter by parameter, the value that
    covers most of the others.  With one parameter alone every value is covered.

    Args:
        values: of each parameter.
        once: pairs that make a choice take long: where they are covered already, another value is preferred.
    """
    names = list(values)
    if len(names) < 2:
        return [{name: value} for name in names for value in values[name]]
    missing = {
        frozenset(((first, x), (second, y)))
        for first, second in combinations(names, 2)
        for x, y in product(values[first], values[second])
    }
    # Sets have no order of their own: what is chosen must be the same in every process.
    ordered = sorted(missing, key=lambda pair: sorted(map(repr, pair)))

    def worth(name: str, value: Any, choice: Mapping[str, Any]) -> tuple[bool, int]:
        pairs = [frozenset(((name, value), other)) for other in choice.items()]
        return not any(each in once and each not in missing for each in pairs), sum(each in missing for each in pairs)

    found = []
    for pair in ordered:
        if pair not in missing:
            continue
        choice = dict(pair)
        for name in names:
            if name not in choice:
                choice[name] = max(values[name], key=partial(worth, name, choice=dict(choice)))
        missing -= {frozenset(both) for both in combinations(choice.items(), 2)}
        found.append({name: choice[name] for name in names})
    return found

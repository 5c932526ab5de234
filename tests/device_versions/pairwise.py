"""Few choices of many parameters such that any two values of two parameters occur together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any


def pairwise_cover(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Choices of a value for each parameter that cover every pair of values of every two parameters.

    Greedy: each choice begins with a pair that is not covered yet, and gets, parameter by parameter, the value that
    covers most of the others.  With one parameter alone every value is covered.
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
    found = []
    for pair in ordered:
        if pair not in missing:
            continue
        choice = dict(pair)
        for name in names:
            if name not in choice:
                choice[name] = max(
                    values[name],
                    key=lambda value: sum(frozenset(((name, value), other)) in missing for other in choice.items()),
                )
        missing -= {frozenset(both) for both in combinations(choice.items(), 2)}
        found.append({name: choice[name] for name in names})
    return found

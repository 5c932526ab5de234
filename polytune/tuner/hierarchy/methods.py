"""The methods by which the nodes of the graph are searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from polytune.errors import SearchError
from polytune.tuner.hierarchy.subspace import SIMPLEX
from polytune.tuner.searchers import SEARCHES, EpsilonGreedy, FiniteSearcher, Method, NelderMead
from polytune.tuner.searchers.method import checked
from polytune.tuner.spaces.space import Space

__all__ = ["BANDIT", "HIERARCHICAL", "Methods", "Search", "check_nodes", "check_search", "methods_of"]

BANDIT = "epsilon_greedy"
"""The method that chooses among combinations of nominal values, unless another is named."""

HIERARCHICAL = "hierarchical"
"""The name of the search in which every node has the method that is its own by default."""

ONLINE = "online"
"""The name under which recordings are searched as an application is while it runs; kernels have it anyway."""

NOMINAL, NUMERIC = "nominal", "numeric"

Searcher = str | Method | type[FiniteSearcher]
"""One search: ``"genetic:population=30"``, ``Method("genetic", population=30)``, or a class."""

Search = Searcher | Mapping[str, Searcher]
"""One search for all nodes, or one for each of several nodes."""


def methods_of(search: Search | None) -> Mapping[str, Method]:
    """The methods by node that a search stands for.

    ``"epsilon_greedy"`` alone is the method of nominal parameters, for it chooses among values without an order, and
    ``"nelder_mead"`` alone that of numbers, which have one; the others are left to their default.  Any other search
    alone is that of all nodes.

    Args:
        search: what a person wrote; None and ``"hierarchical"`` name nothing.

    Returns:
        By ``"nominal"``, ``"numeric"`` or the name of a parameter.

    Raises:
        SearchError: it is no search.
    """
    if search is None:
        return {}
    if isinstance(search, Mapping):
        return {name: _of_node(Method.of(each)) for name, each in search.items()}
    method = Method.of(search)
    if method.name == HIERARCHICAL and method.kind is None:
        if method.settings:
            raise SearchError(
                f"{str(method)!r}: settings belong to the method of a node, for example "
                '{"nominal": "epsilon_greedy:epsilon=0.1", "numeric": "portfolio"}'
            )
        return {}
    _of_node(method)
    if method.name == BANDIT:
        return {NOMINAL: method}
    if method.name == SIMPLEX:
        return {NUMERIC: method}
    return {NOMINAL: method, NUMERIC: method}


def _of_node(method: Method) -> Method:
    """The method, which can be that of a node.

    Raises:
        SearchError: it is the name of what all nodes do together.
    """
    if method.kind is None and method.name == HIERARCHICAL:
        raise SearchError(
            f"{HIERARCHICAL!r} is the search of all nodes together: write it alone, or leave the node out, which then "
            "has the search that is its own"
        )
    if method.kind is None and method.name == ONLINE and ONLINE not in SEARCHES:
        raise SearchError(
            f"{ONLINE!r} is a search of recorded spaces, which polytune simulate runs: it is how every kernel is tuned "
            "from call to call, so name the searches of its nodes, or none"
        )
    return method


class Methods:
    """The methods of the nodes of a space.

    Args:
        search: what a person wrote.
        space: the space.

    Raises:
        SpaceError: a node is named that the space does not have.
        SearchError: there is no such search, it has no such setting, or lacks a setting that it needs.
    """

    def __init__(self, search: Search | None, space: Space):
        self._methods = methods_of(search)
        check_nodes(search, space)
        for name, method in self._methods.items():
            is_nominal = name == NOMINAL or (name != NUMERIC and space[name] not in space.numeric)
            _check(method, is_nominal=is_nominal)
            if method.name not in (BANDIT, SIMPLEX) and (lacking := SEARCHES.kind_of(method).lacks(method.settings)):
                raise SearchError(lacking)

    def of(self, names: Sequence[str], kind: str, default: str) -> Method:
        """The method of a node.

        Args:
            names: its parameters.
            kind: ``"nominal"`` or ``"numeric"``.
            default: the method that it has where nothing is said, as people write it.
        """
        named = next((self._methods[name] for name in names if name in self._methods), None)
        return named or self._methods.get(kind) or Method.of(default)

    def restored(self, text: str) -> Method:
        """The method that a state of the search names; that of a class is known only if it is named here too."""
        return next((method for method in self._methods.values() if str(method) == text), None) or Method.of(text)

    def state(self) -> dict[str, str]:
        """Everything that was named, as JSON keeps it."""
        return {name: str(method) for name, method in self._methods.items()}


def check_nodes(search: Search | None, space: Space) -> None:
    """See to it that a space has the nodes that a search names.

    Raises:
        SpaceError: it lacks one.
    """
    for name in methods_of(search):
        if name not in (NOMINAL, NUMERIC):
            space[name]  # raises where there is none


def check_search(search: Search | None) -> None:
    """See to it that a search can be made, whatever the space.

    Raises:
        SearchError: it is none, or has no such setting or one that is out of its bounds.
        MeasurementError: the file of a model of counters cannot be read.
        MissingLibraryError: it needs a library that is not installed.
    """
    for name, method in methods_of(search).items():
        if name in (NOMINAL, NUMERIC):
            _check(method, is_nominal=name == NOMINAL)
        elif method.name not in (BANDIT, SIMPLEX):  # those depend on what kind of parameter it is
            SEARCHES.check(method)


def _check(method: Method, *, is_nominal: bool) -> None:
    if is_nominal and method.name == BANDIT:
        EpsilonGreedy(1, np.random.default_rng(0), **checked(BANDIT, EpsilonGreedy, method.settings))
    elif not is_nominal and method.name == SIMPLEX:
        NelderMead([0.0], [1.0], **checked(SIMPLEX, NelderMead, method.settings))
    else:
        SEARCHES.check(method)

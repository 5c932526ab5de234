"""The searches of a finite space that there are: found in packages and by entry points, never listed."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np

from polytune.errors import PolytuneError, SearchError
from polytune.records import dataclass
from polytune.tuner.searchers.finite_searcher import FiniteSearcher
from polytune.tuner.searchers.method import Method, checked, settings_of
from polytune.tuner.spaces.finite import FiniteSpace

__all__ = ["ENTRY_POINTS", "Catalogue"]

ENTRY_POINTS = "polytune.searchers"
"""The group of entry points by which other packages make searches known: their names, and the classes."""


_SMALL = FiniteSpace.from_configurations(["a", "b"], [{"a": a, "b": b} for a in range(3) for b in range(3)])
"""A space on which searches are made to see whether their settings are within bounds."""


@dataclass(frozen=True)
class Catalogue(Mapping[str, str]):
    """The searches that there are, by name, each with the place where it is found.

    A search of polytune's own is a file in one of `packages`, called as the search is, with one public subclass of
    `FiniteSearcher` in it.  Those of others are entry points of the group `ENTRY_POINTS`; one with a name that
    polytune's own have is not used.  A search is loaded when it is asked for, so that only those that need
    scikit-learn, optuna and the like load them.

    Args:
        packages: the full names of the packages in which searches are found.
    """

    packages: tuple[str, ...]

    def __getitem__(self, name: str) -> str:
        if name in self._own:
            return self._own[name]
        return ", ".join(_place(entry) for entry in self._foreign[name])

    def __iter__(self) -> Iterator[str]:
        return iter({**self._own, **self._foreign})

    def __len__(self) -> int:
        return len({**self._own, **self._foreign})

    @functools.cached_property
    def _own(self) -> dict[str, str]:
        folders = [(package, importlib.import_module(package).__path__) for package in self.packages]
        return {
            module.name: f"{package}.{module.name}"
            for package, path in folders
            for module in pkgutil.iter_modules(path)
        }

    @property
    def _foreign(self) -> dict[str, list[EntryPoint]]:
        # Looked for each time: packages may be installed while a session goes on.
        found: dict[str, list[EntryPoint]] = {}
        for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: (entry.name, entry.value)):
            if all(entry.value != other.value for other in found.get(entry.name, ())):
                found.setdefault(entry.name, []).append(entry)
        return found

    def kind(self, name: str) -> type[FiniteSearcher]:
        """The class of a search.

        Raises:
            SearchError: there is no search of that name, or several packages have one, or it cannot be loaded.
            MissingLibraryError: it needs a library that is not installed.
        """
        if name in self._own:
            return _only_class(self._own[name])
        entries = self._foreign.get(name, [])
        if not entries:
            close = difflib.get_close_matches(name, self, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; the searches are {', '.join(self)}"
            raise SearchError(f"there is no search {name!r}{hint}")
        if len(entries) > 1:
            raise SearchError(
                f"the search {name!r} is there {len(entries)} times: {' and '.join(map(_place, entries))}; uninstall "
                "all but one of them"
            )
        return _loaded(entries[0])

    def make(
        self,
        name: str | Method,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        **settings: Any,
    ) -> FiniteSearcher:
        """A search by name.

        Args:
            name: one of these searches, also with settings, as in ``"genetic:population=30"``.
            space: what to search.
            rng: where its random choices come from.
            budget: how many evaluations there will be, where that is known.
            settings: of the method, as its class describes them; what the name says goes before them.

        Raises:
            SearchError: there is no such search, or it has no such setting, or one of another type, or needs one.
            MissingLibraryError: it needs a library that is not installed.
        """
        method = Method.of(name).with_defaults(**settings)
        kind = self.kind_of(method)
        needed = [s.name for s in settings_of(kind) if s.default is inspect.Parameter.empty]
        chosen = checked(method.name, kind, method.settings)
        if missing := [setting for setting in needed if setting not in chosen]:
            raise SearchError(
                f"the search {method.name!r} needs {' and '.join(missing)}, which only make_search can give it"
            )
        return kind(space, rng, budget=budget, **chosen)

    def kind_of(self, method: Method) -> type[FiniteSearcher]:
        """The class of a method, as `kind` finds it by name."""
        return method.kind or self.kind(method.name)

    def check(self, name: str | Method) -> None:
        """See to it that a search can be made, with the settings that it is written with; others may be missing.

        Raises:
            SearchError: there is no search of this name, it has no such setting, or one of another type or out of its
                bounds.
            MissingLibraryError: it needs a library that is not installed.
        """
        method = Method.of(name)
        kind = self.kind_of(method)
        chosen = checked(method.name, kind, method.settings)
        kind.check_files(chosen)
        if chosen and all(setting.types for setting in settings_of(kind)):  # others only a program can give
            kind(_SMALL, np.random.default_rng(0), **chosen)


def _only_class(module: str) -> type[FiniteSearcher]:
    """The search in a file of polytune's own."""
    found = [
        member
        for name, member in vars(importlib.import_module(module)).items()
        if _is_search(member) and member.__module__ == module and not name.startswith("_")
    ]
    kind: type[FiniteSearcher]
    (kind,) = found
    return kind


def _loaded(entry: EntryPoint) -> type[FiniteSearcher]:
    """The search of an entry point."""
    load: Callable[[], Any] = entry.load
    try:
        kind: type[FiniteSearcher] = load()
    except PolytuneError:
        raise
    except Exception as error:
        raise SearchError(
            f"the search {entry.name!r} of {_place(entry)} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not _is_search(kind):
        raise SearchError(
            f"the search {entry.name!r} of {_place(entry)} is no subclass of polytune.tuner.FiniteSearcher that says "
            "all that one has to"
        )
    return kind


def _is_search(member: Any) -> bool:
    return inspect.isclass(member) and issubclass(member, FiniteSearcher) and not inspect.isabstract(member)


def _place(entry: EntryPoint) -> str:
    """Return where an entry point leads to, and whose it is."""
    package = entry.dist.name if entry.dist is not None else ""
    return f"{entry.value}{f' (package {package})' if package else ''}"

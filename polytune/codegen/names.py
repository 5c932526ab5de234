"""Names in generated text: who has which, in one object per text.

Names of a kernel stay as they are wherever the language of the text allows it.  A generated name, which is marked until
then (``polytune.frontend.generated_names``), has its plain spelling if nothing else is called that, and else as many
underscores behind it as it takes.  So no list of names has to be kept: what generators use is what they ask for.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from polytune.frontend.expression import Loop, walk
from polytune.frontend.generated_names import is_generated, plain, replace_marked
from polytune.frontend.scop import Scop

PYTHON_WORDS = frozenset((*keyword.kwlist, *keyword.softkwlist))
"""Words that no variable of a Python text may have as its name."""


class Namespace:
    """Gives every name in one text a spelling of its own.

    Args:
        names: names that are taken, with these spellings: those of the kernel where they stay as they are.
        words: words of the language, and names that the text has from elsewhere.
    """

    def __init__(self, names: Iterable[str] = (), words: Iterable[str] = ()):
        self._taken = {*names, *words}
        self._spellings: dict[str, str] = {}

    def unique(self, wanted: str) -> str:
        """A spelling that nothing else has, the wanted one if it can be."""
        while wanted in self._taken:
            wanted += "_"
        self._taken.add(wanted)
        return wanted

    def spelling(self, name: str) -> str:
        """The spelling of a marked name, the same each time."""
        assert is_generated(name), f"{name!r} is no generated name"
        if name not in self._spellings:
            self._spellings[name] = self.unique(plain(name))
        return self._spellings[name]

    def finish(self, text: str) -> str:
        """Text with the spellings of all generated names."""
        return replace_marked(text, self.spelling)

    @property
    def spellings(self) -> Mapping[str, str]:
        """The spellings of the marked names so far."""
        return MappingProxyType(self._spellings)


def names_of(scop: Scop) -> frozenset[str]:
    """Every name of a kernel: arguments, arrays, scalars, parameters, iterators and counters."""
    names = {name for name, _ in scop.signature.arguments}
    names |= {array.name for array in scop.arrays}
    names |= {parameter.name for parameter in scop.parameters}
    operations = (operation for statement in scop.statements for operation in statement.operations)
    names |= {part.counter for operation in operations for part in walk(operation) if isinstance(part, Loop)}
    return frozenset(names.union(*(statement.iterators for statement in scop.statements)))


def module_namespace(scop: Scop) -> Namespace:
    """The names of the generated module of a kernel."""
    return Namespace(names_of(scop), PYTHON_WORDS)


def builtin_names(namespace: Namespace) -> list[tuple[str, str]]:
    """The built-in functions that a text uses under another spelling, with that spelling."""
    found = ((plain(name), spelling) for name, spelling in namespace.spellings.items())
    return [(name, spelling) for name, spelling in found if name != spelling and hasattr(builtins, name)]


def literal(text: str) -> str:
    """A Python literal of text, in which nothing is taken for a generated name."""
    return repr(text).replace("$", "\\x24")

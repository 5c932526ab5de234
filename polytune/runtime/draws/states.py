"""The places where generators of random numbers keep their states, and the functions that NumPy draws with.

Compiled code knows one table of addresses, ``polytune_draws``.  It is filled at the first draw; an address of zero says
that something is not there, and numbers are then drawn by a call of Python.

NumPy gives the address of a bit generator, and its extension module exports the functions of its distributions, as its
manual says of extending it.  It does not say where its global generator keeps the second of two normal numbers, nor
does Python say where the state of its generator is.  Both are looked for in another object of the type, whose state is
known, and used only if they are found there.
"""

from __future__ import annotations

import contextlib
import ctypes
import random
import struct
import threading
from collections import OrderedDict

import numpy as np
from llvmlite import binding

from polytune.runtime.draws.ziggurat import LAYERS, is_drawn_alike

__all__ = [
    "BOUNDED",
    "EXPONENTIAL",
    "GLOBAL",
    "NORMAL",
    "POISSON",
    "PYTHON",
    "SECOND_NORMAL",
    "TABLE",
    "ZIGGURAT",
    "address_of",
    "fill_table",
    "generator_at",
    "made_generator",
    "release_generator",
]

TABLE = "polytune_draws"
"""The symbol of the table."""

GLOBAL, SECOND_NORMAL, PYTHON, BOUNDED, POISSON, NORMAL, EXPONENTIAL, ZIGGURAT = range(8)
"""The places in the table: NumPy's global bit generator; its second normal number; the state of Python's generator;
functions of NumPy's, for integers up to a bound, and Poisson's, normal and exponential numbers; the layers of a
ziggurat, if NumPy's normal numbers are drawn by it."""

_FUNCTIONS = {
    BOUNDED: "random_bounded_uint64",
    POISSON: "random_poisson",
    NORMAL: "random_standard_normal",
    EXPONENTIAL: "random_standard_exponential",
}

_KNOWN = 0.123456789
"""A second normal number to look for."""

_BIT_GENERATOR = 5
"""Words of a bit generator: its state's address, and functions that give 64 bits, 32 bits, a double, and raw bits."""

_MOST_GENERATORS = 1024

_table = np.zeros(8, np.int64)
_filling = threading.Lock()
_generators: OrderedDict[int, np.random.Generator] = OrderedDict()
_made: dict[int, np.random.Generator] = {}
binding.add_symbol(TABLE, _table.ctypes.data)


def fill_table() -> None:
    """Find what the table says, once in a process."""
    with _filling:
        if _table.any():
            return
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(np.random._generator.__file__)
            for place, name in _FUNCTIONS.items():
                with contextlib.suppress(AttributeError):
                    _table[place] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        if is_drawn_alike():
            _table[ZIGGURAT] = LAYERS.ctypes.data
        _table[PYTHON] = _of_python()
        _table[GLOBAL], _table[SECOND_NORMAL] = _of_numpy()


def _of_python() -> int:
    """The address of the state of Python's generator: the place of the next word, and the words of 32 bits."""
    generator = random._inst
    if type(generator) is not random.Random:
        return 0
    other = random.Random(1)
    *state, position = other.getstate()[1]
    words = _words(other, ctypes.c_uint32)
    wanted = [position, *state]
    for place in range(len(words) - len(wanted) + 1):
        if words[place : place + len(wanted)] == wanted:
            return id(generator) + 4 * place
    return 0


def _of_numpy() -> tuple[int, int]:
    """The addresses of NumPy's global bit generator and of its second normal number: whether there is one, and it."""
    generator = getattr(np.random.mtrand, "_rand", None)
    if type(generator) is not np.random.RandomState:
        return 0, 0
    other = np.random.RandomState(1)
    other.set_state({**other.get_state(legacy=False), "has_gauss": 1, "gauss": _KNOWN})
    words = _words(other, ctypes.c_int64)
    (second,) = struct.unpack("q", struct.pack("d", _KNOWN))
    for place in range(_BIT_GENERATOR, len(words) - 2):
        # It begins with the address of the object's own copy of the bit generator, which stands before it and is
        # there after set_bit_generator too.
        start = 8 * (place - _BIT_GENERATOR)
        if words[place] == id(other) + start and words[place + 1] & 0xFFFFFFFF == 1 and words[place + 2] == second:
            return id(generator) + start, id(generator) + 8 * (place + 1)
    return 0, 0


def _words(thing: object, kind: type[ctypes.c_uint32] | type[ctypes.c_int64]) -> list[int]:
    """The memory of an object."""
    count = type(thing).__basicsize__ // ctypes.sizeof(kind)
    return list((kind * count).from_address(id(thing)))


def address_of(generator: np.random.Generator) -> np.uint64:
    """The address of a generator's bit generator, as which kernels get it: a number of a type that is no parameter of
    any, which others would be tuned anew for."""
    address = generator.bit_generator.ctypes.bit_generator.value
    _generators[address] = generator
    _generators.move_to_end(address)
    if len(_generators) > _MOST_GENERATORS:
        with contextlib.suppress(KeyError):
            _generators.popitem(last=False)
    return np.uint64(address)


def made_generator(seed: np.ndarray | None = None) -> np.uint64:
    """The address of a new generator, which is kept until ``release_generator``.

    Args:
        seed: an integer; None for one that nobody knows.
    """
    generator = np.random.default_rng(None if seed is None else seed.item())
    address = np.uint64(generator.bit_generator.ctypes.bit_generator.value)
    _made[int(address)] = generator
    return address


def release_generator(address: np.ndarray) -> None:
    """Let go of a generator that a kernel has made, if it has come so far.

    Args:
        address: where that is, uint64, one element.
    """
    _made.pop(int(address[0]), None)


def generator_at(address: int | np.integer) -> np.random.Generator:
    """The generator that an address was given for."""
    return _made.get(int(address)) or _generators[int(address)]

"""Random sweeps over arrays that exchange their names, of which some end early."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.fuzz.arrays.drafts import Block, Node
from tests.fuzz.arrays.expressions import Expressions

__all__ = ["sweeps"]


def sweeps(write: Expressions, fresh: Callable[[str], str], targets: Sequence[str]) -> list[Node]:
    """A loop in which two arrays of one shape and type exchange their names, and what it needs before it.

    Args:
        write: writes expressions.
        fresh: gives a new name.
        targets: the arrays that may be written.
    """
    choices = write.choices
    names = [name for name in dict.fromkeys(targets) if name[0] not in "vr" and write.names[name].dtype.kind == "f"]
    if not names:
        return []
    now = choices.pick(names)
    array = write.names[now]
    alike = [name for name in names if name != now and write.names[name].shape == array.shape]
    alike = [name for name in alike if write.names[name].dtype == array.dtype]
    before: list[Node] = []
    if alike and choices.chance(60):
        new = choices.pick(alike)
    else:
        new = fresh("t")
        before.append(f"{new} = {now}.copy()")
    body = _step(write, fresh, now, new)
    change = fresh("s")
    before.append(f"{change} = 9.0")
    is_measured = choices.chance(70)
    if is_measured:
        body.append(f"{change} = np.max(np.abs({new} - {now}))")
    exchange: list[Node] = [f"{now}, {new} = {new}, {now}"]
    if choices.chance(25):
        kept = fresh("e")
        exchange = [f"{kept} = {now}", f"{now} = {new}", f"{new} = {kept}"]
    ends: list[Node] = []
    if is_measured and choices.chance(60):
        limit = choices.pick(("0.1", "0.5", "2.0"))
        ends = [
            Block(f"if {change} < {limit}:", [choices.pick(("break", "break", f"return {choices.pick((now, new))}"))])
        ]
    body = [*body, *ends, *exchange] if choices.chance(40) else [*body, *exchange, *ends]
    if choices.chance(30):
        counter = fresh("q")
        test = f" and {change} > 0.25" if is_measured and choices.chance(50) else ""
        before.append(f"{counter} = 0")
        return [*before, Block(f"while {counter} < {choices.pick((1, 2, 3, 4))}{test}:", [*body, f"{counter} += 1"])]
    bounds = choices.pick(("2", "3", "4", "1, 4", "len(" + now + ") - 1"))
    return [*before, Block(f"for {choices.pick(('_', fresh('q')))} in range({bounds}):", body)]


def _step(write: Expressions, fresh: Callable[[str], str], now: str, new: str) -> list[Node]:
    """The statements that compute one array of the other."""
    choices = write.choices
    iterator = fresh("q")
    forms: list[list[Node]] = [
        [f"{new}[:] = 0.5 * {now} + {choices.pick(('0.25', '1.0'))}"],
        [f"{new}[1:-1] = 0.5 * ({now}[:-2] + {now}[2:])"],
        [
            Block(
                f"for {iterator} in range(1, len({now})):", [f"{new}[{iterator}] = 0.5 * {now}[{iterator} - 1] - 0.25"]
            )
        ],
    ]
    return choices.pick(forms)

"""A failing program as a script that shows its failure by itself."""

from __future__ import annotations

import contextlib

from tests.fuzz.checking import Failure, defers
from tests.fuzz.references import prepared
from tests.fuzz.samples import Sample

_HEAD = '''"""{kind}

{message}
"""

import math
import time

import numpy as np

import polytune

'''
_INPUTS = '''

def arguments():
{setup}
    return {values}


def call(function):
    """The arrays after a call, and what it returns or raises."""
{setup}
    started = time.process_time()
    try:
        result = function({call})
    except Exception as error:
        result = error
    print(f"{{time.process_time() - started:.2f}} s of processor time")
    return ({arrays}), result


def parts(values):
    """Everything in tuples in one another."""
    return [part for value in values for part in parts(value)] if isinstance(values, tuple | list) else [values]


plain = kernel
'''
_COMPILED = """kernel = polytune.kernel(strict={strict}, fastmath={flags}, background=False)(plain)
run = {run}
"""
_INTERPRETED = """
# Seen where the generated module is run as Python: PYTHONPATH has to name the repository.
import inspect

from polytune.codegen.transform import Target
from polytune.fastmath import flags_of
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from tests.fuzz.interpreted import Interpreter

names = list(inspect.signature(plain).parameters)


def run(*values, **keywords):
    bound = inspect.signature(plain).bind(*values, **keywords)
    bound.apply_defaults()
    values = tuple(bound.arguments[name] for name in names)
    stages = Stages(plain, signature_of(names, values), {strict}, target=Target{registers}, fastmath=flags_of({flags}))
    vars(stages)["defers"] = {defers}
    return Interpreter(stages.source).run({configuration}, values, seed={seed})

"""
_END = """
with np.errstate(all="ignore"):
    wanted, found = call(plain), call(run)
print("wanted", wanted)
print("found", found)
if isinstance(found[1], Exception):
    raise found[1]
for first, second in zip(parts(wanted), parts(found), strict=True):
    assert (first is None) == (second is None)
    if first is not None:
        assert np.shape(first) == np.shape(second)
        np.testing.assert_{comparison}
"""


def script(sample: Sample, failure: Failure) -> str:
    """The text of a script with a program and its failure."""
    if sample.numpy:
        with contextlib.suppress(Exception):  # What fails there is the failure.
            sample, _ = prepared(sample)  # with its tolerance
    setup = "\n".join(f"    {name} = {text}" for name, text in sample.setup)
    arrays = [name for name, text in sample.setup if "np." in text and not text.startswith(("np.int", "np.float"))]
    arrays += [name for name, text in sample.setup if text in arrays or text.startswith("base[")]
    message = failure.message.strip().replace("\\", "\\\\").replace('"""', "'''")
    parts = [_HEAD.format(kind=failure.kind, message=message[-1500:]), "\n" + sample.source.strip() + "\n"]
    inputs = _INPUTS[_INPUTS.index("def call") :]
    parts.append("\n\n" + inputs.format(setup=setup, call=sample.call, arrays="".join(f"{name}, " for name in arrays)))
    if failure.interpreted:
        registers = failure.registers or (32, 16)
        configuration = failure.configuration or {"version": "source", "threads": 1}
        parts.append(
            _INTERPRETED.format(
                strict=sample.strict,
                flags=sample.flags,
                registers=registers,
                defers=defers(failure.seed),
                configuration=configuration,
                seed=failure.seed,
            )
        )
    else:
        run = "kernel"
        if failure.configuration:
            run = f"lambda *values, **keywords: kernel.run({failure.configuration}, *values, **keywords)"
        parts.append(_COMPILED.format(strict=sample.strict, flags=sample.flags, run=run))
    comparison = "array_equal(second, first)"
    if sample.tolerance:
        comparison = f"allclose(second, first, rtol={sample.tolerance}, atol={sample.tolerance})"
    parts.append(_END.format(comparison=comparison))
    return "".join(parts)

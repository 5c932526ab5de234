"""The choices that there are for a class of calls, what to begin with, and the tuner that is made of them.

A search that goes by counters is given those of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from polytune.history.machine import machine_key
from polytune.history.store import HistoryStore
from polytune.records import dataclass
from polytune.runtime.calls.invocation import Invocation
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.tuning.machine_rates import note_case
from polytune.runtime.tuning.prediction import Prediction
from polytune.runtime.tuning.rules import Thresholds
from polytune.runtime.tuning.rules_calibration import refused_values
from polytune.runtime.tuning.tunable import Case
from polytune.tuner import Budget, Configuration, Key, OnlineTuner, Search, Space
from polytune.tuner.hierarchy.methods import methods_of
from polytune.tuner.spaces.condition import Value

__all__ = ["TuningProblem", "choices_for", "history_key", "make_tuner"]


@dataclass(frozen=True)
class TuningProblem:
    """The choices that there are for one class of calls, and what is remembered of them.

    Attributes:
        key: what they are remembered under.
        code: what tells the generated code from others.
        space: every choice.
        starts: what to begin with.
        refused: by parameter, the values that are not worth trying, with the reasons.
    """

    key: Key
    code: str
    space: Space
    starts: tuple[Configuration, ...]
    refused: Mapping[str, Mapping[Value, str]]


def history_key(case: Case, name: str, generated: GeneratedKernel) -> Key:
    """The key that a class of calls is remembered under.

    Args:
        case: the class.
        name: the kernel's name in the history.
        generated: the generated kernel.
    """
    parameters = zip(generated.module.PARAMETERS, case.parameters, strict=True)
    sizes = ", ".join(f"{parameter}={value}" for parameter, value in parameters)
    places = "".join(f"; {array} on {device}" for array, device in case.places)
    return Key(name, sizes + places, machine_key(case.threads))


def choices_for(generated: GeneratedKernel, invocation: Invocation) -> tuple[Space, tuple[Configuration, ...]]:
    """Return what there is to choose from for a call, with the first choice as its default, and what to begin with."""
    space = generated.space_for(invocation)
    if space is not generated.space:
        return space, ()
    starts = generated.first_choices.promising(invocation.parameters)
    return space.with_default(starts[0]), starts


def make_tuner(
    generated: GeneratedKernel,
    case: Case,
    space: Space,
    starts: tuple[Configuration, ...],
    key: Key,
    *,
    store: HistoryStore,
    thresholds: Thresholds | None,
    budget: Budget,
    seed: int,
    search: Search | None,
) -> OnlineTuner:
    """The tuner of a class of calls, which knows what the generated kernel tells of its versions.

    Args:
        generated: the generated kernel.
        case: the class of calls.
        space: what there is to choose from.
        starts: what to begin with.
        key: what is remembered under.
        store: keeps what is learned.
        thresholds: from when on a device may pay; measured where they are not given.
        budget: how much time tuning may take.
        seed: what is tried is a function of it and of the times measured.
        search: how configurations are searched for.
    """
    choices, functions = generated.first_choices, generated.functions
    prediction = choices.prediction(case.parameters)
    refused = refused_values(
        generated.module, space, case.parameters, store, resident=bool(case.places), thresholds=thresholds
    )
    if prediction.refused and not case.places:
        refused["version"] = {**refused.get("version", {}), **prediction.refused}

    def why_not(configuration: Configuration) -> str | None:
        return functions.why_not(configuration) or choices.why_too_slow(case.parameters, configuration)

    return OnlineTuner(
        space,
        key=key,
        store=store,
        code=generated.code,
        starts=starts,
        reject=why_not,
        refused=refused,
        budget=budget,
        seed=seed,
        searchers=with_counters(search, partial(choices.prediction, case.parameters)),
        risk=partial(choices.risk, case.parameters),
        preparation=functions.preparation,
        compilation=functions.compilation,
        prediction=prediction.seconds,
        opening=None if case.places else choices.opening(space.default(), case.parameters),
        fewer_threads=choices.fewer_threads,
        written=None if case.places else partial(note_case, store, key, prediction.uncorrected),
    )


def with_counters(search: Search | None, prediction: Callable[[], Prediction]) -> Search | None:
    """The search with the counters of a kernel wherever it goes by counters and has no model of its own.

    Args:
        search: as people write it.
        prediction: makes the model of the versions' times, where it is needed.
    """
    methods = methods_of(search)
    needing = [name for name, method in methods.items() if method.name == "profile" and "model" not in method.settings]
    if not needing:
        return search
    from polytune.runtime.tuning.counters import KernelCounters  # few kernels need it, and all would load it

    model = KernelCounters(prediction())
    return {name: method.with_defaults(model=model) if name in needing else method for name, method in methods.items()}

"""Preparation of calls: their types decide the generated module, their sizes the tuner."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from polytune.errors import ArgumentError, PolytuneError, UncommonSubscriptError
from polytune.forking import renew_lock_at_fork
from polytune.history.store import HistoryStore, default_store
from polytune.runtime.background.versions import DeferredVersions
from polytune.runtime.calls.argument_binding import ArgumentBinding
from polytune.runtime.calls.arguments import signature_of
from polytune.runtime.calls.failed_tuners import FailedTuners
from polytune.runtime.calls.invocation import Invocation, Outcome
from polytune.runtime.calls.prepared_run import PreparedRun
from polytune.runtime.calls.settled import SettledCalls
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.modules.outside import OutsideValues
from polytune.runtime.partitioned.device_arrays import taken_in
from polytune.runtime.partitioned.residency import Residence
from polytune.runtime.teams.threads import current_threads
from polytune.runtime.tuning.borrowed import BorrowedChoices
from polytune.runtime.tuning.prediction import Prediction
from polytune.runtime.tuning.rules import Thresholds
from polytune.runtime.tuning.tunable import Case, TunableKernel
from polytune.runtime.tuning.tuning_mode import MODES
from polytune.runtime.tuning.tuning_problem import TuningProblem, choices_for, history_key, make_tuner
from polytune.signature import Signature, Structure
from polytune.tracebacks import shows_frames_of_callers
from polytune.tuner import Budget, Configuration, OnlineTuner, Search, Space, check_nodes, check_search

__all__ = ["PreparedCall", "PreparingKernel", "Provider"]

_LONGEST_COMPILATION = 30.0
"""The seconds for which the first choice among all versions is waited for: then a call compiles it."""

_BETWEEN_LOOKS = 0.01
"""The seconds between two looks at whether it is compiled."""

Provider = Callable[[Signature], tuple[str, GeneratedKernel]]
"""Gives for a type signature a name that is the same in every process, and the generated kernel."""


class _Accepted(NamedTuple):
    """A call's arguments in order, host arrays in place of those at home on devices, and their types."""

    signature: Signature
    values: tuple[Any, ...]
    at_home: dict[str, Residence]


class PreparedCall(NamedTuple):
    """A call whose arguments fit, and what it is one of: the generated kernel, by its name too, and the class of
    calls."""

    name: str
    generated: GeneratedKernel
    invocation: Invocation
    case: Case


class PreparingKernel(TunableKernel):
    """A kernel that prepares calls, each for a class of calls with a tuner of its own, and runs single configurations.

    Attributes:
        thresholds: from when on a device may pay; None where they are measured.
    """

    __qualname__: str

    _takes_any_subscripts = True
    """Tells that there is code that takes any subscripts."""

    def __init__(
        self,
        name: str,
        signature: inspect.Signature,
        provider: Provider,
        store: HistoryStore | None = None,
        *,
        budget: Budget | int | str | None = None,
        thresholds: Thresholds | None = None,
        background: bool = True,
        seed: int = 0,
        search: Search | None = None,
    ):
        """
        Args:
            name: the kernel's name.
            signature: its arguments.
            provider: makes it for types of arguments.
            store: keeps what is learned.
            budget: how much time tuning may take, as `OnlineTuner` takes it.
            thresholds: from when on a device may pay; measured where they are not given.
            background: the attribute.
            seed: what is tried is a function of it and of the times measured.
            search: how configurations are searched for, as `OnlineTuner` takes it.
        """
        check_search(search)
        self.background = background
        self.thresholds = thresholds
        self._budget = Budget.of(budget)
        self.__name__ = name
        self.__signature__ = signature
        self._binding = ArgumentBinding(name, signature)
        self._names = self._binding.names
        self._provider = provider
        self._store = store
        self._generated: dict[tuple[Signature, int], tuple[str, GeneratedKernel]] = {}
        self._tuners: dict[Case, OnlineTuner] = {}
        self._borrowed = BorrowedChoices()
        self._failed = FailedTuners(name)
        self._last: dict[Case, Configuration] = {}
        self._again: dict[Case, Configuration] = {}
        self._shared: dict[Case, tuple[Configuration, Outcome]] = {}
        self._outside: OutsideValues | None = None
        self._settled = {mode: SettledCalls() for mode in MODES}
        self._is_frozen = False
        self._in_one_go_now = []
        self._kept = background, False
        self._may_defer = True
        self._loaded = {}
        self._given = set()
        self._seed = seed
        self._search = search
        self._lock = threading.RLock()
        renew_lock_at_fork(self)

    def __reduce__(self) -> str:
        """Kernels are pickled as functions are: by the name that they have in their module."""
        return self.__qualname__

    @shows_frames_of_callers
    def run(self, configuration: Mapping[str, Any], /, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel once in exactly one configuration; nothing is tuned or remembered, but for the last run shared
        among platforms, of which ``explain`` tells.

        Args:
            configuration: a value for each parameter of the space of these arguments that matters, by name.
            arguments, keywords: those of a call, positional and by name.

        Raises:
            SpaceError: the configuration is not in the space of these arguments.
            ArgumentError: the arguments do not fit; nothing has been written.
        """
        prepared = self.prepared(configuration, *arguments, **keywords)
        outcome = prepared.run()
        if outcome.shares:
            self._shared[prepared.case] = Configuration(dict(configuration)), outcome._replace(result=None)
        return outcome.result

    @shows_frames_of_callers
    def prepared(self, configuration: Mapping[str, Any], /, *arguments: Any, **keywords: Any) -> PreparedRun:
        """A run in exactly one configuration, whose arguments are known to fit.

        Args:
            configuration: a value for each parameter of the space of these arguments that matters, by name.
            arguments, keywords: those of a call, positional and by name.

        Raises:
            SpaceError: the configuration is not in the space of these arguments.
            ArgumentError: the arguments do not fit.
        """
        _, generated, invocation, case = self._prepare(arguments, keywords)
        generated.space.validate(configuration)
        return PreparedRun(case, configuration, generated, invocation)

    @shows_frames_of_callers
    def space(self, *arguments: Any, **keywords: Any) -> Space:
        """Every tunable choice for arguments of these types."""
        return self.generated(*arguments, **keywords).space

    @shows_frames_of_callers
    def space_of(self, signature: Signature) -> Space:
        """Every tunable choice for arguments of these types."""
        return self._generate(signature, current_threads())[1].space

    @shows_frames_of_callers
    def prediction_of(self, case: Case) -> Prediction:
        """The model of the versions' times for a class of calls, which knows what each has to do."""
        return self._generate(case.signature, case.threads)[1].first_choices.prediction(case.parameters)

    @shows_frames_of_callers
    def generated(self, *arguments: Any, **keywords: Any) -> GeneratedKernel:
        """The generated kernel that arguments of these types lead to."""
        accepted, threads = self._accept(arguments, keywords), current_threads()
        generated = self._generate(accepted.signature, threads)[1]
        with suppress(Exception):  # a call that is refused has no other one
            generated = self._fitted(accepted, threads).generated
        return generated

    @shows_frames_of_callers
    def tuner(self, *arguments: Any, **keywords: Any) -> OnlineTuner:
        """The tuner that a call with such arguments would ask."""
        return self._tuner(self._prepare(arguments, keywords))

    @shows_frames_of_callers
    def problem(self, *arguments: Any, **keywords: Any) -> TuningProblem:
        """Everything that whoever tunes a call with such arguments has to know, in this process or in another one."""
        call = self._prepare(arguments, keywords)
        tuner = self._tuner(call)
        starts = choices_for(call.generated, call.invocation)[1]
        key = history_key(call.case, call.name, call.generated)
        return TuningProblem(key, call.generated.code, tuner.space, starts, tuner.refused)

    @property
    def budget(self) -> Budget:
        """Return what tuning may cost, for each class of calls that is tuned together.

        It may be set at any time, to what ``polytune.kernel`` takes, and then holds for what has been called before
        too.

        Raises:
            SpaceError: on setting, it cannot be read.
        """
        return self._budget

    @budget.setter
    @shows_frames_of_callers
    def budget(self, budget: Budget | int | str | None) -> None:
        with self._lock:
            self._budget = Budget.of(budget)
            for tuner in self._tuners.values():
                tuner.budget = self._budget

    def _accept(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> _Accepted:
        if self._outside is not None:
            changed = self._outside.changed()
            if changed is not None:
                self._reconsider(changed)
        names, bound, structure = self._taken_apart(self._bind(arguments, keywords))
        values, at_home = taken_in(names, bound)
        try:
            signature = signature_of(names, values)
        except ArgumentError as error:
            raise (error if structure else self._with_source(error, values)) from None
        if structure:
            signature = replace(signature, structure=structure)
        return _Accepted(self._with_extents(signature, values), values, at_home)

    def _prepare(
        self, arguments: tuple[Any, ...], keywords: dict[str, Any], *, may_defer: bool = False
    ) -> PreparedCall:
        return self._fitted(self._accept(arguments, keywords), current_threads(), may_defer=may_defer)

    def _fitted(self, accepted: _Accepted, threads: int, *, may_defer: bool = False) -> PreparedCall:
        """A call whose arguments fit; where its subscripts are uncommon, by the kernel that takes any."""
        signature, values, at_home = accepted
        found = self._generated.get((signature, threads))
        if found is None or found[1].deferred is not None:
            found = self._generate(signature, threads, may_defer=may_defer)
        name, generated = found
        invocation: Invocation | None = None
        try:
            invocation = generated.prepare(values, at_home)
        except UncommonSubscriptError:
            if signature.any_subscripts or not self._takes_any_subscripts:
                raise
        if invocation is None:
            accepted = accepted._replace(signature=replace(signature, any_subscripts=True))
            return self._fitted(accepted, threads, may_defer=may_defer)
        case = Case(signature, invocation.parameters, threads, invocation.places)
        return PreparedCall(name, generated, invocation, case)

    def _taken_apart(
        self, values: tuple[Any, ...]
    ) -> tuple[tuple[str, ...], tuple[Any, ...], tuple[tuple[str, Structure], ...]]:
        """The numbers and arrays of a call's arguments, with their names, and how the function's arguments are made of
        these; nothing where they are these."""
        return self._names, values, ()

    def _with_extents(self, signature: Signature, values: tuple[Any, ...]) -> Signature:
        """The types of a call, with those extents of its arrays that the code knows of."""
        return signature

    def _with_source(self, error: ArgumentError, values: tuple[Any, ...]) -> ArgumentError:
        """The refusal of a call's types, with what else stands in the way if that is known."""
        return error

    def _bind(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        if not keywords and len(arguments) == len(self._names):
            return arguments
        return self._binding.bind(arguments, keywords)

    def _reconsider(self, name: str) -> None:
        """Compile anew when a call comes: a value outside of the kernel, of this name, has changed."""
        self._forget()

    def _forget(self) -> None:
        """Forget all generated kernels and their tuners, which keep what they have learned in the history."""
        with self._lock:
            tuners = list(self._tuners.values())
            self._unsettle()
            for known in (self._generated, self._tuners, self._last, self._again, self._shared, self._given):
                known.clear()
            self._borrowed.clear()
            self._failed.clear()
        for tuner in tuners:
            tuner.save()

    def _generate(self, signature: Signature, threads: int, *, may_defer: bool = False) -> tuple[str, GeneratedKernel]:
        """The kernel for types of arguments and a number of threads, whose code is the same for each.

        Args:
            signature: the types.
            threads: how many.
            may_defer: whether it may have few versions for now, where the others take long to make.
        """
        while True:
            with self._lock:
                same: tuple[str, GeneratedKernel] | None = None
                found = self._generated.get((signature, threads))
                is_new = found is None
                if found is None:
                    same = next((each for (types, _), each in self._generated.items() if types == signature), None)
                    found = (
                        self._provided(signature, may_defer=may_defer) if same is None else (same[0], same[1].again())
                    )
                    check_nodes(self._search, found[1].space)
                    self._generated[signature, threads] = found
            deferred = found[1].deferred
            if deferred is None:
                return found
            if is_new and same is None:
                deferred.then(partial(self._take_versions, signature, deferred))
            if deferred.are_lost:
                self._exchange(signature, deferred, None)
            elif may_defer:
                return found
            else:
                deferred.wait()

    def _provided(self, signature: Signature, *, may_defer: bool) -> tuple[str, GeneratedKernel]:
        """The kernel that the provider gives; its versions may be few for now, where that can make the others later."""
        return self._provider(signature)

    def _take_versions(
        self, signature: Signature, deferred: DeferredVersions[GeneratedKernel], whole: GeneratedKernel | None
    ) -> None:
        """Have calls run all versions, when the first choice among them has been compiled beside the application.

        Args:
            signature: the types of the arguments.
            deferred: the versions.
            whole: the kernel that has them; None where they could not be made beside the application.
        """
        if whole is None:
            self._may_defer = False
        elif deferred.case is not None:
            first = whole.first_choices.promising(deferred.case.parameters)[0]
            latest = time.monotonic() + _LONGEST_COMPILATION
            while not whole.is_ready(first) and time.monotonic() < latest:
                time.sleep(_BETWEEN_LOOKS)
        with self._lock:
            self._exchange(signature, deferred, whole)
            if deferred.case is not None:
                self._begin_tuning(deferred.case, whole)

    def _begin_tuning(self, case: Case, whole: GeneratedKernel | None) -> None:
        """Make the tuner of a class of calls that have gone on without all versions, before the next of them comes."""
        name, generated = self._generated.get((case.signature, case.threads), ("", None))
        if generated is not None and generated is whole:
            with suppress(PolytuneError), self._failed.noted(case):  # what is raised here the next call raises
                self._tuner(PreparedCall(name, generated, Invocation((), case.parameters, {}, {}), case))

    def _exchange(
        self, signature: Signature, deferred: DeferredVersions[GeneratedKernel], whole: GeneratedKernel | None
    ) -> None:
        """Put a kernel with all versions in the place of one that has few; with None, have it generated anew."""
        with self._lock:
            for types, threads in list(self._generated):
                name, generated = self._generated[types, threads]
                if types == signature and generated.deferred is deferred:
                    del self._generated[types, threads]
                    if whole is not None:
                        self._generated[types, threads] = name, whole
                        whole = whole.again()
            self._unsettle()

    def _without_lost_devices(self, case: Case, generated: GeneratedKernel) -> GeneratedKernel:
        """The generated kernel with the devices that are left, and no tuner that knows of more."""
        with self._lock:
            name, newest = self._generated[case.signature, case.threads]
            if newest is not generated:  # another thread was here before
                return newest
            newest = generated.again()
            self._unsettle()
            self._borrowed.clear()
            self._generated[case.signature, case.threads] = name, newest
            for known in list(self._tuners):
                if (known.signature, known.threads) == (case.signature, case.threads):
                    # The device may be back when the next process starts.
                    self._tuners.pop(known).save()
                    self._again.pop(known, None)
            return newest

    def _tuner(self, call: PreparedCall) -> OnlineTuner:
        name, generated, invocation, case = call
        with self._lock:
            tuner = self._tuners.get(case)
            if tuner is None:
                space, starts = choices_for(generated, invocation)
                key = history_key(case, name, generated)
                given = self._loaded.get((name, key.shape))
                if given is not None and space.contains(given):
                    starts = (space.configuration(**given), *starts)
                    self._given.add(case)
                tuner = self._tuners[case] = make_tuner(
                    generated,
                    case,
                    space,
                    starts,
                    key,
                    store=self._store or default_store(),
                    thresholds=self.thresholds,
                    budget=self._budget,
                    seed=self._seed,
                    search=self._search,
                )
                self._borrowed.end(case)
            return tuner

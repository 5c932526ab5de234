"""Calls of a kernel: the types decide the generated module, the sizes decide the tuner, the tuner decides the
configuration.

What compiled and embedded kernels have in common.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from polytune.errors import ArgumentError, CompilationError, DeviceError, SpaceError
from polytune.forking import renew_lock_at_fork
from polytune.history.store import HistoryStore, default_store
from polytune.runtime.arguments import signature_of
from polytune.runtime.background.compiler import background
from polytune.runtime.borrowed import BorrowedChoices
from polytune.runtime.failed_tuners import FailedTuners
from polytune.runtime.generated import GeneratedKernel
from polytune.runtime.invocation import Invocation, Outcome
from polytune.runtime.outside import OutsideValues
from polytune.runtime.partitioned.device_arrays import taken_in
from polytune.runtime.partitioned.residency import Residence
from polytune.runtime.prediction import Prediction
from polytune.runtime.prepared_run import PreparedRun
from polytune.runtime.rules import Thresholds
from polytune.runtime.settled import NOT_MADE, SettledCalls
from polytune.runtime.threads import current_threads
from polytune.runtime.tunable import Case, TunableKernel
from polytune.runtime.tuning_mode import MODES, current_mode
from polytune.runtime.tuning_problem import TuningProblem, choices_for, history_key, make_tuner
from polytune.runtime.untuned import BorrowedChoice, FixedChoice, best_known, run_first
from polytune.signature import Signature, Structure
from polytune.tracebacks import shorten, shows_frames_of_callers
from polytune.tuner import Budget, Configuration, OnlineTuner, Search, Space, check_search

__all__ = ["CallableKernel", "Case", "Provider"]

_MOST_OVERHEAD = 1e-3  # seconds: what is longer is another program's turn

Provider = Callable[[Signature], tuple[str, GeneratedKernel]]
"""Gives for a type signature a name that is the same in every process, and the generated kernel."""


class _Accepted(NamedTuple):
    """A call's arguments in order, host arrays in place of those at home on devices, and their types."""

    signature: Signature
    values: tuple[Any, ...]
    at_home: dict[str, Residence]


class _PreparedCall(NamedTuple):
    """A call whose arguments fit, and what it is one of: the generated kernel, by its name too, and the class of
    calls."""

    name: str
    generated: GeneratedKernel
    invocation: Invocation
    case: Case


class CallableKernel(TunableKernel):
    """A kernel that can be called.

    Every call is checked first, then runs the kernel exactly once, in the configuration that the tuner of these
    types and sizes chooses; the time of the run is what the tuner learns from.

    Attributes:
        background: whether versions that are to be tried are compiled in the background, while calls go on with the
            best that there is; where False, a call that tries a version waits for it.
        thresholds: from when on a device may pay; None where they are measured.
    """

    __qualname__: str

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
        self._names = tuple(signature.parameters)
        kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        self._by_position = sum(kind in positional for kind in kinds.values())
        self._by_name = frozenset(name for name, kind in kinds.items() if kind in named)
        self._defaults = {
            name: parameter.default
            for name, parameter in signature.parameters.items()
            if parameter.default is not inspect.Parameter.empty
        }
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
        self._loaded = {}
        self._given = set()
        self._seed = seed
        self._search = search
        self._lock = threading.RLock()
        renew_lock_at_fork(self)

    def __reduce__(self) -> str:
        """Kernels are pickled as functions are: by the name that they have in their module."""
        return self.__qualname__

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel once, tuned.

        Raises:
            ArgumentError: the arguments do not fit; nothing has been written.
            UnsupportedSourceError: the kernel's source cannot be compiled for arguments of these types.
        """
        try:
            mode = "frozen" if self._is_frozen else current_mode()
            whole: tuple[Any, ...] | None = arguments
            if keywords or len(arguments) != len(self._names):
                whole = self._with_defaults(arguments, keywords)
            if whole is not None:
                if self._outside and (changed := self._outside.changed()) is not None:
                    self._reconsider(changed)
                if (returned := self._settled[mode].make(whole)) is not NOT_MADE:
                    return returned
            return self._call(arguments, keywords, mode)
        except Exception as error:
            shorten(error)
            raise

    def _call(self, arguments: tuple[Any, ...], keywords: dict[str, Any], mode: str) -> Any:
        """Make a call that goes the long way, in a mode of tuning."""
        started = time.perf_counter()
        call = self._prepare(arguments, keywords)
        case = call.case
        if mode == "off" or case in self._failed:
            return self._call_untuned(call, mode)
        tuner = self._tuners.get(case)
        if tuner is None:
            lender: BorrowedChoice | None = None
            wanted: Configuration | None = None
            with self._failed.noted(case):
                lender = None if self._loaded else self._borrowed.choice(case, lambda: self.tuners)
                wanted = None if lender is None else lender.steady
                tuner = self._tuner(call) if wanted is None else None
            if lender is not None and wanted is not None:
                return self._call_first(call, mode, call.generated.space, [wanted], lambda _: lender)
            if tuner is None:
                return self._call_untuned(call, mode)
            started = time.perf_counter()  # what is made once is no cost of a trial
        if mode == "frozen":
            known = [*best_known(tuner, case in self._given)]
            return self._call_first(call, mode, tuner.space, known, lambda ran: FixedChoice(ran, tuner))
        return self._call_tuned(call, tuner, started)

    def _call_untuned(self, call: _PreparedCall, mode: str) -> Any:
        """Run a call's first choice, or what was best when its tuner failed."""
        generated, invocation = call.generated, call.invocation
        space = generated.space_for(invocation)
        wanted = self._failed.best(call.case)
        if not wanted and space is generated.space:
            with self._failed.noted(call.case):
                wanted = generated.first_choices.promising(invocation.parameters)[:1]
        return self._call_first(call, mode, space, wanted, FixedChoice)

    def _call_first(
        self,
        call: _PreparedCall,
        mode: str,
        space: Space,
        wanted: Sequence[Configuration],
        choice_of: Callable[[Configuration], FixedChoice | BorrowedChoice],
    ) -> Any:
        """Run a call that tries nothing, and return what it returns.

        Args:
            call: the call.
            mode: the mode of tuning.
            space: what there is to choose from.
            wanted: what to run, the best first.
            choice_of: of what has run, what says what such calls run, and is told of them.
        """
        configuration, outcome = run_first(call.generated, space, call.invocation, wanted)
        with self._failed.noted(call.case):
            choice = choice_of(configuration)
            choice.report(configuration, outcome.seconds)
            self._note_settled(call, mode, choice, configuration)
        return outcome.result

    def _note_settled(
        self,
        call: _PreparedCall,
        mode: str,
        choice: OnlineTuner | FixedChoice | BorrowedChoice,
        configuration: Configuration,
    ) -> None:
        """Have calls like one go the short way.

        Args:
            call: the call.
            mode: the mode of tuning.
            choice: what says what such calls run.
            configuration: what the call has run.
        """
        structure = call.case.signature.structure
        settled = self._settled[mode]
        settled.note(call.generated, choice, configuration, call.invocation, call.case.threads, structure=structure)

    def _call_tuned(self, call: _PreparedCall, tuner: OnlineTuner, started: float) -> Any:
        """Run a call in the configuration that a tuner chooses, and tell it what that took.

        Args:
            call: the call.
            tuner: that of its class.
            started: since when the call takes time, as ``time.perf_counter`` has it.
        """
        name, generated, invocation, case = call
        failure: CompilationError | None = None
        is_exhausted = False
        while True:
            configuration: Configuration | None = None
            activity, asks = background.activity, tuner.steady is None
            again = self._again.pop(case, None) if self._again else None
            with self._failed.noted(case, tuner):
                try:
                    configuration = again or tuner.choose(generated.is_ready if self.background else None)
                except SpaceError:
                    is_exhausted = True
            if is_exhausted:
                raise failure or CompilationError(f"no version of {name} could be compiled before")
            if configuration is None:
                return self._call_untuned(_PreparedCall(name, generated, invocation, case), "on")
            try:
                outcome = generated.run(configuration, invocation)
            except CompilationError as error:
                # Nothing has been written: another configuration serves the call, unless none is left.
                if isinstance(error.__cause__, DeviceError):
                    generated.warn(error.__cause__, configuration)
                with self._failed.noted(case, tuner):
                    if generated.has_lost_devices:
                        tuner.abandon(configuration)
                        generated = self._without_lost_devices(case, generated)
                        tuner = self._tuner(_PreparedCall(name, generated, invocation, case))
                    else:
                        tuner.fail(configuration, str(error))
                if case in self._failed:
                    return self._call_untuned(_PreparedCall(name, generated, invocation, case), "on")
                failure = error
                continue
            except BaseException:
                with self._failed.noted(case, tuner):
                    tuner.abandon(configuration)
                raise
            disturbed = background.disturbs_since(activity)
            beside = time.perf_counter() - started - outcome.seconds - outcome.compile_seconds
            with self._failed.noted(case, tuner):
                self._learn(
                    case,
                    tuner,
                    generated,
                    configuration,
                    outcome,
                    overhead=min(max(0.0, beside), _MOST_OVERHEAD) if asks else 0.0,
                    moves=invocation.has_residents,
                    disturbed=disturbed,
                )
                if tuner.steady is configuration:
                    self._note_settled(_PreparedCall(name, generated, invocation, case), "on", tuner, configuration)
            return outcome.result

    def _learn(
        self,
        case: Case,
        tuner: OnlineTuner,
        generated: GeneratedKernel,
        configuration: Configuration,
        outcome: Outcome,
        *,
        overhead: float,
        moves: bool,
        disturbed: bool,
    ) -> None:
        """Tell the tuner what became of a call.

        Args:
            case, tuner, generated, configuration, outcome: the call.
            overhead: by how many seconds it was longer than the run, as the tuner was asked; 0 where it was not.
            moves: whether arrays that stay on devices first have to come to where a configuration wants them.
            disturbed: whether versions were being compiled in the background meanwhile.
        """
        if outcome.failure is not None:
            if generated.has_lost_devices:
                # It is the device that has failed, perhaps until the next start of the machine.
                tuner.abandon(configuration)
                self._without_lost_devices(case, generated)
            else:
                tuner.fail(configuration, outcome.failure, compile_seconds=outcome.compile_seconds)
            return
        if moves and self._last.get(case) != configuration:
            # The next call finds everything in place, and measures it.
            self._last[case] = self._again[case] = configuration
            disturbed = goes_on = True
        else:
            goes_on = False
        tuner.report(
            configuration,
            outcome.seconds,
            compile_seconds=outcome.compile_seconds,
            overhead=overhead,
            disturbed=disturbed,
            goes_on=goes_on,
        )
        if goes_on:
            return
        if outcome.shares:
            self._shared[case] = configuration, outcome

    @shows_frames_of_callers
    def run(self, configuration: Mapping[str, Any], /, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel once in exactly one configuration; nothing is tuned or remembered.

        Args:
            configuration: a value for each parameter of the space of these arguments that matters, by name.
            arguments, keywords: those of a call, positional and by name.

        Raises:
            SpaceError: the configuration is not in the space of these arguments.
            ArgumentError: the arguments do not fit; nothing has been written.
        """
        return self.prepared(configuration, *arguments, **keywords).run().result

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
        signature, values, at_home = self._accept(arguments, keywords)
        threads = current_threads()
        _, generated = self._generate(signature, threads)
        generated.space.validate(configuration)
        invocation = generated.prepare(values, at_home)
        case = Case(signature, invocation.parameters, threads, invocation.places)
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
        signature = self._accept(arguments, keywords).signature
        return self._generate(signature, current_threads())[1]

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

    @property
    def shared(self) -> dict[Case, tuple[Configuration, Outcome]]:
        """The last run that was shared among platforms, and its configuration, by what the calls have in common."""
        return dict(self._shared)

    def _accept(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> _Accepted:
        if self._outside:
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
        if any(type(value) is np.ndarray and 1 in value.shape for value in values):
            signature = self._with_ones(signature, values)
        return _Accepted(signature, values, at_home)

    def _prepare(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> _PreparedCall:
        signature, values, at_home = self._accept(arguments, keywords)
        threads = current_threads()
        name, generated = self._generated.get((signature, threads)) or self._generate(signature, threads)
        invocation = generated.prepare(values, at_home)
        case = Case(signature, invocation.parameters, threads, invocation.places)
        return _PreparedCall(name, generated, invocation, case)

    def _taken_apart(
        self, values: tuple[Any, ...]
    ) -> tuple[tuple[str, ...], tuple[Any, ...], tuple[tuple[str, Structure], ...]]:
        """The numbers and arrays of a call's arguments, with their names, and how the function's arguments are made of
        these; nothing where they are these."""
        return self._names, values, ()

    def _with_ones(self, signature: Signature, values: tuple[Any, ...]) -> Signature:
        """The types of a call in which extents are 1, with those that the code must know of."""
        return signature

    def _with_source(self, error: ArgumentError, values: tuple[Any, ...]) -> ArgumentError:
        """The refusal of a call's types, with what else stands in the way if that is known."""
        return error

    def _with_defaults(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...] | None:
        """The values of all parameters, as `_bind` has them, in less time; None where they do not fit."""
        if len(arguments) > self._by_position or not keywords.keys() <= self._by_name:
            return None
        rest = self._names[len(arguments) :]
        if not keywords.keys() <= set(rest):
            return None
        try:
            values = [keywords[name] if name in keywords else self._defaults[name] for name in rest]
        except KeyError:
            return None
        return *arguments, *values

    def _bind(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        if not keywords and len(arguments) == len(self._names):
            return arguments
        try:
            bound = self.__signature__.bind(*arguments, **keywords)
        except TypeError as error:
            no_method = "; a kernel is bound to no object: make it a function of the arrays that it uses"
            hint = no_method if self._names[:1] == ("self",) else ""
            raise ArgumentError(f"{self.__name__}{self.__signature__}: {error}{hint}") from None
        bound.apply_defaults()
        return tuple(bound.arguments[name] for name in self._names)

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

    def _generate(self, signature: Signature, threads: int) -> tuple[str, GeneratedKernel]:
        """The kernel for types of arguments and a number of threads, whose code is the same for each."""
        with self._lock:
            found = self._generated.get((signature, threads))
            if found is None:
                same = next((each for (types, _), each in self._generated.items() if types == signature), None)
                found = self._provider(signature) if same is None else (same[0], same[1].again())
                self._generated[signature, threads] = found
            return found

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

    def _tuner(self, call: _PreparedCall) -> OnlineTuner:
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

"""Calls of a kernel: the tuner of a call's class decides the configuration, and learns from the time.

What compiled and embedded kernels have in common.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from polytune.errors import CompilationError, DeviceError, SpaceError
from polytune.runtime.background.compiler import background
from polytune.runtime.calls.invocation import Outcome
from polytune.runtime.calls.prepared_calls import PreparedCall, PreparingKernel
from polytune.runtime.calls.settled import NOT_MADE
from polytune.runtime.calls.untuned import BorrowedChoice, FixedChoice, WaitingChoice, best_known, run_first
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.tuning.tunable import Case
from polytune.runtime.tuning.tuning_mode import mode_of_block, mode_of_process
from polytune.tracebacks import shorten
from polytune.tuner import Configuration, OnlineTuner, Space

__all__ = ["CallableKernel"]

_LONG_CALL = 1.0  # seconds: about as many as making all versions takes
_LONGEST_WAIT = 8.0  # seconds for which such a call waits for them; those of many statements may take longer

_MOST_OVERHEAD = 1e-3  # seconds: what is longer is another program's turn


class CallableKernel(PreparingKernel):
    """A kernel that can be called.

    Every call is checked first, then runs the kernel exactly once, in the configuration that the tuner of these
    types and sizes chooses; the time of the run is what the tuner learns from.

    Attributes:
        background: whether versions that are to be tried are compiled in the background, while calls go on with the
            best that there is; where False, a call that tries a version waits for it.
    """

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel once, tuned.

        Raises:
            ArgumentError: the arguments do not fit; nothing has been written.
            UnsupportedSourceError: the kernel's source cannot be compiled for arguments of these types.
        """
        try:
            mode = "frozen" if self._is_frozen else mode_of_block() or mode_of_process()
            whole: tuple[Any, ...] | None = arguments
            if keywords or len(arguments) != len(self._names):
                whole = self._binding.bind_quickly(arguments, keywords)
            if whole is not None:
                if self._outside is not None and (changed := self._outside.changed()) is not None:
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
        may_defer = mode == "on" and self.background and self._may_defer and not self._loaded
        call = self._prepare(arguments, keywords, may_defer=may_defer)
        deferred = call.generated.deferred
        if deferred is not None:
            if not self._takes_long(call) or not deferred.are_taken_within(_LONGEST_WAIT):
                try:
                    return self._call_untuned(call, mode)
                except CompilationError:
                    pass  # nothing has been written, and there are other versions
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

    def _takes_long(self, call: PreparedCall) -> bool:
        """Return whether a call is expected to take longer than it takes to make the versions that are deferred."""
        assert call.generated.deferred is not None
        call.generated.deferred.case = call.case
        with self._failed.noted(call.case):
            choices, sizes = call.generated.first_choices, call.invocation.parameters
            seconds = choices.prediction(sizes).seconds(choices.promising(sizes)[0])
            return seconds is not None and seconds > _LONG_CALL
        return False

    def _call_untuned(self, call: PreparedCall, mode: str) -> Any:
        """Run a call's first choice, or what was best when its tuner failed."""
        generated, invocation = call.generated, call.invocation
        space = generated.space_for(invocation)
        wanted = self._failed.best(call.case)
        if not wanted and space is generated.space:
            with self._failed.noted(call.case):
                wanted = generated.first_choices.promising(invocation.parameters)[:1]
        if (deferred := generated.deferred) is None:
            return self._call_first(call, mode, space, wanted, FixedChoice)
        leaves_core = deferred.are_overdue()
        if leaves_core:
            wanted = tuple(generated.first_choices.fewer_threads(each) or each for each in wanted)
        waiting = partial(WaitingChoice, leaves_core=leaves_core, is_overdue=deferred.are_overdue)
        return self._call_first(call, mode, space, wanted, waiting)

    def _call_first(
        self,
        call: PreparedCall,
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
        call: PreparedCall,
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
        note = partial(settled.note, call.generated, choice, configuration, call.invocation, call.case.threads)
        if call.generated.deferred is None:
            note(structure=structure)
            return
        with self._lock:  # unless all versions have taken its place meanwhile
            _, newest = self._generated.get((call.case.signature, call.case.threads), (call.name, None))
            if newest is call.generated:
                note(structure=structure)

    def _call_tuned(self, call: PreparedCall, tuner: OnlineTuner, started: float) -> Any:
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
                return self._call_untuned(PreparedCall(name, generated, invocation, case), "on")
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
                        tuner = self._tuner(PreparedCall(name, generated, invocation, case))
                    else:
                        tuner.fail(configuration, str(error))
                if case in self._failed:
                    return self._call_untuned(PreparedCall(name, generated, invocation, case), "on")
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
                    self._note_settled(PreparedCall(name, generated, invocation, case), "on", tuner, configuration)
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

    @property
    def shared(self) -> dict[Case, tuple[Configuration, Outcome]]:
        """The last run that was shared among platforms, and its configuration, by what the calls have in common."""
        return dict(self._shared)

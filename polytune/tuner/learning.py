"""The knowledge that an online tuner gains from a call."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from polytune.tuner.budget import seconds_text
from polytune.tuner.online_state import OnlineState
from polytune.tuner.spaces.configuration import Configuration

__all__ = ["Learning"]

_MUCH_LONGER = 1.5
"""The most times longer than it is known to take that a call may be until the rest is taken for a delay of the
machine."""


class Learning(OnlineState):
    """Takes what a call took into the search, the account and the log."""

    def _take_call(
        self,
        configuration: Configuration,
        seconds: float,
        compile_seconds: float,
        disturbed: bool,
        goes_on: bool,
        is_opening: bool,
        is_stand_in: bool,
    ) -> None:
        """Learn from a call what its kind allows.

        Args:
            configuration, seconds, compile_seconds, disturbed, goes_on: as for `OnlineTuner.report`.
            is_opening: whether it ran in the place of waiting for the first choice.
            is_stand_in: whether it ran with fewer threads, as a core is busy.
        """
        if is_opening:  # beside the compiler of the first choice
            self._ledger.disturbed_calls += 1
            self._fewer_threads.note(configuration, seconds)
            return
        if disturbed or is_stand_in:
            self._take_disturbed(configuration, seconds, compile_seconds, goes_on=goes_on)
            if not disturbed:
                self._stand_in = None
                self._disturbance.end()
            return
        self._disturbance.end()
        if self._settled is None or configuration != self._settled:
            self._learn(configuration, seconds, compile_seconds)
            return
        self._ledger.compare(None, self._reference)
        if self._drift.observe(seconds, self._reference):
            self._drifted()

    def _take_in(
        self,
        configuration: Configuration,
        seconds: float,
        compile_seconds: float = 0.0,
        overhead: float = 0.0,
        *,
        disturbed: bool = False,
        goes_on: bool = False,
    ) -> None:
        """Take in a call.

        Args:
            configuration, seconds, compile_seconds, overhead, disturbed, goes_on: as for `OnlineTuner.report`.
        """
        is_default = configuration == self._default
        if is_default:
            self._default = configuration  # the object that comes next time as well: comparing it takes no time
        is_stand_in = self._stand_in is not None and configuration == self._stand_in
        is_opening = self._opening is not None and (is_stand_in or configuration == self._opening)
        unavoidable = compile_seconds if is_default or is_opening else 0.0
        compile_seconds -= unavoidable
        self._note_in_log(configuration, seconds, is_opening=is_opening)
        self._take_call(configuration, seconds, compile_seconds, disturbed, goes_on, is_opening, is_stand_in)
        if overhead and not (disturbed or is_opening):
            self._take_overhead(overhead)
        if self._resting is not None:
            self._rested(disturbed=disturbed)
        self._count(configuration, seconds, compile_seconds, unavoidable)

    def _take_overhead(self, overhead: float) -> None:
        """Take in by how many seconds a call was longer than its run, as the tuner was asked."""
        self._overhead = overhead if not self._overhead else min(overhead, 2 * self._overhead)
        if self._resting is None and self._settled is None:
            self._ledger.charge(overhead)

    def _count(self, configuration: Configuration, seconds: float, compile_seconds: float, unavoidable: float) -> None:
        """Enter a call in the account.

        Args:
            configuration: what was run.
            seconds: its run time.
            compile_seconds: what it took to compile it, as far as that is a cost of tuning.
            unavoidable: the same as far as it is none.
        """
        ledger = self._ledger
        self._log.count()
        ledger.calls += 1
        ledger.total_seconds += seconds
        ledger.default_compile_seconds += unavoidable
        if self._previous is not configuration:
            self._previous = configuration
            self._prospects.run.add(self._prospects.kind(configuration))
        if compile_seconds or unavoidable:
            ledger.longest_compile_seconds = max(ledger.longest_compile_seconds, compile_seconds, unavoidable)
            ledger.compile_seconds += compile_seconds
            ledger.lost_seconds += compile_seconds

    def _learn(self, configuration: Configuration, seconds: float, compile_seconds: float) -> None:
        search, ledger, kind = self._search, self._ledger, self._prospects.kind(configuration)
        best, is_racing, is_defending = search.best, search.is_racing, search.is_defending
        known = search.measurements.get(configuration)
        # What has been measured before costs what it is known to cost: the best would have had the same delay.
        usual = seconds if known is None else min(seconds, _MUCH_LONGER * known.estimate)
        search.tell(configuration, seconds)
        is_best = best is not None and configuration == best[0]
        # A call of the best after one of something else finds the caches as that has left them.
        is_settled_in = is_best and self._previous == configuration
        lost = 0.0 if best is None or is_settled_in else max(0.0, usual - best[1])
        ledger.lost_seconds += lost
        if configuration == self._trial:
            is_first = kind not in self._prospects.measured
            counts = best is not None and not is_best and not is_defending
            self._end_trial(lost, compile_seconds, is_weighed=not is_racing, is_first=is_first, counts=counts)
        self._prospects.measured.add(kind)
        if not is_best:
            self._changed(configuration)
        now = search.best
        if now is not None:
            if best is None or now[0] != best[0]:
                self._log.tell(logging.INFO, "found the best so far,", now[0], seconds_text(now[1]))
            if best is None or now[0] != best[0] or configuration == self._default or is_racing > search.is_racing:
                self._compare_default(now)
            ledger.compare(None if is_best else usual, now[1])
        self._judge_history()

    def _take_steady(self, configuration: Configuration, times: Sequence[float]) -> int:
        """Take in calls of what runs whoever asks.  Return how many of them; the next one has to be learned from.

        Args:
            configuration: what they ran.
            times: the seconds of each, in order.
        """
        if configuration is self._settled:
            reference, observe = self._reference, self._drift.observe
            drifted = next((place for place, seconds in enumerate(times) if observe(seconds, reference)), None)
            count = len(times) if drifted is None else drifted + 1
            self._ledger.compare_best(reference, count)
            if drifted is not None:
                self._drifted()
        elif configuration is self._resting and not self._rests_disturbed:
            count = min(len(times), max(0, self._calls_of_rest - 1))
            self._calls_of_rest -= count
            self._ledger.compare_best(self._ledger.best_seconds, count)
            self._is_after_trial = self._is_after_trial and not count
        else:
            return 0
        ledger = self._ledger
        ledger.calls += count
        ledger.total_seconds = sum(times[:count], ledger.total_seconds)
        self._disturbance.is_on = self._disturbance.is_on and not count
        self._log.count(count)
        return count

    def _rested(self, *, disturbed: bool) -> None:
        """Count a call in which nothing was asked; something is asked again once what runs is not the best any more,
        and once something begins or ends to disturb calls."""
        self._calls_of_rest -= 1
        best = self._search.best
        if disturbed != self._rests_disturbed or self._calls_of_rest <= 0 or best is None or best[0] != self._rests_for:
            self._resting = self._stand_in = None

    def _compare_default(self, best: tuple[Configuration, float]) -> None:
        """Note how many times longer than the best the default takes, as both have been measured now."""
        default = self._search.measurements.get(self._default)
        if default is not None and best[1] > 0:
            self._ledger.gain = default.estimate / best[1]

    def _take_disturbed(
        self, configuration: Configuration, seconds: float, compile_seconds: float, *, goes_on: bool
    ) -> None:
        """Learn from a call that was disturbed what can be told: of a trial, where it is known by how much calls are
        longer for now; of the best, just that."""
        search, ledger, disturbance = self._search, self._ledger, self._disturbance
        best, is_trial = search.best, configuration == self._trial
        self._fewer_threads.note(configuration, seconds)
        if self._settled is not None:
            self._instead_of(self._settled)
        if best is None or self._settled is not None or goes_on:
            self._set_aside(configuration, seconds, goes_on=goes_on)
            return
        disturbance.is_on = True
        if configuration == best[0]:
            disturbance.note(seconds, best[1])
        slowdown = disturbance.slowdown
        if configuration == best[0] or not is_trial or slowdown is None or search.is_racing:
            self._set_aside(configuration, seconds, goes_on=False)
            return
        undisturbed = seconds / slowdown
        ledger.lost_seconds += seconds - undisturbed
        ledger.disturbed_seconds += seconds - undisturbed
        self._learn(configuration, undisturbed, compile_seconds)

    def _note_in_log(self, configuration: Configuration, seconds: float, *, is_opening: bool) -> None:
        """Enter a call in the log, if it runs something other than the best."""
        best = self._search.best
        is_best = best is not None and configuration in (best[0], self._stand_in)
        self._is_after_trial = not is_best
        if is_opening:
            if not self._log:
                self._log.add(configuration, seconds, "compiled in no time, while the first choice is compiled")
        elif not is_best:
            self._log.add(configuration, seconds, self._why(configuration))

    def _why(self, configuration: Configuration) -> str:
        """Return why something other than the best is run."""
        search, prospects, pruned = self._search, self._prospects, self._pruned
        if search.best is None and pruned is not None and configuration in pruned.candidates:
            return f"good elsewhere, by {pruned.sources}"
        if search.best is None:
            return "the first choice"
        if search.is_racing:
            return "against the default, which may be faster" if search.is_defending else "in a race for the best"
        if configuration in search.measurements:
            return "measured again, as it may be the best"
        if pruned is not None and configuration in pruned.candidates:
            return f"good elsewhere, by {pruned.sources}"
        if pruned is not None and not pruned.contains(configuration):
            return "to see whether what was good elsewhere is good here"
        if prospects.kind(configuration) in prospects.measured:
            return "other numbers"
        return "code that has not been run before"

    def _set_aside(self, configuration: Configuration, seconds: float, *, goes_on: bool) -> None:
        """Count a call that was disturbed, and learn nothing from it."""
        best, ledger = self._search.best, self._ledger
        self._search.interrupt()
        ledger.disturbed_calls += 1
        if best is not None:
            lost = max(0.0, seconds - best[1])
            ledger.lost_seconds += lost
            ledger.disturbed_seconds += lost
            ledger.compare(None, best[1])
        if configuration == self._trial and not goes_on:
            self._trial = None

    def _end_trial(
        self,
        lost: float,
        compile_seconds: float,
        *,
        is_weighed: bool = True,
        is_first: bool = False,
        counts: bool = True,
    ) -> None:
        self._trial = None
        best = self._search.best
        if counts:
            known = best[1] if best is not None and is_weighed else None
            self._ledger.add_trial(lost, compile_seconds, known, is_first=is_first)

"""The choice of the configuration that a call of an online tuner runs."""

from __future__ import annotations

from collections.abc import Callable

from polytune.tuner.disturbance import SHORT_CALL
from polytune.tuner.online_state import OnlineState
from polytune.tuner.spaces.configuration import Configuration

__all__ = ["Choosing"]

# After how many calls it is asked again whether something may be tried: so many seconds, but
_REST_SECONDS = 1e-3
_REST, _LONGEST_REST = 16, 1000
_SHARE_OF_QUESTIONS = 0.01  # of the time of calls that asking may take
_PATIENCE = 256  # choices after which a trial that nobody has reported is offered again


class Choosing(OnlineState):
    """The best configuration known, or one that the search wants to know more of, where the budget bears it."""

    def _choose(self, is_ready: Callable[[Configuration], bool] | None) -> Configuration:
        self._stand_in = None
        if self._opening is not None:
            first = self._opening_call(self._opening, is_ready)
            if first is not None:
                return first
        self._resting = None
        if self._searched and self._ledger.calls >= self._whole_space_after:
            self._leave_pruned(self._searched)
        best = self._search.best
        chosen = self._chosen_unasked(best)
        if chosen is not None:
            return chosen
        configuration = self._proposal(is_ready)
        if self._search.converged:
            return self._chosen_at_end(configuration)
        chosen = None if best is None else self._chosen_instead(configuration, best, is_ready)
        if chosen is not None:
            return chosen
        self._refused_for_now = ""
        self._trial, self._choices_since_trial = configuration, 0
        return configuration

    def _chosen_unasked(self, best: tuple[Configuration, float] | None) -> Configuration | None:
        """Return what is run without asking the search: while a trial is under way, or nothing may be tried; None where
        the search is asked."""
        if self._trial is not None:
            self._choices_since_trial += 1
            if self._choices_since_trial < _PATIENCE:
                return best[0] if best is not None else self._trial
        elif best is not None and self._objection() is not None:
            return self._rest(best)
        elif best is not None and self._is_best_run_while_disturbed(best[1]):
            return self._run_best_while_disturbed(best)
        return None

    def _chosen_at_end(self, configuration: Configuration) -> Configuration:
        """Return what is run once the search has converged, of a part of the space or of all of it."""
        best = self._search.best
        if self._pruned is not None:
            self._end_pruned("all of it has been searched", is_wrong=False)
            return best[0] if best is not None else configuration
        self._settle()
        return self._settled or configuration

    def _chosen_instead(
        self,
        configuration: Configuration,
        best: tuple[Configuration, float],
        is_ready: Callable[[Configuration], bool] | None,
    ) -> Configuration | None:
        """Return what is run in place of a trial of what the search asks for: the best one, where it asks for that, and
        where the trial has to wait; None for the trial.

        Args:
            configuration: what the search asks for.
            best: the best one, and what it takes.
            is_ready: as for `OnlineTuner.choose`.
        """
        search = self._search
        is_beside = is_ready is not None
        wait = 0.0 if is_beside else self._prospects.preparation(configuration, self._ledger)[0]
        objection = self._objection(self._loss(configuration, is_beside=is_beside), wait)
        if objection is not None and (configuration != best[0] or search.is_racing):
            self._refused_for_now = objection
            return self._rest(best)
        if configuration == best[0] and search.is_racing:
            return configuration  # its turn
        if configuration == best[0] and search.postponed and not search.is_asking:
            self._rest_for(best)  # nothing else may be tried for now
            return configuration
        if self._must_wait(configuration, is_ready):
            return self._rest(best)
        if self._is_best_run_while_disturbed(best[1]):
            return self._run_best_while_disturbed(best)
        return None

    def _opening_call(
        self, opening: Configuration, is_ready: Callable[[Configuration], bool] | None
    ) -> Configuration | None:
        """Return what is run while the first choice is compiled beside the program; None where nothing is waited
        for."""
        best = self._search.best
        first = best[0] if best is not None else self._search.ask()
        if is_ready is None or first == opening or is_ready(first):
            self._opening = self._awaited = None
            return None
        self._awaited = first
        return self._instead_of(opening)

    def _is_best_run_while_disturbed(self, seconds: float) -> bool:
        """Return whether the best configuration is run, as something slows calls down, and nobody knows by how much:
        every other call, and while there is a race, which can wait, or a budget that has no room for surprises.  Of
        short calls too little can be told to try anything meanwhile.

        Args:
            seconds: what the best takes.
        """
        disturbance = self._disturbance
        return disturbance.is_on and (
            self._budget.reserves
            or self._search.is_racing
            or seconds < SHORT_CALL
            or disturbance.slowdown is None
            or self._is_after_trial
        )

    def _run_best_while_disturbed(self, best: tuple[Configuration, float]) -> Configuration:
        """Return the best, which shows after a trial by how much calls are slowed down; else, where that is faster, the
        same with fewer threads.  While calls are short, none of them tries anything, so that nothing is asked."""
        if self._is_after_trial:
            return self._pause(best[0])
        return self._rest(best) if best[1] < SHORT_CALL else self._pause(self._instead_of(best[0]))

    def _rest(self, best: tuple[Configuration, float]) -> Configuration:
        """Run the best in the next calls, too."""
        self._rest_for(best)
        return self._pause(self._resting or best[0])

    def _rest_for(self, best: tuple[Configuration, float]) -> None:
        """Ask again only after some calls: what may not be tried now may not be tried right after it either, and to ask
        takes longer than a short call."""
        calls = _REST_SECONDS / best[1] if best[1] > 0 else _LONGEST_REST
        if calls < 1:
            return  # to ask takes no time beside a call
        self._resting = self._rests_for = best[0]
        if not self._disturbance.is_on:
            calls = max(_REST, calls, self._overhead / (_SHARE_OF_QUESTIONS * best[1]))
        else:
            self._resting = self._instead_of(best[0])
            calls = self._fewer_threads.calls_until_look
        self._calls_of_rest = int(min(calls, _LONGEST_REST))
        self._rests_disturbed = self._disturbance.is_on

    def _pause(self, best: Configuration) -> Configuration:
        """Run the best, whatever was asked for."""
        self._search.interrupt()
        return best

    def _proposal(self, is_ready: Callable[[Configuration], bool] | None) -> Configuration:
        """Return what the search asks for next, without what would be too dear if it were as slow as it may be, and
        without what has to be compiled first: that is set aside until it is ready, and what is ready is tried
        meanwhile."""
        search = self._search
        held = None if search.is_racing else self._next_of_postponed()
        if held is not None and not self._is_too_dear(held) and not self._must_wait(held, is_ready):
            search.resume(held)
        configuration = search.ask()
        while self._is_too_dear(configuration) or self._must_wait(configuration, is_ready):
            if not search.postpone():
                break
            configuration = search.ask()
        return configuration

    def _next_of_postponed(self) -> Configuration | None:
        """Return, of what was set aside, what is compiled, or else what promises most for the time of a compiler."""
        postponed, best = self._search.postponed, self._search.best
        if len(postponed) < 2 or self._awaited in postponed or best is None:
            return self._awaited if self._awaited in postponed else next(iter(postponed), None)
        return max(postponed, key=lambda each: self._prospects.promise(each, best, self._ledger))

    def _must_wait(self, configuration: Configuration, is_ready: Callable[[Configuration], bool] | None) -> bool:
        """Return whether a configuration is not ready to be run; where it may be, compiling it begins."""
        best, prospects, ledger = self._search.best, self._prospects, self._ledger
        if best is None or configuration == best[0]:
            return False
        if is_ready is None:
            return self._would_wait_too_long(configuration)
        kind = prospects.kind(configuration)
        begun = self._awaited is not None and prospects.kind(self._awaited) == kind
        if not begun and self._awaited is not None and kind not in prospects.run:
            return True  # one after the other
        if not begun and prospects.needs_compiler(configuration, ledger):
            objection = self._budget.objection_to_disturbance(ledger, prospects.disturbance(configuration, ledger))
            if objection is None and self._budget.weighs:
                objection = prospects.objection_to_compiling(configuration, best, ledger)
            objection = objection or self._objection(self._loss(configuration, is_beside=True))
            if objection is not None:
                self._refused_for_now = objection
                return True
        if is_ready(configuration):
            if begun:
                self._awaited = None
            return False
        if not begun and self._awaited is None:
            self._awaited = configuration
            self._disturbance.is_on = True  # from this call on
        return True

    def _would_wait_too_long(self, configuration: Configuration) -> bool:
        """Return whether a call that waits for a compiler would wait longer than it may by now, and something else is
        tried; a budget that saves up for what it may lose waits."""
        if self._budget.reserves:
            return False
        wait, _ = self._prospects.preparation(configuration, self._ledger)
        objection = self._budget.objection_to_wait(self._ledger, wait)
        if objection is not None:
            self._refused_for_now = objection
        return objection is not None

    def _is_too_dear(self, configuration: Configuration) -> bool:
        return self._prospects.is_too_dear(configuration, self._search, self._ledger, self._budget)

    def _loss(self, configuration: Configuration, *, is_beside: bool) -> float:
        """Return how many seconds it may lose to try a configuration."""
        return self._prospects.loss(
            configuration, self._search, self._ledger, self._budget, is_beside=is_beside, awaited=self._awaited
        )

    def _objection(self, expected: float = 0.0, wait: float = 0.0) -> str | None:
        found = self._prospects.objection(self._search, self._ledger, self._budget, expected, wait)
        return found if found is not None or self._search.is_racing else self._waits_for_history()

    def _why_paused(self) -> str | None:
        """Return why nothing is tried for now; None where something may be, or nothing needs to be."""
        search = self._search
        if self._settled is not None or search.best is None:
            return None
        reason = self._objection() or self._refused_for_now
        if not reason and search.postponed and not search.is_asking:
            if self._budget.seconds is not None:
                return f"all that is left to try may lose more than what is left of {self._budget.seconds:g} s"
            return "what is left to try may take far longer than the best, and waits until tuning has saved as much"
        return reason or None

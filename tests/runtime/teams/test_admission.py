"""Admission: in whatever order the threads of a team come to take their steps, no helper sleeps through a call.

The functions of `polytune.runtime.teams.admission` run here as they stand, interpreted, with a dictionary for a
mailbox. Every access to a word is a step, and a schedule says which thread takes the next one; so threads can be
stopped anywhere, as a busy machine does it.  Nothing waits for time, and a team of which all sleep has lost a signal.
"""

import itertools
import random
import threading

import pytest

from polytune.runtime.teams import admission

CALLS = 2
STEPS = 60
"""About as many as a caller of two calls and its helper take together."""


class Asleep(Exception):
    """All threads wait for one another."""


class Team:
    """A caller and helpers at a mailbox, of whom one thread at a time takes steps.

    Args:
        monkeypatch: pytest's.
        helpers: how many.
        turns: after which steps (numbers, ascending) another thread goes on, and where in the list of those that can.
    """

    def __init__(self, monkeypatch, helpers, turns):
        self.words, self.signalled, self.came = {}, dict.fromkeys(range(1, helpers + 1), False), set()
        self.helpers, self.turns = helpers, dict(turns)
        self.step_number, self.running, self.failure = 0, 0, None
        self.waits_for = {}  # for each thread that has not ended: what it waits for
        self.turn_of = {number: threading.Semaphore(0) for number in range(helpers + 1)}
        self.done = threading.Semaphore(0)
        for name in ("_store_release", "_store_in_order"):
            monkeypatch.setattr(admission, name, self.store)
        for name in ("load_acquire", "_load_in_order"):
            monkeypatch.setattr(admission, name, self.load)
        for name, replacement in {
            "_exchange": self.exchange,
            "fetch_add": self.fetch_add,
            "call_version": self.work,
            "signal": self.signal,
            "await_event": self.await_event,
            "pause": self.step,
            "_core": lambda: -1,
            "ticks": lambda: 0,
            "_FEW_PAUSES": 2,
            "_MANY_PAUSES": 2,
            "_PAUSES_BEFORE_LEAVING": 2,
        }.items():
            monkeypatch.setattr(admission, name, replacement)

    def run(self):
        """Let the team make its calls and end.

        Raises:
            Asleep: it does not come to that.
        """
        jobs = [self.call] + [lambda number=number: admission.serve.py_func(0, number) for number in self.signalled]
        threads = [threading.Thread(target=self.live, args=job, daemon=True) for job in enumerate(jobs)]
        self.waits_for = dict.fromkeys(range(len(threads)))
        for number in self.signalled:
            self.words[admission.event(number)] = number
        for thread in threads:
            thread.start()
        self.turn_of[0].release()
        assert self.done.acquire(timeout=60)
        if self.failure is not None:
            raise self.failure
        for thread in threads:
            thread.join(60)

    def call(self):
        for number in range(CALLS):
            self.step(lambda: not self.words.get(admission._ADMISSION, 0) & admission._INSIDE)
            admission.lead.py_func(0, None, number, self.helpers + 1)
        admission.dismiss.py_func(0, self.helpers)

    def live(self, number, job):
        self.turn_of[number].acquire()
        try:
            job()
        except BaseException as error:
            self.failure = error
            self.done.release()
            return
        del self.waits_for[number]
        self.hand_over(0)

    def hand_over(self, choice):
        """Let one of the threads that can go on do so, the next one by number unless ``choice`` says otherwise."""
        if not self.waits_for:
            self.done.release()
            return
        able = [number for number, waits in self.waits_for.items() if waits is None or waits()]
        if not able:
            raise Asleep(f"after {self.step_number} steps all threads wait")
        able.sort(key=lambda number: (number - self.running - 1) % (self.helpers + 1))
        self.running = able[choice % len(able)]
        self.turn_of[self.running].release()

    def step(self, waits=None):
        """The running thread takes a step, and first waits for something if ``waits`` is given."""
        self.step_number += 1
        assert self.step_number < 10_000
        choice = self.turns.get(self.step_number)
        if choice is not None or (waits is not None and not waits()):
            me = self.running
            self.waits_for[me] = waits
            self.hand_over(choice or 0)
            self.turn_of[me].acquire()
            self.waits_for[me] = None

    def store(self, mailbox, position, value):
        self.step()
        self.words[position] = value

    def load(self, mailbox, position):
        self.step()
        return self.words.get(position, 0)

    def exchange(self, mailbox, position, expected, value):
        self.step()
        found = self.words.get(position, 0) == expected
        if found:
            self.words[position] = value
        return found

    def fetch_add(self, mailbox, position, value):
        self.step()
        before = self.words.get(position, 0)
        self.words[position] = before + value
        return before

    def signal(self, number):
        self.step()
        assert not self.signalled[number], "an event was signalled twice before it was awaited"
        self.signalled[number] = True

    def await_event(self, number):
        self.step(lambda: self.signalled[number])
        self.signalled[number] = False

    def work(self, function, context, worker, workers):
        """Work of which the caller's part is done when all helpers have come."""
        if worker:
            assert (context, worker) not in self.came, "a helper came twice"
            self.came.add((context, worker))
            self.step()
        else:
            self.step(lambda: all((context, number) in self.came for number in self.signalled))


@pytest.mark.parametrize("turns", [1, 2])
def test_a_helper_comes_to_every_call_wherever_threads_are_stopped(monkeypatch, turns):
    for steps in itertools.combinations(range(1, STEPS), turns):
        with monkeypatch.context() as patch:
            Team(patch, 1, [(step, 0) for step in steps]).run()


@pytest.mark.parametrize("helpers", [1, 2, 3])
def test_all_helpers_come_to_every_call_in_a_random_order_of_steps(monkeypatch, helpers):
    for seed in range(600):
        generator = random.Random(seed)
        often = generator.choice([0.05, 0.2, 0.5])
        turns = [(step, generator.randrange(helpers + 1)) for step in range(2000) if generator.random() < often]
        with monkeypatch.context() as patch:
            Team(patch, helpers, turns).run()


def test_a_ring_that_is_lost_is_found(monkeypatch):
    """Were a helper not to look at the word after it has said that it sleeps, these tests would fail."""
    needed = admission._is_needed

    def only_where_it_has_not_said_so(mailbox, number, served):
        return not team.words.get(admission._asleep(number)) and needed(mailbox, number, served)

    lost = 0
    for step in range(1, STEPS):
        with monkeypatch.context() as patch:
            team = Team(patch, 1, [(step, 0)])
            patch.setattr(admission, "_is_needed", only_where_it_has_not_said_so)
            try:
                team.run()
            except Asleep:
                lost += 1
    assert lost

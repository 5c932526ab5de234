"""Ctrl-C that waits."""

from __future__ import annotations

import contextlib
import signal
import threading

import pytest

from polytune.cli.interrupts import Interrupts


def test_an_interrupt_is_raised_at_once_where_nothing_is_held():
    with pytest.raises(KeyboardInterrupt), Interrupts():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_waits_while_it_is_held():
    done = []
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt), interrupts.held():
            signal.raise_signal(signal.SIGINT)
            done.append(1)
        with interrupts.held():
            done.append(2)
    assert done == [1, 2]


def test_an_interrupt_that_a_destructor_lost_is_raised_by_the_next_hold():
    class Lost:
        def __del__(self):
            with contextlib.suppress(KeyboardInterrupt):  # as Python does, with a message
                signal.raise_signal(signal.SIGINT)

    with Interrupts() as interrupts:
        Lost()
        with pytest.raises(KeyboardInterrupt), interrupts.held():
            pass


def test_an_interrupt_that_was_caught_is_not_raised_again():
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        interrupts.served()
        with interrupts.held():
            pass


def test_an_error_while_it_is_held_is_not_hidden_by_an_interrupt():
    with Interrupts() as interrupts:
        with pytest.raises(ValueError, match="the disk is full"), interrupts.held():
            signal.raise_signal(signal.SIGINT)
            raise ValueError("the disk is full")
        with pytest.raises(KeyboardInterrupt), interrupts.held():
            pass


def test_other_threads_and_a_process_that_ignores_interrupts_change_nothing():
    seen = []

    def work():
        with Interrupts() as interrupts, interrupts.held():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [before, signal.SIG_IGN]

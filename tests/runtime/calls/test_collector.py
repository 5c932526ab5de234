"""The collector is at rest while something compiles, and afterwards as it was."""

import gc
import threading

import pytest

from polytune.runtime.calls.collector import collector_paused


@pytest.fixture(autouse=True)
def collector():
    was_enabled = gc.isenabled()
    yield
    (gc.enable if was_enabled else gc.disable)()


@pytest.mark.parametrize("enabled", [True, False])
def test_it_rests_and_is_then_as_it_was(enabled):
    (gc.enable if enabled else gc.disable)()
    with pytest.raises(KeyError), collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled() == enabled


def test_it_rests_until_the_last_thread_is_done():
    gc.enable()
    entered, may_leave = threading.Event(), threading.Event()

    def compile_slowly():
        with collector_paused():
            entered.set()
            may_leave.wait(60)

    other = threading.Thread(target=compile_slowly)
    with collector_paused():
        other.start()
        assert entered.wait(60)
    assert not gc.isenabled()
    may_leave.set()
    other.join()
    assert gc.isenabled()

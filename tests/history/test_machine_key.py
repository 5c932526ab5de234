"""The machine's key: from the processor's name and the cores."""

from __future__ import annotations

import re

from polytune.history import machine, machine_key


def test_the_key_names_the_processor_and_the_cores():
    assert re.fullmatch(r".+, [1-9]\d* cores?", machine_key())
    assert machine_key() == machine_key()


def test_x86_names_its_model_without_clock_and_trade_marks():
    text = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz\n\nmodel name\t: other\n"
    assert machine.model_from_cpuinfo(text) == "Intel Xeon CPU E5-2680 v3"


def test_arm_is_known_by_its_numbers():
    text = "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n"
    assert machine.model_from_cpuinfo(text) == "Arm 0x41 0xd0c 0x3"
    assert machine.model_from_cpuinfo("nothing here") == ""


def test_a_machine_that_tells_nothing_still_has_a_key(monkeypatch):
    monkeypatch.setattr(machine.platform, "system", lambda: "Plan 9")
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    monkeypatch.setattr(machine.platform, "machine", lambda: "")
    machine_key.cache_clear()
    try:
        assert machine_key().startswith("unknown processor, ")
    finally:
        machine_key.cache_clear()

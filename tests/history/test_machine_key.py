"""The machine's key: from the processor's name and the cores."""

from __future__ import annotations

import re

from polytune.caches import Cache
from polytune.history import machine, machine_key


def test_the_key_names_the_processor_and_the_cores():
    assert re.fullmatch(r".+, [1-9]\d* cores?(, L\d \d+ KiB)+", machine_key())
    assert machine_key() == machine_key()


def test_x86_names_its_model_without_clock_and_trade_marks():
    text = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz\n"
    assert machine.model_from_cpuinfo(f"{text}\nmodel name\t: other\n") == "Intel Xeon CPU E5-2680 v3"


def test_x86_generations_of_one_name_are_told_apart_by_their_numbers():
    text = "cpu family\t: 25\nmodel\t\t: {}\nmodel name\t: AMD EPYC Processor\nstepping\t: 1\n\nmodel\t: 7\n"
    first, second = (machine.model_from_cpuinfo(text.format(number)) for number in (1, 17))
    assert first == "AMD EPYC Processor, family 25 model 1 stepping 1"
    assert second == "AMD EPYC Processor, family 25 model 17 stepping 1"


def test_the_key_names_the_caches(monkeypatch):
    monkeypatch.setattr(machine, "data_caches", lambda: (Cache(1, 48 * 1024, 1), Cache(2, 2 << 20, 2)))
    machine_key.cache_clear()
    try:
        assert machine_key().endswith(", L1 48 KiB, L2 2048 KiB")
    finally:
        machine_key.cache_clear()


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

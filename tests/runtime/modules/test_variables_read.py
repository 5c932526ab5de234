"""The variables that functions read, by which calls are told from others with the same consequences."""

from __future__ import annotations

from polytune.runtime.modules.variables_read import variables_read


def test_what_is_only_written_is_not_read():
    def check(first, second, unused, _written):
        _written = first + second
        _another = second

    assert variables_read(check) == {"first", "second"}


def test_two_variables_that_are_read_at_once_are_both_read():
    def check(first, second, third):
        return (first, second), third

    assert variables_read(check) == {"first", "second", "third"}


def test_what_functions_inside_read_is_read():
    def check(sizes, least, unused):
        return all(size > least for size in sizes)

    assert variables_read(check) >= {"sizes", "least"}
    assert "unused" not in variables_read(check)

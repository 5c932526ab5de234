"""JSON that is read as far as it goes, and knows the line of everything."""

from __future__ import annotations

import json

import pytest

from polytune.errors import RecordingError
from polytune.lab.files import TextFile
from polytune.lab.json_document import Document

WHOLE = """{
"name": "k",
"cache": {
"1,2": {"a": 1, "times": [
  0.5,
  0.25]},
"2,2": {"a": 2}},
"after": [true]
}
"""


def document(text, container="cache"):
    return Document(TextFile("f.json", "f", text), container)


def test_whole():
    read = document(WHOLE)
    assert read.closed
    assert read.cut_line is None
    assert read.fields == {"name": "k", "after": [True]}
    assert [(entry.key, entry.value["a"]) for entry in read.entries] == [("1,2", 1), ("2,2", 2)]


def test_places_name_line_and_field():
    first, second = document(WHOLE).entries
    assert str(first.place()) == "f.json:4"
    assert str(first.place("times", 1)) == "f.json:6, field 'times.1'"
    assert str(second.place("a")) == "f.json:7, field 'a'"
    assert str(second.place("absent")) == "f.json:7, field 'absent'"
    assert str(document(WHOLE).field_place("after")) == "f.json:8, field 'after'"


def test_a_list_has_numbered_entries():
    assert [(e.key, e.value) for e in document('{"results": [7, "x"]}', "results").entries] == [(0, 7), (1, "x")]


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_every_beginning_is_read_as_far_as_it_goes(length):
    """Cut anywhere: an error before the entries begin, and every complete entry after that."""
    begun = WHOLE.index("{", WHOLE.index("cache"))
    text = WHOLE[:length]
    if length <= begun:
        with pytest.raises(RecordingError, match=r"f\.json"):
            document(text)
        return
    complete = sum(length >= WHOLE.index(end) + len(end) for end in ("0.25]}", '{"a": 2}'))
    read = document(text)
    assert [entry.value["a"] for entry in read.entries] == [1, 2][:complete]
    assert read.closed == (length >= len(WHOLE.rstrip()))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"cache": {"a": {"b": 0.12', 1),
        ('{"cache": {\n"a": {"b": 1},\n"c": {"b": "Runtime', 3),
        ('{"cache": {\n"a": {"b": 1},\n"c', 3),
        ('{"cache": {\n"a": {"b": 1},\n"c":\n', 3),
    ],
)
def test_the_line_of_a_cut_entry(text, line):
    assert document(text).cut_line == line


@pytest.mark.parametrize("ending", ["", ",", ",\n", "}", "}\n"])
def test_lacking_only_closing_braces_is_no_cut(ending):
    assert document('{"cache": {"a": {"b": 1}' + ending).cut_line is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5", "f.json:1: this is no JSON: an object or a list was expected"),
        ('{"cache":\n 5}', "f.json:2, field 'cache': this is neither an object nor a list"),
        ('{"cache": {\n"a": {"b": 1}\n"c": 2}}', "f.json:3: this is no JSON: ',' or '}' was expected"),
        ('{"cache": {\n"a": {"b" 1},\n"c": 2}}', "f.json:2: this is no JSON"),
        ('{"cache": {\n5: 1}}', "f.json:2: this is no JSON: a name"),
        ('{"name": 1', "f.json:1: the file ends before 'cache'"),
    ],
)
def test_what_is_wrong_in_itself(text, message):
    with pytest.raises(RecordingError) as refused:
        document(text)
    assert str(refused.value).startswith(message)


def test_a_document_without_the_container_has_no_entries():
    read = document(json.dumps({"name": 1}))
    assert read.closed
    assert read.entries == []


def test_nothing_may_follow_the_object():
    with pytest.raises(RecordingError, match=r"f\.json:10: .*the object has ended before"):
        document(WHOLE + "{}")

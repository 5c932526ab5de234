"""Boxes against the sets of their elements."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from polytune.runtime.partitioned.boxes import contains, is_empty, overlap, remainder, whole

axes = st.tuples(st.integers(0, 6), st.integers(0, 7), st.integers(1, 3))
dense_axes = st.tuples(st.integers(0, 6), st.integers(0, 7), st.just(1))


def boxes(axis):
    return st.lists(axis, min_size=2, max_size=2).map(tuple)


def elements(box):
    return set(product(*(range(*axis) for axis in box)))


@given(boxes(axes))
def test_empty_box_has_no_elements(box):
    assert is_empty(box) == (not elements(box))


@given(boxes(axes), boxes(axes))
def test_containing_box_has_all_elements(outer, inner):
    if not is_empty(inner) and contains(outer, inner):
        assert elements(inner) <= elements(outer)


@given(boxes(dense_axes), boxes(dense_axes))
def test_dense_boxes_are_compared_exactly(outer, inner):
    if is_empty(inner) or is_empty(outer):
        return
    assert contains(outer, inner) == (elements(inner) <= elements(outer))
    assert overlap(outer, inner) == bool(elements(inner) & elements(outer))


@given(boxes(axes), boxes(axes))
def test_boxes_without_overlap_have_no_element_in_common(first, second):
    if not overlap(first, second):
        assert not elements(first) & elements(second)


@given(boxes(axes), st.lists(boxes(axes), max_size=4))
@example(((0, 3, 1), (0, 1, 1)), [((0, 0, 1), (0, 0, 1)), ((2, 1, 1), (0, 1, 1))])
def test_remainder_keeps_what_is_not_taken(box, taken):
    rest = remainder(box, taken)
    found = [element for piece in rest for element in elements(piece)]
    gone = set().union(*map(elements, taken))
    assert elements(box) - gone <= set(found) <= elements(box)
    assert len(found) == len(set(found)), "pieces overlap"


@given(boxes(dense_axes), st.lists(boxes(dense_axes), max_size=4))
def test_remainder_of_dense_boxes_is_exact(box, taken):
    found = set().union(*map(elements, remainder(box, taken)))
    assert found == elements(box) - set().union(*map(elements, taken))


def test_whole_array_is_all_elements():
    assert elements(whole((2, 3))) == set(product(range(2), range(3)))
    assert is_empty(whole((2, 0)))

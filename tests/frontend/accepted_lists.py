"""Functions that are accepted, with lists that grow."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba.typed import List

from tests.frontend.acceptance import accepted
from tests.frontend.values import matrix, vector

SIZES = (lambda: (vector(9),), lambda: (np.zeros(0),), lambda: (np.ones(1),), lambda: (-np.ones(1),))
TYPES = (
    lambda: (vector(6).astype(np.float32),),
    lambda: (np.arange(5),),
    lambda: (vector(4) + 1j,),
    lambda: (vector(4) > 0,),
    lambda: (np.arange(5, dtype=np.uint8),),
)


@accepted(*SIZES, *TYPES)
def returned_list(x):
    out = []
    for i in range(len(x)):
        out.append(x[i])
    return out, len(out)


@accepted(*SIZES)
def lists_under_conditions(x):
    above, below, places = [], [], [0]
    for place, value in enumerate(x):
        if value > 0.5:
            above.append(value)
        else:
            below.append(-value)
            places.append(place)
    return above, below, places, len(above) - len(below), sum(places)


@accepted(*SIZES)
def list_in_a_loop(x):
    total = 0
    for i in range(len(x)):
        smaller = []
        for j in range(len(x)):
            if x[j] < x[i]:
                smaller.append(j)
        for j in smaller:
            total += j * i
        total += len(smaller)
    return total


@accepted(*SIZES)
def list_that_becomes_an_array(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(x[i])
    out = np.array(out)
    return out * 2, len(out)


@accepted(*SIZES)
def python_and_numpy_elements(x):
    floats = []
    truths = []
    python_truths = []
    for i in range(len(x)):
        floats.append(float(i))
        truths.append(x[i] > 0)
        python_truths.append(i % 2 == 0)
    return floats, truths, python_truths


@accepted(*SIZES)
def last_element_and_pop(x):
    stack = []
    waited = 0
    for i in range(len(x)):
        while len(stack) > 0 and x[stack[-1]] < x[i]:
            waited += i - stack.pop()
        stack.append(i)
    return waited, stack


@accepted(*SIZES)
def truth_of_a_list(x):
    stack = []
    for i in range(len(x)):
        stack.append(i)
    total = 0
    while stack:
        total = 2 * total + stack.pop()
    return total, not stack


@accepted(*SIZES)
def list_of_tuples(x):
    pairs = []
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if abs(x[i] - x[j]) < 0.7:
                pairs.append((i, x[j]))
    total = 0.0
    for i, y in pairs:
        total += i * y
    return pairs, total, len(pairs)


@accepted(lambda: (vector(9),))
def array_of_tuples(x):
    pairs = [(0, 0)]
    for i in range(len(x)):
        if x[i] > 0:
            pairs.append((i, i * i))
    first = pairs[0][1] + pairs[-1][0]
    i, j = pairs[1]
    return np.array(pairs), first, i + j


@accepted(*SIZES)
def stack_of_tuples(x):
    stack = [(0, len(x))]
    parts = 0
    while len(stack) > 0:
        low, high = stack.pop()
        parts += 1
        if high - low > 1:
            middle = (low + high) // 2
            stack.append((low, middle))
            stack.append((middle, high))
    return parts


@accepted(lambda: (matrix(4, 4),), lambda: (np.ones((3, 5)),))
def flood(A):
    n, m = A.shape
    labels = np.zeros((n, m), dtype=np.int64)
    count = 0
    for i in range(n):
        for j in range(m):
            if A[i, j] > 0 and labels[i, j] == 0:
                count += 1
                stack = [(i, j)]
                labels[i, j] = count
                while stack:
                    k, p = stack.pop()
                    if k > 0 and A[k - 1, p] > 0 and labels[k - 1, p] == 0:
                        labels[k - 1, p] = count
                        stack.append((k - 1, p))
                    if k < n - 1 and A[k + 1, p] > 0 and labels[k + 1, p] == 0:
                        labels[k + 1, p] = count
                        stack.append((k + 1, p))
                    if p > 0 and A[k, p - 1] > 0 and labels[k, p - 1] == 0:
                        labels[k, p - 1] = count
                        stack.append((k, p - 1))
                    if p < m - 1 and A[k, p + 1] > 0 and labels[k, p + 1] == 0:
                        labels[k, p + 1] = count
                        stack.append((k, p + 1))
    return labels, count


@accepted(*SIZES)
def elements_assigned(x):
    out = [0.0]
    for i in range(len(x)):
        if x[i] > 0:
            out.append(x[i])
        else:
            out[-1] += x[i]
    out[0] = -1.0
    return np.array(out)


@accepted(*SIZES)
def lists_extended(x):
    out = []
    for i in range(len(x)):
        out.extend([x[i], -x[i]])
    out.extend(x)
    out += [x.sum()]
    return out


@accepted(*SIZES)
def returned_early(x):
    out = []
    for i in range(len(x)):
        if x[i] > 1:
            return out
        out.append(x[i])
    return out


@accepted(*SIZES)
def lists_as_subscripts(x):
    places = []
    for i in range(0, len(x), 2):
        places.append(i)
    total = 0.0
    for k, i in enumerate(places):
        total += k * x[i]
    return x[places], total, np.array([x[i] for i in places])


@accepted(*SIZES)
def lists_begun_anew(x):
    total = 0
    out = []
    kept = []
    for i in range(len(x)):
        out.append(i)
        kept.append(i)
        if len(out) == 3:
            total += out[0] * out[2]
            out = []
        if len(kept) > 4:
            kept.clear()
    return total, out, kept


def _peaks(x, least):
    found = []
    for i in range(1, len(x) - 1):
        if x[i - 1] < x[i] >= x[i + 1] and x[i] > least:
            found.append(i)
    return found


def _runs(x):
    lengths = []
    start = 0
    for i in range(1, len(x)):
        if x[i] < x[i - 1]:
            lengths.append(i - start)
            start = i
    lengths.append(len(x) - start)
    return np.array(lengths)


@accepted(lambda: (vector(9),), lambda: (np.zeros(2),))
def lists_of_functions(x):
    peaks = _peaks(x, 0.0)
    higher = _peaks(x, 2.75)
    total = 0.0
    for i in peaks:
        total += x[i]
    for k in range(3):
        total += len(_peaks(x, k * 1.0)) * (k + 1)
    runs = _runs(x)
    return peaks, len(higher), total, higher, runs, runs.max()


@accepted(*SIZES)
def lists_of_numba(x):
    out = List()
    for i in range(len(x)):
        out.append(x[i])
    return out[0] if len(out) > 0 else 0.0


@accepted(*SIZES)
def list_in_a_while(x):
    out = []
    i = 0
    while i < len(x):
        out.append(x[i])
        i += 2
    return np.array(out).sum(), len(out), max(out) if out else -1.0


@accepted(*SIZES)
def repeated_lists(x):
    counts = [0] * len(x)
    totals = (len(x) + 1) * [0.0]
    seen = [False] * len(x)
    pairs = [(0, 1)] * len(x)
    for i in range(len(x)):
        k = (3 * i + 1) % len(x)
        if not seen[k]:
            seen[k] = True
            counts[k] += 2
        totals[i + 1] = totals[i] + float(x[i])
    for low, high in pairs:
        totals[-1] += high - low
    return counts, totals, seen, pairs, len(totals), sum(counts)


@accepted(*SIZES)
def list_repeated_a_negative_number_of_times(x):
    none = [1.0] * (len(x) - 20)
    none.append(2.0)
    n = 2
    several = [n, len(x)] * 3
    n = 5
    return none, several, n


@accepted(lambda: (vector(9), 3), lambda: (vector(9), 0), lambda: (vector(9), -2), lambda: (vector(2), 2))
def arrays_of_repeated_lists(x, n):
    missing = np.array([np.nan] * n)
    shifted = np.concatenate((np.array([-1.0] * (len(x) - 4)), x))
    missing[: n // 2] = 1.0
    return missing, shifted, np.asarray(3 * [7], dtype=np.float32)


@accepted(*SIZES, *TYPES)
def lists_of_comprehensions(x):
    i = 4
    doubled = [2 * each for each in x]
    places = [i for i in range(len(x)) if i % 2 == 0]
    pairs = [(i, j) for i in range(3) for j in range(i) if i + j != 2]
    doubled.extend(x)
    total = 0
    for a, b in pairs:
        total += a * b
    return doubled, places, pairs, total, i


@accepted(*SIZES)
def returned_comprehension(x):
    if len(x) > 4:
        return [each + 1.0 for each in x]
    return [0.5] * len(x)


def _scaled(x, factor):
    return [each * factor for each in x]


@accepted(*SIZES)
def comprehension_of_a_function(x):
    first = _scaled(x, 2.0)
    total = 0.0
    for each in first:
        total += each
    return first, total


@accepted(*SIZES)
def list_of_a_list(x):
    above = [each for each in x if each > 0]
    return [each + 1.0 for each in above]


@accepted(*SIZES)
def append_after_a_loop_that_may_have_no_iterations(x):
    out = []
    for _ in range(len(x) - 20):
        out.append(1.0)
    out.append(2.0)
    count = 0
    for i in range(len(x) - 20):
        for _ in range(i - 3):
            count += 1
    count += 3
    return out, np.arange(count)


@accepted(*(lambda m=m: (vector(4), m) for m in (0, 1, 3, 9)))
def as_long_as_expressions_say(A, m: int):
    for i in range(m):
        distances, choices, quotients = [], [], []
        for _ in range(0, abs(i - 2)):
            distances.append(1.0)
        for _ in range(0, (i + 1) // 2 if i > 2 else 3 - i):
            choices.append(2.0)
        for _ in range(0, i // -2 + 5):
            quotients.append(1.0)
        for _ in range(0, i % -3 + 3):
            quotients.append(3.0)
        for _ in range((i > 2) + 1):
            quotients.append(4.0)
        A[0] += len(distances) + 8 * len(choices) + 64 * len(quotients)


@accepted(*SIZES)
def parts_of_lists(x):
    kept = [0.5]
    for each in x:
        if each > 2.0:
            kept.append(each)
    total = 0.0
    for number, each in enumerate(kept[::-1]):
        total += number * each
    for before, after in zip(kept[1:], kept[:-1], strict=True):
        total += before * after
    for each in kept[1:]:
        total -= each
    return np.array(kept[::-1]), np.array(kept[-2:]), sum(kept[1:]), max(kept[:2]), total


@accepted(lambda: (matrix(6, 2), 4), lambda: (matrix(6, 2), 0))
def list_in_a_while_with_arrays(points, last):
    found = []
    k = 0
    while True:
        step = points[k + 1] - points[k]
        k += 1
        if k > last:
            break
        if step[0] > 3.0:
            continue
        found.append(np.dot(step, step))
    return found


@accepted(*SIZES)
def path_that_is_traced_back(x):
    path = [(0, 0.5)]
    i = len(x) - 1
    while i >= 0:
        path.append((i, x[i]))
        i -= 1 if x[i] > 3.0 else 2
    return np.array(path[::-1])

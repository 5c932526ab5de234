"""Bioinformatics: alignment, sequences, hidden states."""

from __future__ import annotations

import numpy as np
from numba import prange

from benchmarks.applications.case import SPECIAL_VALUES, Arguments, case


def two_sequences(rng: np.random.Generator, n: int) -> Arguments:
    return rng.integers(0, 4, n).astype(np.uint8), rng.integers(0, 4, n + 3).astype(np.uint8)


@case(two_sequences, size=700, small=9, calls=100)
def smith_waterman(a, b, match=2, mismatch=-1, gap=-2):
    n, m = a.size, b.size
    H = np.zeros((n + 1, m + 1), dtype=np.int32)
    best, best_i, best_j = 0, 0, 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            score = match if a[i - 1] == b[j - 1] else mismatch
            H[i, j] = max(0, H[i - 1, j - 1] + score, H[i - 1, j] + gap, H[i, j - 1] + gap)
            if H[i, j] > best:
                best, best_i, best_j = H[i, j], i, j
    return best, best_i, best_j


@case(two_sequences, size=1000, small=8, calls=100)
def edit_distance_rows(a, b):
    n, m = len(a), len(b)
    if n == 0:
        return m
    previous = np.arange(m + 1)
    current = np.zeros(m + 1, dtype=np.int64)
    for i in range(1, n + 1):
        current[0] = i
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            current[j] = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost)
        previous[:] = current
    return previous[m]


def bases_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.integers(0, 4, n).astype(np.uint8), 100 if n > 1000 else 4


@case(bases_data, size=500000, small=20, calls=200)
def gc_content(sequence, window):
    strong = (sequence == 1) | (sequence == 2)
    total = np.zeros(len(sequence) + 1, dtype=np.int64)
    total[1:] = np.cumsum(strong)
    return (total[window:] - total[:-window]) / window


def kmer_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.integers(0, 5, n).astype(np.uint8), 5 if n > 100 else 2


@case(kmer_data, size=300000, small=25, calls=200)
def kmer_counts(sequence, k):
    counts = np.zeros(4**k, dtype=np.int64)
    mask = (1 << (2 * k)) - 1
    code, length = 0, 0
    for base in sequence:
        if base > 3:
            length = 0
            continue
        code = ((code << 2) | int(base)) & mask
        length += 1
        if length >= k:
            counts[code] += 1
    return counts


def states_data(rng: np.random.Generator, n: int) -> Arguments:
    return np.log(rng.random((6, 6))), np.log(rng.random((6, 4))), rng.integers(0, 4, n)


@case(states_data, size=5000, small=8, calls=100)
def viterbi(transition, emission, observed):
    length, states = len(observed), transition.shape[0]
    score = np.zeros((length, states))
    back = np.zeros((length, states), dtype=np.int64)
    score[0] = emission[:, observed[0]]
    for t in range(1, length):
        for s in range(states):
            candidates = score[t - 1] + transition[:, s]
            back[t, s] = np.argmax(candidates)
            score[t, s] = candidates[back[t, s]] + emission[s, observed[t]]
    path = np.zeros(length, dtype=np.int64)
    path[-1] = np.argmax(score[-1])
    for t in range(length - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, score[-1].max()


def aligned_data(rng: np.random.Generator, n: int) -> Arguments:
    return (rng.integers(0, 4, (n, 3 * n + 5)).astype(np.uint8),)


@case(aligned_data, size=200, small=6, calls=100)
def hamming_distances(sequences):
    n, length = sequences.shape
    distances = np.zeros((n, n))
    for i in prange(n):
        for j in range(i + 1, n):
            distances[i, j] = np.sum(sequences[i] != sequences[j]) / length
    return distances + distances.T


@case(aligned_data, size=150, small=6, calls=100, fastmath=SPECIAL_VALUES)
def jukes_cantor(sequences):
    n, length = sequences.shape
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            different = 0
            for k in range(length):
                if sequences[i, k] != sequences[j, k]:
                    different += 1
            p = different / length
            if p >= 0.75:
                out[i, j] = out[j, i] = np.inf
                continue
            out[i, j] = out[j, i] = -0.75 * np.log(1.0 - 4.0 * p / 3.0)
    return out

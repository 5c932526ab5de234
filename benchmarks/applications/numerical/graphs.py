"""Graphs and sparse matrices."""

from __future__ import annotations

import numpy as np
from numba import prange

from benchmarks.applications.case import SPECIAL_VALUES, Arguments, case


def sparse(rng: np.random.Generator, n: int, most: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a sparse matrix with a diagonal: where each begins, and its columns in ascending order."""
    rows = [np.union1d(rng.integers(0, n, rng.integers(0, most)), [i]) for i in range(n)]
    return np.concatenate(([0], np.cumsum([len(row) for row in rows]))), np.concatenate(rows)


def csr_data(rng: np.random.Generator, n: int) -> Arguments:
    first, columns = sparse(rng, n)
    return first, columns, rng.random(len(columns)), rng.random(n)


@case(csr_data, size=40000, small=7, calls=300)
def sparse_product(first, columns, values, x):
    y = np.zeros(len(first) - 1)
    for i in prange(len(y)):
        for k in range(first[i], first[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y


@case(csr_data, size=20000, small=8, calls=150)
def sparse_jacobi(first, columns, values, b):
    n = b.shape[0]
    x = np.zeros(n)
    for _ in range(5):
        new = np.empty(n)
        for i in prange(n):
            rest = b[i]
            diagonal = 1.0
            for k in range(first[i], first[i + 1]):
                j = columns[k]
                if j == i:
                    diagonal = 10.0 + values[k]
                    continue
                rest -= values[k] * x[j]
            new[i] = rest / diagonal
        x = new
    return x


@case(csr_data, size=20000, small=8, calls=150)
def sparse_rows_sliced(first, columns, values, x):
    y = np.empty(first.size - 1)
    for i in range(y.size):
        row = slice(first[i], first[i + 1])
        y[i] = values[first[i] : first[i + 1]] @ x[columns[row]]
    return y


def links_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.integers(0, n, 8 * n), rng.integers(0, n, 8 * n), n, 0.85, 1e-8


@case(links_data, size=20000, small=8, calls=60)
def page_rank(source, target, n, damping, tolerance):
    degree = np.zeros(n)
    for s in source:
        degree[s] += 1.0
    rank = np.full(n, 1.0 / n)
    for iteration in range(100):
        new = np.zeros(n)
        lost = 0.0
        for v in range(n):
            if degree[v] == 0.0:
                lost += rank[v]
        for e in range(source.shape[0]):
            new[target[e]] += rank[source[e]] / degree[source[e]]
        new = (1.0 - damping) / n + damping * (new + lost / n)
        change = np.abs(new - rank).sum()
        rank = new
        if change < tolerance:
            break
    return rank, iteration


def graph_data(rng: np.random.Generator, n: int) -> Arguments:
    first, columns = sparse(rng, n, 6)
    return first, columns, 0


@case(graph_data, size=40000, small=9, calls=150)
def breadth_first(first, columns, root):
    n = first.size - 1
    distance = np.full(n, -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    distance[root] = 0
    queue[0] = root
    head, tail = 0, 1
    while head < tail:
        v = queue[head]
        head += 1
        for k in range(first[v], first[v + 1]):
            w = columns[k]
            if distance[w] < 0:
                distance[w] = distance[v] + 1
                queue[tail] = w
                tail += 1
    return distance, tail


@case(graph_data, size=8000, small=9, calls=100)
def triangles(first, columns, _):
    total = 0
    for u in prange(first.size - 1):
        for k in range(first[u], first[u + 1]):
            v = columns[k]
            if v <= u:
                continue
            a, b = first[u], first[v]
            while a < first[u + 1] and b < first[v + 1]:
                if columns[a] == columns[b]:
                    if columns[a] > v:
                        total += 1
                    a += 1
                    b += 1
                elif columns[a] < columns[b]:
                    a += 1
                else:
                    b += 1
    return total


def roads_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.integers(0, n, 5 * n), rng.integers(0, n, 5 * n), rng.uniform(1, 10, 5 * n), n


@case(roads_data, size=10000, small=8, calls=60, fastmath=SPECIAL_VALUES)
def bellman_ford(source, target, length, n):
    distance = np.full(n, np.inf)
    distance[0] = 0.0
    for _ in range(n - 1):
        changed = False
        for s, t, w in zip(source, target, length):
            if distance[s] + w < distance[t]:
                distance[t] = distance[s] + w
                changed = True
        if not changed:
            break
    return distance


@case(roads_data, size=40000, small=8, calls=150)
def rows_of_edges(source, target, length, n):
    first = np.zeros(n + 1, dtype=np.int64)
    for s in source:
        first[s + 1] += 1
    for i in range(n):
        first[i + 1] += first[i]
    columns = np.empty_like(target)
    values = np.empty_like(length)
    free = first[:-1].copy()
    for e in range(source.size):
        at = free[source[e]]
        columns[at] = target[e]
        values[at] = length[e]
        free[source[e]] += 1
    return first, columns, values


@case(roads_data, size=40000, small=8, calls=150)
def components(source, target, _, n):
    parent = np.arange(n)
    count = n
    for e in range(len(source)):
        a, b = source[e], target[e]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a == b:
            continue
        parent[max(a, b)] = min(a, b)
        count -= 1
    return count, parent


def dense_graph(rng: np.random.Generator, n: int) -> Arguments:
    return (rng.random((n, n)),)


def all_shortest_paths_loops(weights):
    distance = weights.copy()
    n = len(distance)
    for k in range(n):
        for i in prange(n):
            for j in range(n):
                distance[i, j] = min(distance[i, j], distance[i, k] + distance[k, j])
    return distance


@case(dense_graph, size=300, small=7, calls=30, numba=all_shortest_paths_loops)
def all_shortest_paths(weights):
    distance = weights.copy()
    for k in range(len(distance)):
        distance = np.minimum(distance, distance[:, k : k + 1] + distance[k : k + 1, :])
    return distance

"""Machine learning: layers, losses, clustering, trees."""

from __future__ import annotations

import numpy as np
from numba import prange

from benchmarks.applications.case import SPECIAL_VALUES, Arguments, case


def logits_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.standard_normal((n, 10)), rng.integers(0, 10, n)


def cross_entropy_loops(logits, labels):
    n, m = logits.shape
    gradient = np.empty_like(logits)
    loss = 0.0
    for i in prange(n):
        most = logits[i, 0]
        for j in range(1, m):
            most = max(most, logits[i, j])
        total = 0.0
        for j in range(m):
            gradient[i, j] = np.exp(logits[i, j] - most)
            total += gradient[i, j]
        for j in range(m):
            gradient[i, j] /= total
        loss -= np.log(gradient[i, labels[i]])
        gradient[i, labels[i]] -= 1.0
        for j in range(m):
            gradient[i, j] /= n
    return loss / n, gradient


@case(logits_data, size=10000, small=6, calls=200, numba=cross_entropy_loops)
def cross_entropy(logits, labels):
    n = logits.shape[0]
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = shifted / shifted.sum(axis=1, keepdims=True)
    rows = np.arange(n)
    loss = -np.mean(np.log(probabilities[rows, labels]))
    gradient = probabilities.copy()
    gradient[rows, labels] -= 1.0
    return loss, gradient / n


def points_data(rng: np.random.Generator, n: int) -> Arguments:
    points = rng.standard_normal((n, 4))
    return points, points[:8].copy(), 5


@case(points_data, size=8000, small=12, calls=60, fastmath=SPECIAL_VALUES)
def k_means(points, start, iterations):
    centres = start.copy()
    n, d = points.shape
    labels = np.zeros(n, dtype=np.int64)
    for _ in range(iterations):
        for i in prange(n):
            best = np.inf
            for c in range(centres.shape[0]):
                distance = ((points[i] - centres[c]) ** 2).sum()
                if distance < best:
                    best = distance
                    labels[i] = c
        sums = np.zeros_like(centres)
        counts = np.zeros(centres.shape[0])
        for i in range(n):
            sums[labels[i]] += points[i]
            counts[labels[i]] += 1
        for c in range(centres.shape[0]):
            if counts[c] > 0:
                centres[c] = sums[c] / counts[c]
    return centres, labels


def layers_data(rng: np.random.Generator, n: int) -> Arguments:
    f = np.float32
    return (
        rng.standard_normal((n, 64)).astype(f),
        (rng.standard_normal((64, 128)) / 8).astype(f),
        rng.standard_normal(128).astype(f),
        (rng.standard_normal((128, 10)) / 11).astype(f),
        rng.standard_normal(10).astype(f),
    )


@case(layers_data, size=1000, small=5, calls=200)
def perceptron(x, w1, b1, w2, b2):
    hidden = np.maximum(x @ w1 + b1, 0)
    return np.tanh(hidden @ w2 + b2)


def regression_data(rng: np.random.Generator, n: int) -> Arguments:
    x = rng.standard_normal((n, 20))
    return x, (rng.random(n) < 0.5).astype(np.float64), 0.1, 20


@case(regression_data, size=4000, small=9, calls=60)
def logistic_regression(X, y, rate, steps):
    weights = np.zeros(X.shape[1])
    bias = 0.0
    for _ in range(steps):
        predicted = 1.0 / (1.0 + np.exp(-(X @ weights + bias)))
        error = predicted - y
        weights -= rate * (X.T @ error) / len(y)
        bias -= rate * error.mean()
    return weights, bias


def batch_data(rng: np.random.Generator, n: int) -> Arguments:
    f = np.float32
    return rng.random((8, 6, n, n)).astype(f), rng.random(6).astype(f), rng.random(6).astype(f)


def batch_norm_loops(x, gamma, beta):
    images, channels, height, width = x.shape
    out = np.empty_like(x)
    for c in prange(channels):
        total = np.float32(0.0)
        for b in range(images):
            for i in range(height):
                for j in range(width):
                    total += x[b, c, i, j]
        mean = total / np.float32(images * height * width)
        square = np.float32(0.0)
        for b in range(images):
            for i in range(height):
                for j in range(width):
                    square += (x[b, c, i, j] - mean) ** 2
        scale = np.float32(1.0) / np.sqrt(square / np.float32(images * height * width) + np.float32(1e-5))
        for b in range(images):
            for i in range(height):
                for j in range(width):
                    out[b, c, i, j] = gamma[c] * (x[b, c, i, j] - mean) * scale + beta[c]
    return out


@case(batch_data, size=60, small=5, calls=200, numba=batch_norm_loops)
def batch_norm(x, gamma, beta):
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    variance = x.var(axis=(0, 2, 3), keepdims=True)
    scaled = (x - mean) / np.sqrt(variance + 1e-5)
    return gamma[None, :, None, None] * scaled + beta[None, :, None, None]


def layer_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random((2, n, n, 3)), rng.standard_normal((3, 3, 3, 8)), rng.random(8)


def convolution_layer_loops(images, weights, bias):
    batch, height, width, channels = images.shape
    size, _, _, filters = weights.shape
    out = np.empty((batch, height - size + 1, width - size + 1, filters))
    for i in prange(out.shape[1]):
        for b in range(batch):
            for j in range(out.shape[2]):
                for f in range(filters):
                    total = bias[f]
                    for p in range(size):
                        for q in range(size):
                            for c in range(channels):
                                total += images[b, i + p, j + q, c] * weights[p, q, c, f]
                    out[b, i, j, f] = max(total, 0.0)
    return out


@case(layer_data, size=60, small=6, calls=100, numba=convolution_layer_loops)
def convolution_layer(images, weights, bias):
    size = weights.shape[0]
    batch, height, width = images.shape[:3]
    out = np.empty((batch, height - size + 1, width - size + 1, weights.shape[3]))
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            patch = images[:, i : i + size, j : j + size, :, np.newaxis]
            out[:, i, j, :] = np.sum(patch * weights[np.newaxis], axis=(1, 2, 3)) + bias
    return np.maximum(out, 0.0)


def attention_data(rng: np.random.Generator, n: int) -> Arguments:
    return tuple(rng.standard_normal((n, 32)) for _ in range(3))


def attention_loops(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    for i in prange(scores.shape[0]):
        scores[i] = np.exp(scores[i] - scores[i].max())
        scores[i] /= scores[i].sum()
    return scores @ V


@case(attention_data, size=400, small=6, calls=100, numba=attention_loops)
def attention(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    scores -= scores.max(axis=-1, keepdims=True)
    scores = np.exp(scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores @ V


def neighbours_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random((n * 4, 5)), rng.integers(0, 3, n * 4), rng.random((n, 5)), 5, 3


def nearest_neighbours_loops(known, classes, queries, k, count):
    out = np.empty(len(queries), dtype=np.int64)
    for q in prange(len(queries)):
        distances = np.zeros(len(known))
        for i in range(len(known)):
            for d in range(known.shape[1]):
                distances[i] += (known[i, d] - queries[q, d]) ** 2
        votes = np.zeros(count, dtype=np.int64)
        for index in np.argsort(distances)[:k]:
            votes[classes[index]] += 1
        out[q] = np.argmax(votes)
    return out


@case(neighbours_data, size=200, small=5, calls=60, numba=nearest_neighbours_loops)
def nearest_neighbours(known, classes, queries, k, count):
    out = np.empty(len(queries), dtype=np.int64)
    for q, query in enumerate(queries):
        distances = np.sqrt(((known - query) ** 2).sum(axis=1))
        votes = np.zeros(count, dtype=np.int64)
        for index in np.argsort(distances)[:k]:
            votes[classes[index]] += 1
        out[q] = np.argmax(votes)
    return out


def tree_data(rng: np.random.Generator, n: int) -> Arguments:
    depth = 8 if n > 100 else 3
    nodes = 2 ** (depth + 1) - 1
    inner = 2**depth - 1
    feature = np.where(np.arange(nodes) < inner, rng.integers(0, 6, nodes), -1).astype(np.int32)
    return rng.random((n, 6)), feature, rng.random(nodes), rng.random(nodes)


@case(tree_data, size=50000, small=8, calls=150)
def tree_predictions(X, feature, threshold, value):
    out = np.empty(X.shape[0])
    for i in prange(X.shape[0]):
        node = 0
        while feature[node] >= 0:
            if X[i, feature[node]] <= threshold[node]:
                node = 2 * node + 1
            else:
                node = 2 * node + 2
        out[i] = value[node]
    return out


def adam_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random(n), rng.standard_normal(n), np.zeros(n), np.zeros(n), 3


@case(adam_data, size=300000, small=6, calls=200)
def adam(weights, gradient, m, v, step, rate=1e-3, beta1=0.9, beta2=0.999):
    m[:] = beta1 * m + (1 - beta1) * gradient
    v[:] = beta2 * v + (1 - beta2) * gradient**2
    corrected = m / (1 - beta1**step)
    weights -= rate * corrected / (np.sqrt(v / (1 - beta2**step)) + 1e-8)


def pooling_data(rng: np.random.Generator, n: int) -> Arguments:
    return (rng.random((4, 2 * n, 2 * n)),)


def max_pooling_loops(x):
    batch, height, width = x.shape
    out = np.empty((batch, height // 2, width // 2))
    for i in prange(height // 2):
        for b in range(batch):
            for j in range(width // 2):
                above = max(x[b, 2 * i, 2 * j], x[b, 2 * i, 2 * j + 1])
                out[b, i, j] = max(above, max(x[b, 2 * i + 1, 2 * j], x[b, 2 * i + 1, 2 * j + 1]))
    return out


@case(pooling_data, size=200, small=3, calls=200, numba=max_pooling_loops)
def max_pooling(x):
    batch, height, width = x.shape
    return x.reshape(batch, height // 2, 2, width // 2, 2).max(axis=(2, 4))

"""A small kernel of which the generated module is kept beside it: a sum in a scalar, a stencil in time, a result."""


def smooth(steps, weight, A, B):
    n = A.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            B[i] = weight * (A[i - 1] + A[i + 1])
        for i in range(1, n - 1):
            A[i] = B[i]
    total = 0.0
    for i in range(n):
        total += A[i]
    return total

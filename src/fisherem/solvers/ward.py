"""Ward's hierarchical clustering of weighted rows in plain arrays."""

from __future__ import annotations

import numpy as np

__all__ = ["ward_labels"]


def ward_labels(Y: np.ndarray, weights: np.ndarray, n_clusters: int) -> np.ndarray:
    """Ward's clustering of weighted rows, by nearest-neighbour chains and the Lance-Williams update.

    The distance between groups a and b is w_a w_b / (w_a + w_b) |mean_a - mean_b|^2.
    """
    n = len(Y)
    norms = np.einsum("ij,ij->i", Y, Y)
    D = np.maximum(norms[:, None] + norms - 2 * (Y @ Y.T), 0)
    w = weights.astype(float).copy()
    D *= w[:, None] * w / (w[:, None] + w)
    np.fill_diagonal(D, np.inf)
    alive = np.ones(n, bool)
    merges: list[tuple[float, int, int]] = []
    chain: list[int] = []
    for _ in range(n - 1):
        if not chain:
            chain = [int(np.argmax(alive))]
        while True:
            a = chain[-1]
            b = int(np.argmin(D[a]))
            if len(chain) > 1 and D[a, chain[-2]] <= D[a, b]:
                b = chain[-2]
                break
            chain.append(b)
        height = D[a, b]
        chain = chain[:-2]
        a, b = min(a, b), max(a, b)
        merges.append((height, a, b))
        others = alive.copy()
        others[[a, b]] = False
        wo = w[others]
        row = ((w[a] + wo) * D[a, others] + (w[b] + wo) * D[b, others] - wo * height) / (w[a] + w[b] + wo)
        D[a, others] = D[others, a] = row
        D[b] = D[:, b] = np.inf
        alive[b] = False
        w[a] += w[b]
    # chains find merges out of order; the n - K lowest give the K groups
    parent = np.arange(n)

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for _, a, b in sorted(merges, key=lambda m: m[0])[: n - n_clusters]:
        parent[root(b)] = root(a)
    roots = np.array([root(i) for i in range(n)])
    return np.unique(roots, return_inverse=True)[1]

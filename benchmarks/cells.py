"""A matrix of single cells: 100,000 cells by 2,000 genes, sparse, with the number of groups given.

    python benchmarks/cells.py [rows]

Counts are drawn from groups that differ in a few marker genes each, then normalised and logarithmised as usual. Memory
is what the process has resident beyond pages of files, drawing the counts included.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from measure import report, timed, watched
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from fisherem import SparseFisherEM

GENES, K, MARKERS = 2_000, 10, 40
MOST_MINUTES, MOST_GIGABYTES = 10, 8


def cells(n: int, seed: int = 0) -> tuple[sparse.csr_matrix, np.ndarray, np.ndarray]:
    """(log counts (n x GENES, float32), groups (n), marker genes): about one count in nine is not zero."""
    rng = np.random.default_rng(seed)
    rates = np.tile(rng.gamma(0.3, 0.4, GENES), (K, 1))
    for group in rates:
        group[rng.choice(GENES, MARKERS, replace=False)] += 1.0
    groups = rng.choice(K, n, p=np.arange(1, K + 1) / (K * (K + 1) / 2))
    blocks = []
    for part in np.array_split(groups, -(-n // 5_000)):
        counts = rng.poisson(rates[part] * rng.lognormal(0, 0.3, len(part))[:, None])
        scaled = 1e4 * counts / counts.sum(axis=1, keepdims=True)
        blocks.append(sparse.csr_matrix(np.log1p(scaled).astype(np.float32)))
    markers = np.flatnonzero(np.ptp(rates, axis=0) > 0.5)
    return sparse.vstack(blocks, format="csr"), groups, markers


def main(n: int) -> None:
    """Draw, fit once, and report."""
    warnings.simplefilter("ignore")

    def run():
        X, groups, markers = cells(n)
        model, seconds = timed(lambda: SparseFisherEM(K, random_state=0, memory="4GB").fit(X))
        _, predicting = timed(lambda: model.predict(X))
        return X, groups, markers, model, seconds, predicting

    peak, (X, groups, markers, model, seconds, predicting) = watched(run)
    what = f"{n:,} x {GENES:,}, {X.nnz / n / GENES:.0%} not zero, K = {K}"
    report(f"{what}: fit", f"{seconds / 60:.1f} minutes", f"<= {MOST_MINUTES}", seconds <= 60 * MOST_MINUTES)
    report(f"{what}: memory", f"{peak / 1e9:.1f} GB", f"<= {MOST_GIGABYTES}", peak <= MOST_GIGABYTES * 1e9)
    report(f"{what}: predict", f"{predicting:.0f} s")
    found = int(np.isin(np.flatnonzero(model.support_), markers).sum())
    report(f"{what}: adjusted Rand index", f"{adjusted_rand_score(groups, model.labels_):.3f}")
    report(f"{what}: genes", f"{model.support_.sum()} selected, {found} of them among {len(markers)} markers")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)

"""The core's speed as ratios measured in one run: `make bench`.

Every line compares two things timed in turn on the same arrays, so a slow or busy machine moves both sides.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import warnings

import measure
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from fisherem import FisherEM, SparseFisherEM, datasets
from fisherem.core.data.problem import prepare
from fisherem.core.dlm.f_step.step import SPARSE_STEPS
from fisherem.core.dlm.family import DLMFamily, Means, SparseSettings
from fisherem.core.engine.loop import Settings, run
from fisherem.model.dlm import resolve

ROWS: list[tuple[str, str, str, bool]] = []

# Seconds of R FisherEM on usps358 (K=3, AkjBk, from k-means), by discriminant.
R_DENSE = (("svd", 5.6), ("orthonormal", 11.5))


def report(what: str, value: str, target: str, good: bool) -> None:
    ROWS.append((what, value, target, good))
    measure.report(what, value, target, good)


def median_time(function, repeats=9) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def mixture(n, p, K, seed=0):
    """K groups that overlap, on ten of p correlated variables: iterations stay busy and nothing converges at once."""
    rng = np.random.default_rng(seed)
    means = np.zeros((K, p))
    means[:, :10] = rng.normal(size=(K, 10)) * 2
    labels = rng.integers(K, size=n)
    factors = rng.normal(size=(n, 5)) @ rng.normal(size=(5, p))
    return means[labels] + 0.5 * factors + rng.normal(size=(n, p)), labels


def iterations(problem, labels, K, count, method=None, model="AkjB", means=Means.FULL):
    """Seconds of `count` iterations (no stopping), from the same start."""
    d = K - 1
    sparse = SparseSettings(method, np.full(d, 0.1)) if method else None
    discriminant = "orthonormal" if means is Means.FULL else "svd"
    family = DLMFamily(K, d, resolve(model), discriminant, 1e-4, sparse, means)
    states = problem.start_states(labels, K)
    begin = time.perf_counter()
    run(problem, states, family, Settings(count, 0.0, "aitken"))
    return time.perf_counter() - begin


def per_iteration(problem, labels, K, method=None, means=Means.FULL, short=3, long=13):
    """Seconds per iteration, from the difference of a long and a short run (median of 5)."""

    def seconds(count):
        return iterations(problem, labels, K, count, method, means=means)

    return float(np.median([(seconds(long) - seconds(short)) / (long - short) for _ in range(5)]))


def mars_size():
    n, p, K = 38_400, 256, 5
    Y, labels = mixture(n, p, K)
    A, T = np.random.default_rng(1).normal(size=(p, K - 1 + K)), np.random.default_rng(2).random((K, n))
    problem = prepare(Y, ridge=1e-3)
    inside = np.ascontiguousarray(A[:, :K])
    low = median_time(lambda: Y @ inside) + median_time(lambda: T @ Y)
    latent = per_iteration(problem, labels, K, means=Means.LATENT)
    report(
        "38,400 x 256, K=5, AkjB, means inside the axes: dense iteration / floor (Y@A + T'@Y)",
        f"{latent / low:.2f}",
        "<= 1.5",
        latent <= 1.5 * low,
    )
    floor = median_time(lambda: Y @ A) + median_time(lambda: T @ Y)
    dense = per_iteration(problem, labels, K)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = np.array([Y[labels == k].mean(axis=0) for k in range(K)])

        def gmm(count):
            model = GaussianMixture(
                K, covariance_type="diag", max_iter=count, tol=0, means_init=start, init_params="random"
            )
            begin = time.perf_counter()
            model.fit(Y)
            return time.perf_counter() - begin

        rival = (gmm(7) - gmm(2)) / 5
    report(
        "  full means: dense iteration / floor (Y@A + T'@Y)",
        f"{dense / floor:.2f}",
        "<= 1.5",
        dense <= 1.5 * floor,
    )
    report(
        "  dense iteration / iteration of GaussianMixture(diag)", f"1/{rival / dense:.1f}", "<= 1/8", dense <= rival / 8
    )
    for method in ("two-step", "regression", "svd"):
        sparse = per_iteration(problem, labels, K, method)
        report(f"  sparse iteration ({method}) / dense iteration", f"{sparse / dense:.2f}", "<= 2", sparse <= 2 * dense)
        report(
            f"  R FisherEM's 15 s per sparse iteration / ours ({method})",
            f"{15 / sparse:.0f}",
            ">= 100",
            sparse <= 0.15,
        )
    report("  R FisherEM's 5 s per dense iteration / ours", f"{5 / dense:.0f}", ">= 100", dense <= 0.05)


def growth():
    K = 5
    times = {}
    for n, p in ((20_000, 128), (40_000, 128), (20_000, 256)):
        Y, labels = mixture(n, p, K)
        times[n, p] = per_iteration(prepare(Y, ridge=1e-3), labels, K)
    base = times[20_000, 128]
    report("twice the rows", f"{times[40_000, 128] / base:.2f}", "<= 2.2", times[40_000, 128] <= 2.2 * base)
    report("twice the variables", f"{times[20_000, 256] / base:.2f}", "<= 2.2", times[20_000, 256] <= 2.2 * base)


def usps():
    try:
        X, _ = datasets.load("usps358")
    except FileNotFoundError as error:
        print("skipped usps358:", error)
        return
    # what the R program fits: one start, a given share, full means, spherical noise
    same = {"model": "AkjBk", "means": "full", "noise_factors": 0}
    start = FisherEM(3, n_init=1, max_iter=1, random_state=0, **same)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = start.fit(X).labels_
        dense = [(FisherEM(3, discriminant=d, init=labels, **same), d, s) for d, s in R_DENSE]
        sparse = [(SparseFisherEM(3, method=m, sparsity=0.1, init=labels, **same), m, 40.0) for m in SPARSE_STEPS]
        for model, name, seconds in dense + sparse:
            ours = median_time(lambda model=model: model.fit(X), 5)
            kind = "sparse" if isinstance(model, SparseFisherEM) else "dense"
            report(
                f"usps358 {kind} fit, {name}: R's {seconds} s / ours ({ours * 1e3:.0f} ms, {model.n_iter_} iterations)",
                f"{seconds / ours:.0f}",
                ">= 100",
                ours <= seconds / 100,
            )


def thin_svd_time(centred) -> float:
    return median_time(lambda: np.linalg.svd(centred, full_matrices=False), 5)


# Ten k-means starts and a given share: the engine, without the search for better starts and for factors of the noise.
WIDE = {"sparsity": 0.05, "model": "AB", "noise_factors": 0, "means": "full", "random_state": 0}


def wide(method: str) -> None:
    """60 x 20,000 in a process of its own, so that its peak memory is its own."""
    n, p, K = 60, 20_000, 3
    rng = np.random.default_rng(0)
    labels = np.arange(n) % K
    X = rng.normal(size=(n, p))
    X[:, :50] += 2 * rng.normal(size=(K, 50))[labels]
    SparseFisherEM(2, random_state=0, method=method).fit(rng.normal(size=(20, 50)))  # imports and warms up
    svd = thin_svd_time(X - X.mean(axis=0))
    model = SparseFisherEM(K, method=method, **WIDE)
    ours = median_time(lambda: model.fit(X), 5)
    print(ours / svd, svd, int(model.support_.sum()), model.n_iter_)


def wide_memory(method: str) -> None:
    import tracemalloc

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20_000))
    X[:, :50] += 2 * rng.normal(size=(3, 50))[np.arange(60) % 3]
    SparseFisherEM(2, random_state=0, method=method).fit(rng.normal(size=(20, 50)))
    tracemalloc.start()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    SparseFisherEM(3, method=method, **WIDE).fit(X)
    peak = tracemalloc.get_traced_memory()[1] + X.nbytes
    resident = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 + X.nbytes
    print(max(peak, resident) / X.nbytes)


def wide_all():
    for method in ("two-step", "regression", "svd"):
        ratio, _, selected, iterations_ = subprocess.run(
            [sys.executable, __file__, "--wide", method], check=True, capture_output=True, text=True
        ).stdout.split()
        report(
            f"60 x 20,000 sparse fit ({method}, {selected} variables, {iterations_} it.) / thin SVD",
            f"{float(ratio):.2f}",
            "<= 5",
            float(ratio) <= 5,
        )
        memory = float(
            subprocess.run(
                [sys.executable, __file__, "--wide-memory", method], check=True, capture_output=True, text=True
            ).stdout
        )
        report(f"  peak memory / size of the data ({method})", f"{memory:.1f}", "<= 8", memory <= 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wide")
    parser.add_argument("--wide-memory")
    arguments = parser.parse_args()
    if arguments.wide:
        return wide(arguments.wide)
    if arguments.wide_memory:
        return wide_memory(arguments.wide_memory)
    product = np.random.default_rng(0).random((2000, 2000))
    print(f"a 2000 x 2000 matrix product takes {median_time(lambda: product @ product, 5):.2f} s (R's machine: 0.10 s)")
    mars_size()
    growth()
    usps()
    wide_all()
    print("\n| measured | ratio | expected |\n|---|---|---|")
    for what, value, target, good in ROWS:
        print(f"| {what.strip()} | {value}{'' if good else ' (outside)'} | {target} |")
    return None


if __name__ == "__main__":
    main()

"""Speed of the families: an iteration of MFA beside GaussianMixture's, and whole fits beside the R programs.

    python benchmarks/families.py            both
    python benchmarks/families.py iteration  38,400 x 256, K = 5, q = 4: the ratio to GaussianMixture(diag) in one run
    python benchmarks/families.py fits       iris, wine, wine27, K = 3, q = 2: log-likelihood and seconds

The seconds of R (EMMIXmfa 2.0.14, the best of ten starts) are known as ranges: 18 to 25 s for MFA, 52 to 84 s for MCFA.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn.mixture import GaussianMixture

from fisherem import FactorMixture, datasets
from fisherem.core.data.problem import prepare
from fisherem.core.engine.loop import Settings, run
from fisherem.core.factors.family import FactorFamily
from fisherem.model.factors import STRUCTURES

N, P, K, Q = 38_400, 256, 5, 4
# Iterations of a timing, and timings of which the shortest counts: the machine may be busy with other work.
ITERATIONS, TIMINGS = 6, 3
# data -> what R reaches with MFA and MCFA, the best of ten starts
KNOWN = {"iris": (-290.68, -360.08), "wine": (-2292.67, -2612.76), "wine27": (-5085.15, -5784.11)}
# Seconds of R, from the fastest to the slowest of these tables.
R_SECONDS = {"MFA": (18.0, 25.0), "MCFA": (52.0, 84.0)}


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Groups with own factors, the size of the paper's image."""
    rng = np.random.default_rng(0)
    labels = rng.integers(K, size=N)
    loadings = rng.normal(size=(K, P, Q)).astype(float)
    X = rng.normal(size=(N, P))
    for k in range(K):
        mine = labels == k
        X[mine] += rng.normal(size=(mine.sum(), Q)) @ loadings[k].T + 0.3 * rng.normal(size=P)
    return X, labels


def of_mfa(X: np.ndarray, start: np.ndarray) -> float:
    """Seconds per iteration of MFA: those of many iterations less those of few, without what comes before them."""
    problem = prepare(X, ridge=1e-3)
    states = problem.start_states(start, K)
    _, family = FactorFamily(K, Q, STRUCTURES["UUU"], 1e-4).adapt(problem, states)

    def seconds(iterations: int) -> float:
        begin = time.perf_counter()
        run(problem, problem.start_states(start, K), family, Settings(iterations, 0.0, "aitken"))
        return time.perf_counter() - begin

    return min((seconds(2 + ITERATIONS) - seconds(2)) / ITERATIONS for _ in range(TIMINGS))


def of_diagonal(X: np.ndarray, start: np.ndarray) -> float:
    """Seconds per iteration of scikit-learn's diagonal mixture, in the same way."""
    means = np.array([X[start == k].mean(axis=0) for k in range(K)])

    def seconds(iterations: int) -> float:
        rival = GaussianMixture(
            K, covariance_type="diag", max_iter=iterations, tol=0.0, means_init=means, init_params="random_from_data"
        )
        begin = time.perf_counter()
        rival.fit(X)
        return time.perf_counter() - begin

    return min((seconds(2 + ITERATIONS) - seconds(2)) / ITERATIONS for _ in range(TIMINGS))


def iteration() -> None:
    """The ratio of an iteration of MFA to one of GaussianMixture(diag), in one run."""
    X, labels = rows()
    start = np.where(np.random.default_rng(1).random(N) < 0.3, np.roll(labels, 7), labels)
    ours, theirs = of_mfa(X, start), of_diagonal(X, start)
    print(f"{N} x {P}, K = {K}, q = {Q}: MFA {1000 * ours:.0f} ms an iteration, GaussianMixture(diag) ", end="")
    print(f"{1000 * theirs:.0f} ms: {ours / theirs:.2f} times (at most 3 asked for)")


def fits() -> None:
    """Log-likelihoods and seconds of whole fits from the default starts, beside R's."""
    FactorMixture(3, 2, n_init=1, random_state=0).fit(datasets.load("iris")[0])  # what is loaded once
    for name, known in KNOWN.items():
        X, _ = datasets.load(name)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        for structure, reached in zip(("MFA", "MCFA"), known, strict=True):
            found = []
            for _ in range(TIMINGS):
                begin = time.process_time()  # other work on the machine does not count
                model = FactorMixture(3, 2, structure=structure, random_state=0, n_jobs=1).fit(X)
                found.append(time.process_time() - begin)
            seconds = min(found)
            print(f"{name:7} {structure:5} log-likelihood {model.log_likelihood_:.2f} (R {reached:.2f}), ", end="")
            least, most = (known / seconds for known in R_SECONDS[structure])
            print(f"{seconds:.2f} s: {least:.0f} to {most:.0f} times faster than R")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asked = sys.argv[1:] or ["iteration", "fits"]
    for part in asked:
        {"iteration": iteration, "fits": fits}[part]()

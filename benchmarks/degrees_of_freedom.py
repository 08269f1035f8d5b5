"""The number of non-zero loadings against the optimism of the likelihood, on the paper's simulation.

    python benchmarks/degrees_of_freedom.py [--draws 60]

The penalised BIC counts gamma_e parameters: those of Table 1 less the zeros of the loadings (section 3.4). A model with
gamma parameters has a log-likelihood that is on average gamma higher on the rows that it was fitted to than on new rows
of the same kind (Efron 1986), whatever gamma counts. This estimates that optimism by a parametric bootstrap: a model is
fitted to a draw of the simulation (AkB, as in section 4.1, with the true groups as the start), samples of the same size
are drawn from it, and the same algorithm is fitted to each.

    optimism = mean over samples of [l(fit to it; it) - l(truth; it)] + [l(truth; new rows) - l(fit to it; new rows)]

The terms in the truth have a mean of zero together and take most of the noise away.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product

import numpy as np
import pandas as pd

from fisherem import SparseFisherEM, datasets

warnings.simplefilter("ignore")
MU = 1.7  # the simulation with well separated groups
N_NEW = 5  # new samples of the same size per bootstrap sample


def fitted(X, labels, algorithm, sparsity, means):
    """The published algorithm from given groups."""
    how = {"sparsity": sparsity, "means": means, "model": "AkB", "init": labels, "max_iter": 100, "n_jobs": 1}
    return SparseFisherEM.as_published(3, algorithm=algorithm, **how).fit(X)


def optimism(model, n, draws, rng, **how):
    """(mean, its standard error, mean count of parameters) over samples from the fitted model."""
    values, counts = [], []
    for _ in range(draws):
        X, labels = model.sample(n, random_state=int(rng.integers(2**31)))
        new, _ = model.sample(N_NEW * n, random_state=int(rng.integers(2**31)))
        try:
            again = fitted(X, labels, **how)
        except ValueError:  # a sample that leaves a group without rows
            continue
        inside = again.score_samples(X).sum() - model.score_samples(X).sum()
        outside = (model.score_samples(new).sum() - again.score_samples(new).sum()) / N_NEW
        values.append(inside + outside)
        counts.append(again.n_parameters_)
    return np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values)), np.mean(counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--n", type=int, default=300)
    draws, n = (given := parser.parse_args()).draws, given.n
    rng = np.random.default_rng(0)
    rows = []
    X, y = datasets.simulate(n, MU, random_state=0)
    for means, algorithm, sparsity in product(("latent", "full"), (1, 2, 3), (0.1, 0.3, 0.6, 1.0)):
        how = {"algorithm": algorithm, "sparsity": sparsity, "means": means}
        model = fitted(X, y, **how)
        mean, error, count = optimism(model, n, draws, rng, **how)
        rows.append(
            {
                "means": means, "algorithm": algorithm, "share": sparsity, "variables": int(model.support_.sum()),
                "count": round(count, 1), "optimism": f"{mean:.1f} ± {error:.1f}", "difference": round(mean - count, 1),
            }
        )  # fmt: skip
    print(pd.DataFrame(rows).to_string(index=False))


if __name__ == "__main__":
    main()

"""The register of rivals: every method that Fisher-EM is compared with, by name.

`compare`, the paper's experiments, the command line and model files use `RIVALS`, so a new rival is one class and one
entry. Its estimator needs `fit` and either `labels_` or `predict`; without `support_`, it uses every variable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from .._utils.register import Register
from ..estimators import BayesianFisherEM, FactorMixture
from .clustvarsel import Clustvarsel
from .selvarclust import Selvarclust
from .sparse_kmeans import SparseKMeans

__all__ = ["RIVALS", "Rival"]


@dataclass(frozen=True)
class Rival:
    """A method to compare with."""

    name: str
    make: Callable[[int, Any], Any]  # (n_clusters, random_state) -> an unfitted estimator
    cls: type | None = None  # the class that model files may hold; None for classes that skops trusts
    paper_name: str | None = None  # its name in the paper's tables, if it is there
    reproduced: bool = True  # whether `fisherem reproduce` runs it beside the paper's methods
    selects: bool = True  # whether it selects variables


def _factor_mixture(structure: str) -> Callable[[int, Any], Any]:
    """A function that makes mixtures with K - 1 factors, as many as Fisher-EM has axes."""
    return lambda K, seed: FactorMixture(K, max(1, K - 1), structure=structure, random_state=seed)


RIVALS: Register[Rival] = Register("rival")
for _rival in (
    # Ten starts for k-means and the mixture, as for FisherEM.
    Rival("k-means", lambda K, seed: KMeans(K, n_init=10, random_state=seed), paper_name="k-means", selects=False),
    # Not reproduced: the paper does not run it, and with full covariances it cannot be fitted if n is less than p.
    Rival(
        "GaussianMixture",
        lambda K, seed: GaussianMixture(K, n_init=10, random_state=seed),
        reproduced=False,
        selects=False,
    ),
    Rival("SparseKMeans", lambda K, seed: SparseKMeans(K, random_state=seed), SparseKMeans, "sparse k-means"),
    Rival("Clustvarsel", lambda K, seed: Clustvarsel(K, random_state=seed), Clustvarsel, "Clustvarsel"),
    # The stepwise ranking starts from all variables: on the 256 pixels of usps358 one step takes more than 90 s.
    Rival(
        "Selvarclust",
        lambda K, seed: Selvarclust(K, ranking="lasso", random_state=seed),
        Selvarclust,
        "Selvarclust",
    ),
    # The other models of the paper's Table 1, and the Bayesian one: `fisherem reproduce models` runs them.
    Rival("BayesianFisherEM", lambda K, seed: BayesianFisherEM(K, random_state=seed), reproduced=False, selects=False),
    *(
        Rival(name, _factor_mixture(name), reproduced=False, selects=False)
        for name in ("MFA", "PPCA", "CUU", "MCFA", "MCUFSA")
    ),
):
    RIVALS.add(_rival.name, _rival)
RIVALS.seal()

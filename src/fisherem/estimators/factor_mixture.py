"""FactorMixture: mixtures of factor models under the interface of FisherEM. The algorithms are in `core.factors`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._utils.public import public
from ..core.engine.loop import Settings
from ..core.engine.multistart import Specification
from ..core.factors.common_axes import LatentFactors
from ..core.factors.common_axes_family import LatentFactorFamily, LatentFactorSolution
from ..core.factors.density import FactorDensity, factor_scores
from ..core.factors.family import FactorFamily, FactorSolution
from ..core.factors.starts import MIXED
from ..model.dlm import AUTO
from ..model.factors import resolve_structure
from ..tables.checking import check_init, check_number, check_one_of
from ..tables.parameters import DEFAULT_MEMORY
from .factor_fitting import adopt_factors, fit_factors, opened
from .fitting import RAW, STANDARDISE, check_run_parameters, warn_unless_converged
from .prediction import FittedMixture

__all__ = ["FactorMixture"]

# The stopping rule: the other ones need Fisher's criterion.
_STOPPING = "aitken"


@public
class FactorMixture(FittedMixture, BaseEstimator):
    """Cluster rows by a mixture of factor models: each group's covariance is a few factors plus a diagonal noise.

    y | k ~ N(m_k, L_k L_k' + Psi_k) with loadings L_k (p x q). The structure says what the groups share and
    what differs between them. Unlike in `FisherEM`, all variables define the groups; the page "Which variables, which
    model" compares the two.

    Parameters
    ----------
    n_clusters : int, default=3
        The number of groups K < n.
    n_factors : int or "auto", default=2
        The number q of factors, 0 to p - 1. With 0 the groups have diagonal covariances. "auto" gives each group its
        own number by the scree test of the start (structures with own axes, such as "PPCA").
    structure : str, default="MFA"
        "MFA": own loadings, own noise per variable. "PPCA": own loadings, own spherical noise; with the constraints of
        HDDC "AkjBkQk" (the same), "AkjBQk", "AkBkQk", "AkBQk", "ABkQk", "ABQk": variances of the factors per factor and
        group (Akj), per group (Ak) or one (A), noise per group (Bk) or one (B). The eight PGMM "CCC" ... "UUU":
        loadings, noise over the groups, noise over the variables, each Common or Unconstrained ("UUU" is MFA). "MCFA":
        common loadings and noise, the groups differ in the factor space only. "MCUFSA": the same with uncorrelated
        factors on orthonormal axes and spherical noise.
    init : {"mixed", "kmeans", "random", "ward"} or array, default="mixed"
        The starting partitions, given labels (n) or posteriors (n x K). "mixed" takes k-means runs, Ward's
        clustering and random partitions.
    n_init : int, default=10
        The number of starts. Each is run for a few iterations, with principal axes and some with other loadings; the
        best are run until convergence, and the fit with the largest likelihood is kept.
    max_iter : int, default=2000
        The limit of iterations per start.
    tol : float, default=1e-7
        The change of Aitken's estimate of the final log-likelihood per observation that ends the iterations; a
        hundred times as much on large data (four million values and more).
    variance_floor : float, default=1e-4
        The least noise of a variable, as a share of its variance (of the mean variance for a spherical noise): the
        likelihood is unbounded where a noise variance tends to 0. At least 1e-9.
    random_state : int, RandomState or None
        The seed of the starts.
    n_jobs : int or None
        Threads over blocks of rows; None means all cores. The result does not depend on it.
    memory : str or int, default="1GB"
        The budget for rows that are read from a file.
    scale : {"none", "standardise"}, default="none"
        Divide the columns by their standard deviations. Structures with a noise per variable and free loadings (MFA,
        CUU, MCFA, ...) depend on the columns' units only through the start; those with spherical noise depend on them
        directly.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The most probable group of each row.
    weights_ : ndarray of shape (K,)
        The proportions of the groups.
    means_, centre_ : ndarray of shape (K, p), (p,)
        The means of the groups, and that of all rows.
    row_means_, row_centre_ : ndarray of shape (K, p), (p,)
        The means less the centre, and the centre, of the columns divided by `scales_`.
    distance_moments_ : ndarray of shape (2, K)
        Means and variances of the squared distances of the groups' rows, which `outlyingness` compares with.
    factor_loadings_ : ndarray of shape (K, p, q), or (p, q) for MCFA and MCUFSA
        The loadings of the columns divided by `scales_`.
    noise_variances_ : ndarray of shape (K, p)
        The diagonals of the noise, of the columns divided by `scales_`.
    latent_means_, covariances_ : ndarray of shape (K, q), (K, q, q)
        For MCFA and MCUFSA: means and covariances of the groups in the factor space.
    n_factors_ : ndarray of shape (K,)
        The number of factors of each group.
    structure_ : str
        The name of the structure as an entry of the register.
    support_ : ndarray of shape (p,), bool
        The variables that are not constant.
    scale_, scales_ : str, ndarray of shape (p,)
        What was done to the columns, and what they were divided by.
    log_likelihood_, n_parameters_ : float, int
        The log-likelihood of the rows, and the number of free parameters.
    bic_, icl_, aic_, gain_ : float
        Criteria; larger is better, unlike in `GaussianMixture`.
    n_iter_, converged_, stop_reason_ : int, bool, str
        How the best run ended.
    history_, starts_ : list of dict
        A record per iteration, whose log-likelihood never falls, and a record per start.
    n_features_in_, feature_names_in_ : int, ndarray of shape (p,)
        The number of columns, and their names where X has them.

    See Also
    --------
    FisherEM : Groups in the most discriminative subspace.
    ModelSearch : Chooses the number of groups, the structure and the number of factors.

    Examples
    --------
    >>> from fisherem import FactorMixture, datasets
    >>> X, _ = datasets.load("wine", as_frame=True)
    >>> model = FactorMixture(3, 2, random_state=0).fit((X - X.mean()) / X.std())
    >>> model.factor_loadings_.shape
    (3, 13, 2)
    """

    # the kind of grid of a search by a criterion (`search.search_parameters.GRIDS`), and the parameters it compares
    _grid, _compared = "factors", ("structure", "n_factors")

    row_means_: np.ndarray
    row_overall_: np.ndarray
    factor_loadings_: np.ndarray
    noise_variances_: np.ndarray
    latent_means_: np.ndarray
    covariances_: np.ndarray
    n_factors_: np.ndarray
    structure_: str

    def __init__(
        self,
        n_clusters=3,
        n_factors=2,
        *,
        structure="MFA",
        init=MIXED,
        n_init=10,
        max_iter=2000,
        tol=1e-7,
        variance_floor=1e-4,
        random_state=None,
        n_jobs=None,
        memory=DEFAULT_MEMORY,
        scale=RAW,
    ):
        self.n_clusters = n_clusters
        self.n_factors = n_factors
        self.structure = structure
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.variance_floor = variance_floor
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory = memory
        self.scale = scale

    # -- fitting ---------------------------------------------------------------------------------------------------

    def fit(self, X, y=None, sample_weight=None, feature_names=None):
        """Fit to the rows of X. `y` is ignored. A weight of 2 is equivalent to repeating the row.

        X is an array or a frame, a memory map, a Zarr array, the path of a file, or a dask array or data frame.
        """
        problem, scales, spec = opened(self, X, sample_weight, feature_names)
        fitted = fit_factors(problem, scales, spec, resolve_structure(self.structure))
        with fitted.problem.rows.closed_on_error():
            adopt_factors(self, fitted)
        warn_unless_converged(self, fitted.fit)
        return self

    def _check_parameters(self) -> None:
        check_number("n_clusters", self.n_clusters, integer=True, least=1)
        structure = resolve_structure(self.structure)
        check_number("n_factors", self.n_factors, integer=True, least=0, word=AUTO)
        if isinstance(self.n_factors, str) and (structure.loadings is None or structure.loadings.common):
            raise ValueError(
                f"n_factors='auto' gives each group its own number of factors: structure {structure.name} has common "
                "loadings, give a number"
            )
        if structure.latent is not None and self.n_factors == 0:
            raise ValueError(f"structure {structure.name} needs at least one factor; got n_factors=0")
        check_one_of("scale", self.scale, (RAW, STANDARDISE))
        check_run_parameters(self)

    def _specification(self, n: int, p: int) -> Specification:
        structure = resolve_structure(self.structure)
        q = None if isinstance(self.n_factors, str) else min(int(self.n_factors), p - 1)
        family: Any
        if structure.latent is None:
            family = FactorFamily(self.n_clusters, q, structure, self.variance_floor)
        else:
            family = LatentFactorFamily(self.n_clusters, max(q or 0, 1), structure, self.variance_floor)
        init = self.init if isinstance(self.init, str) else check_init(self.init, n, self.n_clusters)
        settings = Settings(self.max_iter, self.tol, _STOPPING)
        return Specification(family, settings, init, self.n_init, self.random_state)

    # -- using the fit ---------------------------------------------------------------------------------------------

    def _solution(self) -> FactorSolution | LatentFactorSolution:
        """The fitted parameters as a `Solution` of the family, relative to the centre."""
        if resolve_structure(self.structure_).latent is None:
            density = FactorDensity.of(self.weights_, self.row_means_, self.factor_loadings_, self.noise_variances_)
            return FactorSolution(density, self.n_factors_)
        values, vectors = np.linalg.eigh(self.covariances_)
        roots = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
        parts = (self.weights_, self.factor_loadings_, self.noise_variances_[0], self.latent_means_, roots)
        return LatentFactorSolution(LatentFactors.of(*parts, self.row_overall_))

    def transform(self, X):
        """Factor scores: the expected factors of each row, averaged over the groups (n x q).

        If each group has its own loadings, the factors of different groups are not comparable.
        """
        return self._told(X, "_coordinates", self._n_features_out if hasattr(self, "weights_") else 0)

    def _coordinates(self, table):
        rows, states, _ = self._pass(table, ("posteriors",))
        with rows.closed_on_error():
            rows.fold(factor_scores, states, self._solution().density)
            return rows.gather(states, "placed").T

    @property
    def _n_features_out(self) -> int:
        return self.factor_loadings_.shape[-1]

    def _draw_rows(self, labels: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        K, p = self.means_.shape
        drawn = rng.normal(size=(len(labels), p)) * np.sqrt(self.noise_variances_[labels])
        factors = rng.normal(size=(len(labels), self._n_features_out))
        density: Any = self._solution().density
        for k in range(K):
            along = density.loadings[k] if density.loadings.ndim == 3 else density.loadings @ density.roots[k]
            drawn[labels == k] += factors[labels == k] @ along.T
        return self.means_[labels] + drawn * self._scales()

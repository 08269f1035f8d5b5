"""BayesianFisherEM: Fisher-EM with a prior on the groups' latent means. The algorithm is in `core.bayes`."""

from __future__ import annotations

from dataclasses import fields, replace
from inspect import signature

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._utils.public import public
from ..core.bayes.family import BayesFamily, BayesSolution
from ..core.bayes.step import BayesParameters, MeansPrior
from ..core.data.problem import AUTO_RIDGE
from ..core.dlm.f_step.step import SPARSE_STEPS, FStep
from ..core.dlm.family import DLMSolution, SparseSettings
from ..core.dlm.m_step import LatentParameters
from ..core.engine.multistart import Specification, fit
from ..core.starts.partitions import start_of
from ..model.criteria import CRITERIA
from ..model.dlm import resolve
from ..policy.decisions import Chosen
from ..tables.checking import check_one_of, check_sparsity
from ..tables.parameters import DEFAULT_MEMORY
from .factor_fitting import opened
from .fisher_em import FisherEM
from .fitting import RAW, STANDARDISE, Fitted, adopt, warn_unless_converged
from .prediction import FittedDLM

__all__ = ["BayesianFisherEM"]


@public
class BayesianFisherEM(FittedDLM, BaseEstimator):
    """Fisher-EM with a normal prior on the groups' latent means, by variational Bayes (Jouvin et al. 2021).

    mu_k ~ N(nu, lambda I) inside the axes: the means of small or close groups are shrunk towards each other, by an
    amount that is estimated from the data (nu and lambda are estimated with the rest). For given axes the iterations
    increase a lower bound of the marginal likelihood (ELBO); the F-step finds the axes as in `FisherEM`, dense or
    sparse.

    Parameters
    ----------
    n_clusters : int, default=3
        The number of groups K < n.
    model : str, default="DB"
        One of the twelve models of `FisherEM`. With a common noise variance the posteriors depend only on the
        coordinates inside the axes. On five tables, raw and standardised, DB was as accurate as AkB and DkB and the
        only one beside AB whose iterations always converged.
    method : {None, "two-step", "regression", "svd"}, default=None
        The sparse F-step; None means dense axes.
    sparsity : float or sequence, default=0.1
        How sparse the axes are, as in `SparseFisherEM`; ignored for method=None.
    discriminant, n_axes, init, n_init, max_iter, tol, ridge, variance_floor, random_state, n_jobs, memory
        As in `FisherEM`.
    scale : {"none", "standardise"}, default="none"
        Divide the columns by their standard deviations.

    Attributes
    ----------
    elbo_ : float
        The lower bound of the log marginal likelihood of the rows, from which the criteria are computed.
    divergence_ : float
        The Kullback-Leibler divergence of the posteriors of the means from their prior, a term of the bound.
    log_likelihood_ : float
        The bound without that term: the expected log densities of the rows.
    latent_means_ : ndarray of shape (K, d)
        The posterior means of the groups' latent means.
    latent_spreads_ : ndarray of shape (K, d, d)
        Their posterior covariances.
    prior_mean_, prior_variance_ : ndarray of shape (d,), float
        nu (relative to the centre) and lambda.
    labels_, loadings_, support_, weights_, means_, covariances_, noise_variances_, n_parameters_, bic_, icl_, aic_,
    gain_
        As in `FisherEM`; nu and lambda are counted in place of the groups' means.
    sparse_loadings_, group_means_, centre_, row_centre_, row_means_, distance_moments_, scale_, scales_, scale_warning_
        As in `FisherEM`.
    exponents_, bending_, noise_factors_, noise_loadings_, model_, n_missing_, decisions_
        As in `FisherEM`.
    n_features_in_, feature_names_in_
        As in `FisherEM`.
    n_iter_, converged_, stop_reason_, history_, starts_
        As in `FisherEM`; "log_likelihood" in the history is the bound.

    See Also
    --------
    FisherEM, SparseFisherEM : The same models without a prior.

    Examples
    --------
    >>> from fisherem import BayesianFisherEM, datasets
    >>> X, _ = datasets.load("wine")
    >>> model = BayesianFisherEM(3, scale="standardise", random_state=0).fit(X)
    >>> model.elbo_ < model.log_likelihood_
    True
    """

    # Parameters of `FisherEM` that are fixed here.
    means = "latent"
    noise_factors = 0
    transformation = "none"
    min_size = "auto"
    stopping = "aitken"

    elbo_: float
    divergence_: float
    log_likelihood_: float
    latent_spreads_: np.ndarray
    prior_mean_: np.ndarray
    prior_variance_: float

    def __init__(
        self,
        n_clusters=3,
        *,
        model="DB",
        method=None,
        sparsity=0.1,
        discriminant="auto",
        n_axes=None,
        init="kmeans",
        n_init=10,
        max_iter=200,
        tol=1e-4,
        ridge=AUTO_RIDGE,
        variance_floor=1e-4,
        random_state=None,
        n_jobs=None,
        memory=DEFAULT_MEMORY,
        scale=RAW,
    ):
        self.n_clusters = n_clusters
        self.model = model
        self.method = method
        self.sparsity = sparsity
        self.discriminant = discriminant
        self.n_axes = n_axes
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.ridge = ridge
        self.variance_floor = variance_floor
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory = memory
        self.scale = scale

    # -- fitting ---------------------------------------------------------------------------------------------------

    def fit(self, X, y=None, sample_weight=None, feature_names=None):
        """Fit to the rows of X. `y` is ignored. A weight of 2 means the same as the row twice.

        X is an array or a frame, a memory map, a Zarr array, the path of a file, or a dask array or data frame.
        """
        problem, scales, spec = opened(self, X, sample_weight, feature_names, ridge=self.ridge)
        with problem.rows.closed_on_error():
            found, starts = fit(problem, spec)
            self._adopt(Fitted(problem, Chosen(found, starts, resolve(self.model), []), scales), spec)
        warn_unless_converged(self, found)
        return self

    def _plain(self) -> FisherEM:
        """The estimator without a prior, with the same values of the parameters that it shares."""
        known = signature(FisherEM).parameters
        return FisherEM(**{name: value for name, value in self.get_params(deep=False).items() if name in known})

    def _check_parameters(self) -> None:
        resolve(self.model)
        check_one_of("scale", self.scale, (RAW, STANDARDISE))
        self._plain()._check_parameters()
        if self.method is not None:
            check_one_of("method", self.method, SPARSE_STEPS)

    def _specification(self, n: int, p: int) -> Specification:
        spec = self._plain()._specification(n, p)
        plain = spec.family
        known = {field.name: getattr(plain, field.name) for field in fields(plain)}
        family = BayesFamily(**known, rough_starts=not start_of(self.init).separates)
        if self.method is not None and family.d:
            shares = check_sparsity(self.sparsity, family.d)
            family = replace(family, sparse=SparseSettings(self.method, shares))
        return replace(spec, family=family)

    def _adopt(self, fitted: Fitted, spec: Specification) -> None:
        """Set the fitted attributes: those of a DLM, the posteriors of the means and the prior."""
        adopt(self, fitted)
        problem, solution = fitted.problem, fitted.chosen.fit.solution
        density = solution.density
        assert isinstance(density, BayesParameters)
        assert density.prior is not None
        assert density.spreads is not None
        signs = np.sign(np.einsum("pd,pd->d", self.loadings_, FStep.loadings(solution.axes, problem.scatter)))
        self.latent_spreads_ = density.spreads * signs[:, None] * signs
        self.prior_mean_, self.prior_variance_ = density.prior.mean * signs, density.prior.variance
        self.divergence_ = density.price * problem.weight
        self.elbo_ = self.log_likelihood_
        self.log_likelihood_ = self.elbo_ + self.divergence_
        self.n_parameters_ = spec.family.n_parameters(solution, problem.p) + fitted.n_scales
        for name, criterion in CRITERIA.items():
            if criterion.of_partition is None:
                value = criterion(self.elbo_, self.n_parameters_, problem.weight, fitted.chosen.fit.entropy)
                setattr(self, f"{name}_", value)

    # -- using the fit ---------------------------------------------------------------------------------------------

    def _solution(self) -> DLMSolution:
        """The fitted parameters as a `Solution` of the family, relative to the centre."""
        plain = super()._solution()
        assert isinstance(plain.density, LatentParameters)
        prior = MeansPrior(self.prior_mean_, self.prior_variance_)
        density = BayesParameters.with_posteriors(plain.density, self.latent_spreads_, prior, np.inf)
        return BayesSolution(plain.axes, plain.means, density, overall=plain.overall)

    def criterion(self, name, X, sample_weight=None, covariates=None):
        """The criterion of that name on X, computed from the bound; larger is better."""
        entry = CRITERIA.find(name)
        if entry.of_partition is not None:
            return super().criterion(name, X, sample_weight, covariates)
        check_is_fitted(self)
        n, sums = self._sums(X, sample_weight, covariates)
        return entry(sums.log_likelihood - self.divergence_, self.n_parameters_, n, sums.entropy)

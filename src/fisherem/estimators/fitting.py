"""Plain functions from rows and parameters to a fit: what the estimators, the search and images share."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.wording import column_name, listed
from ..em.dlm_family import DLMFamily
from ..em.f_step.step import FStep
from ..em.loop import Fit
from ..em.model_choice import Chosen
from ..em.multistart import Specification
from ..em.problem import Problem, prepare
from ..em.stopping import StopKind
from ..model.criteria import CRITERIA
from ..selection.automatic import fit_automatic, fit_dense
from ..selection.criterion import Partition
from ..selection.noise import with_factors
from ..selection.roles import roles_table
from ..tables.checking import check_clusters

__all__ = ["adopt", "check_parameters", "fit_rows", "specification", "warn_of_constant_columns"]


def check_parameters(estimator) -> None:
    """One clear error for the first parameter of an estimator or a search that is not as it should be."""
    estimator._check_parameters()


def specification(estimator, n: int, p: int) -> Specification:
    """What the estimator's parameters ask for on n rows of p variables."""
    return estimator._specification(n, p)


def fit_rows(estimator, table, weights=None, prior=None) -> tuple[Problem, Chosen]:
    """Fit to checked rows (n x p): an array, anything that `ArrayRows` reads, or a table with an engine of its own.

    Returns the prepared rows and the fit that was kept, with its model and why. The estimator's parameters are read,
    nothing is set. `prior` is a prior over the rows, such as a `SpatialPrior`.
    """
    check_clusters(estimator.n_clusters, table, weights)
    spec = specification(estimator, *table.shape)
    problem = prepare(table, weights, ridge=estimator.ridge, n_jobs=estimator.n_jobs, prior=prior)
    with problem.rows.closed_on_error():
        warn_of_constant_columns(problem, getattr(estimator, "feature_names_in_", None))
        chosen = _chosen(problem, spec, estimator.model)
        return problem, with_factors(problem, spec, chosen, estimator.noise_factors)


def _chosen(problem: Problem, spec: Specification, model) -> Chosen:
    """The fit of a given model, or of the one that is chosen for model="auto"."""
    family = spec.family
    assert isinstance(family, DLMFamily)
    if family.sparse is not None and family.sparse.sparsity is None:
        return fit_automatic(problem, spec, model)
    return fit_dense(problem, spec, model)


def warn_of_constant_columns(problem: Problem, names) -> None:
    """Say which columns cannot be selected because they have one value."""
    constant = np.flatnonzero(problem.constant)
    if len(constant):
        shown = listed(constant, quoted=False) if names is None else listed([names[j] for j in constant])
        warnings.warn(f"constant columns carry no information and are never selected: {shown}", stacklevel=4)


def warn_unless_converged(estimator, fit: Fit) -> None:
    """Say why the iterations of a fit ended before the stopping rule was met."""
    if fit.converged:
        return
    if fit.stop.kind is StopKind.CYCLE:
        text = (
            f"the iterations ended in a cycle after {fit.n_iter}: the F-step does not maximise the likelihood; "
            "the most likely iterate of the cycle is returned (another discriminant or model may converge)"
        )
    elif fit.stop.kind is StopKind.MAX_ITER:
        text = f"no convergence within max_iter={estimator.max_iter} iterations: raise max_iter or tol"
    else:
        text = f"stopped after {fit.n_iter} iterations: {fit.stop}; try fewer clusters or more starts"
    warnings.warn(text, ConvergenceWarning, stacklevel=4)


def adopt(estimator, problem: Problem, chosen: Chosen):
    """Copy a fit into the estimator's fitted attributes, with fixed signs of the axes; returns the estimator."""
    fit, model = chosen.fit, chosen.model
    solution = fit.solution
    loadings = FStep.loadings(solution.axes, problem.scatter).copy()
    loadings[problem.constant] = 0.0
    largest = np.abs(loadings).argmax(axis=0)
    signs = np.where(loadings[largest, np.arange(loadings.shape[1])] < 0, -1.0, 1.0)
    density, sparse = solution.density, solution.axes.sparse
    K, d = density.latent_means.shape
    estimator.labels_ = problem.rows.gather(fit.states, "labels")
    estimator.loadings_ = loadings * signs
    estimator.sparse_loadings_ = estimator.loadings_ if sparse is None else sparse * signs
    estimator.support_ = estimator.sparse_loadings_.any(axis=1)
    estimator.weights_ = density.proportions
    estimator.centre_ = problem.centre
    estimator.means_ = _means(problem, solution, loadings) + problem.centre
    estimator.group_means_ = problem.scatter.to_variables(solution.means.T).T + problem.centre
    estimator.latent_means_ = estimator.means_ @ estimator.loadings_
    estimator.covariances_ = density.covariances * signs[:, None] * signs
    estimator.noise_variances_ = density.noises
    metric = None if solution.metric is None else solution.metric.in_variables(problem.scatter)
    estimator.noise_factors_ = solution.n_factors
    estimator.noise_loadings_ = np.zeros((problem.p, 0)) if metric is None else metric.vectors * np.sqrt(metric.gains)
    estimator.noise_choice_ = chosen.noise
    estimator.model_, estimator.model_choice_ = model.name, chosen.candidates
    estimator.log_likelihood_ = fit.log_likelihood
    estimator.n_parameters_ = model.n_parameters(K, problem.p, d, solution.axes.n_zeros, solution.n_factors)
    partition = Partition.of_labels(problem, estimator.labels_, K)
    support = np.flatnonzero(estimator.support_)
    for name, criterion in CRITERIA.items():
        if criterion.of_partition is not None:
            value = criterion.of_partition(partition, support)
        else:
            value = criterion(fit.log_likelihood, estimator.n_parameters_, problem.weight, fit.entropy)
        setattr(estimator, f"{name}_", value)
    if sparse is not None:
        estimator.roles_ = roles_table(partition, support, _names(estimator, problem.p))
    estimator.history_ = fit.history
    estimator.n_iter_ = fit.n_iter
    estimator.converged_ = fit.converged
    estimator.stop_reason_ = str(fit.stop)
    estimator.starts_ = chosen.starts
    return estimator


def _names(estimator, p: int) -> list[str]:
    names = getattr(estimator, "feature_names_in_", None)
    return [column_name(j) for j in range(p)] if names is None else [str(name) for name in names]


def _means(problem: Problem, solution, loadings: np.ndarray) -> np.ndarray:
    """The model's means (K x p) relative to the centre: those of the rows, or inside the axes about their mean."""
    scatter = problem.scatter
    if solution.overall is None:
        return scatter.to_variables(solution.means.T).T
    overall = scatter.to_variables(solution.overall[:, None])[:, 0]
    inside = solution.density.latent_means - solution.overall @ solution.axes.rows
    if solution.metric is not None:  # the factors carry the other variables along
        loadings = solution.metric.in_variables(scatter).spread_along(loadings)
    return overall + inside @ loadings.T

"""The likelihood of a selection of variables: groups may differ on the selected variables only.

With full means a variable without loadings still separates the groups through its means, at no cost in parameters. The
likelihood hardly decreases, and a criterion based on it prefers one variable per axis for any data. To evaluate a
*selection*, the other variables get one mean for all groups, and the selected ones K means each, which are counted.
"""

from __future__ import annotations

import numpy as np

from ...model.dlm import DLM
from ..data.kernels import expect
from ..data.problem import Problem
from ..engine.loop import Fit
from .family import DLMFamily
from .m_step import m_step
from .projection import FullMeans

__all__ = ["selected_likelihood", "selection_parameters", "support_of"]


def support_of(fit: Fit, p: int) -> np.ndarray:
    """bool p: the variables with a loading that is not 0."""
    sparse = fit.solution.axes.sparse
    return np.ones(p, bool) if sparse is None else np.asarray(sparse.any(axis=1))


def selection_parameters(model: DLM, n_clusters: int, p: int, d: int, n_zeros: int, n_selected: int) -> int:
    """Free parameters with K means on each selected variable and one on each other, instead of Table 1's K d."""
    means = n_clusters * n_selected + (p - n_selected)
    return model.n_parameters(n_clusters, p, d, n_zeros) - n_clusters * d + means


def selected_likelihood(problem: Problem, fit: Fit, family: DLMFamily) -> tuple[float, float]:
    """(log-likelihood, entropy) of the fit's axes and posteriors after one M-step with the masked means."""
    scatter, solution = problem.scatter, fit.solution
    support = support_of(fit, problem.p)
    means = scatter.to_variables(solution.means.T).T.copy()
    overall = scatter.to_variables(problem.mean[:, None])[:, 0]
    means[:, ~support] = overall[~support]
    masked = scatter.to_rows(means.T).T
    placing = FullMeans.of(solution.axes.rows, masked, np.einsum("kj,kj->k", means, means))
    floor = family.variance_floor * problem.floor_unit
    weights = solution.density.proportions * problem.weight

    states = problem.states_of(fit, "posteriors", "log_prior")
    moments = problem.rows.fold(type(placing).kernel, states, placing)
    density = m_step(weights, placing.latent_means, moments, family.model, problem.p, floor)
    sums = problem.rows.fold(expect, states, density, read=density.needs_rows)
    return sums.log_likelihood, sums.entropy

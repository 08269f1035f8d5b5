"""The likelihood that a choice of variables has: groups may differ on the selected variables only.

The E-step uses the full means of the groups, so a variable that leaves the axes goes on telling the groups apart
through its means, at no cost in parameters: the likelihood hardly falls, and a criterion built on it prefers one
variable per axis, whatever the data. To judge a *selection*, the variables that are not selected get one mean for all
groups, and the selected ones K means each, which are counted.
"""

from __future__ import annotations

import numpy as np

from ..model.dlm import DLM
from .kernels import Projection, expect, project
from .loop import Fit, Settings
from .m_step import m_step
from .problem import Problem

__all__ = ["selected_likelihood", "selection_parameters"]


def support_of(fit: Fit, p: int) -> np.ndarray:
    """bool p: the variables with a loading that is not 0."""
    return np.ones(p, bool) if fit.axes.sparse is None else np.asarray(fit.axes.sparse.any(axis=1))


def selection_parameters(model: DLM, n_clusters: int, p: int, d: int, n_zeros: int, n_selected: int) -> int:
    """Free parameters with K means on each selected variable and one on each other, in place of Table 1's K d."""
    means = n_clusters * n_selected + (p - n_selected)
    return model.n_parameters(n_clusters, p, d, n_zeros) - n_clusters * d + means


def selected_likelihood(problem: Problem, fit: Fit, settings: Settings) -> tuple[float, float]:
    """(log-likelihood, entropy) of the fit's axes and posteriors after one M-step with the masked means."""
    scatter = problem.scatter
    support = support_of(fit, problem.p)
    means = scatter.to_variables(fit.means.T).T.copy()
    overall = scatter.to_variables(problem.mean[:, None])[:, 0]
    means[:, ~support] = overall[~support]
    projection = Projection.of(fit.axes.rows, scatter.to_rows(means.T).T, np.einsum("kj,kj->k", means, means))
    states = problem.states_of(fit, "posteriors", "log_prior")
    moments = problem.rows.fold(project, states, projection)
    floor = settings.variance_floor * problem.floor_unit
    weights = fit.parameters.proportions * problem.weight
    parameters = m_step(weights, projection.latent_means, moments, settings.model, problem.p, floor)
    sums = problem.rows.fold(expect, states, parameters, read=False)
    return sums.log_likelihood, sums.entropy

"""The roles of variables in the SRUW model (Maugis, Celeux & Martin-Magniette 2009).

    crit(S, R, U, W) = BIC_clust(S) + BIC_reg(U | R) + BIC_ind(W)        to be maximised

S clusters; U is explained by linear regression on R, a subset of S; W is independent of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .regressions import REGRESSION_SHAPES, Regressions

__all__ = ["INDEPENDENT_SHAPES", "SelvarclustRoles", "assign_roles"]

# Independent variables are uncorrelated, so their covariance is spherical or diagonal.
INDEPENDENT_SHAPES = ("LI", "LB")


@dataclass(frozen=True)
class SelvarclustRoles:
    """The split of the variables (indices), the shapes of the two covariances, and their terms of the criterion."""

    S: tuple[int, ...]
    R: tuple[int, ...]
    U: tuple[int, ...]
    W: tuple[int, ...]
    regression_shape: str
    independent_shape: str
    bic_regression: float
    bic_independent: float

    def names(self, p: int) -> np.ndarray:
        """ "S", "U" or "W" for each of p variables; constant ones are in W."""
        out = np.full(p, "W", dtype="<U1")
        out[list(self.S)] = "S"
        out[list(self.U)] = "U"
        return out


def assign_roles(regressions: Regressions, S, others, shapes=tuple(REGRESSION_SHAPES)) -> SelvarclustRoles:
    """Split the variables outside S (`others`): W has those that no variable of S explains, U the rest.

    S explains a variable if BIC selects at least one regressor for it from S. R is then selected for
    all of U together, for every shape of the residual covariance, and BIC chooses the shape.
    """
    S = tuple(sorted(S))
    explained = {j: bool(regressions.select(j, S)[1]) for j in others}
    U = tuple(j for j in others if explained[j])
    W = tuple(j for j in others if not explained[j])
    regression: tuple[float, tuple[int, ...], str] = (0.0, (), "")
    if U:
        regression = max((*regressions.common_regressors(U, S, shape), shape) for shape in shapes)
    independent = max((regressions.multivariate_bic(W, (), shape), shape) for shape in INDEPENDENT_SHAPES)
    return SelvarclustRoles(
        S, regression[1], U, W, regression[2], independent[1] if W else "", regression[0], independent[0]
    )

"""The total covariance S of the data and its factor, computed once for all starts, models, K and sparsities.

Every F-step uses S with the same small ridge on its diagonal (relative to the mean variance). `DenseScatter` holds S
and its Cholesky factor (p x p). `RowSpaceScatter` is for n <= p: the data are rotated once into their row space (thin
SVD) and no p x p matrix is formed.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from ...solvers.l1_budget import DenseGram, LowRankGram

if TYPE_CHECKING:
    from .noise_metric import NoiseMetric

__all__ = ["CorrelationScatter", "CovarianceOfSome", "DenseScatter", "RowSpaceScatter", "Scatter", "WhitenedScatter"]


class CovarianceOfSome:
    """The entries of a covariance (m x m)."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = matrix

    def block(self, variables: np.ndarray) -> np.ndarray:
        """out[a, b] = S[variables[a], variables[b]]"""
        return self.matrix[np.ix_(variables, variables)]

    def column(self, j: int) -> np.ndarray:
        """S[:, j]"""
        return self.matrix[:, j].copy()

    def variances(self) -> np.ndarray:
        """The diagonal."""
        return np.diagonal(self.matrix)


class DenseScatter:
    """S + ridge I as a p x p matrix; the rows' coordinates are the variables themselves."""

    def __init__(self, covariance: np.ndarray, ridge: float):
        self.p = len(covariance)
        self.mean_variance = float(np.trace(covariance)) / self.p
        self.ridge = ridge * self.mean_variance
        self._variances = np.diagonal(covariance).copy()  # subtracting the ridge would lose small variances
        self.matrix = covariance.copy()
        self.matrix[np.diag_indices(self.p)] += self.ridge
        # LAPACK directly: SciPy's wrappers cost more than a solve with a few right-hand sides
        self._factor, info = dpotrf(self.matrix, lower=1)
        pivots = np.diagonal(self._factor) ** 2  # conditional variances given the variables before
        if info or (pivots <= 1e-10 * np.diagonal(self.matrix)).any():
            raise ValueError(
                "the covariance matrix of the data is singular (columns that are combinations of others): "
                f"raise ridge (now {ridge:g})"
            )

    @cached_property
    def gram(self) -> DenseGram:
        """S + ridge I for the l1 problems."""
        return DenseGram(self.matrix)

    def gram_within(self, H: np.ndarray, rho: float) -> DenseGram:
        """S_B + rho S_W = rho (S + ridge I) + (1 - rho) H H' for the l1 problems, with S_B = H H'."""
        return DenseGram(rho * self.matrix + (1 - rho) * (H @ H.T))

    def covariance(self) -> np.ndarray:
        """S in the rows' coordinates (p x p), without the ridge."""
        covariance = self.matrix.copy()
        covariance[np.diag_indices(len(covariance))] = self._variances
        return covariance

    def with_ridge(self, ridge: float) -> DenseScatter:
        """The same covariance with another ridge, as a share of the mean variance."""
        return DenseScatter(self.covariance(), ridge)

    def block(self, variables: np.ndarray) -> np.ndarray:
        """out[a, b] = S[variables[a], variables[b]], without the ridge."""
        block = self.matrix[np.ix_(variables, variables)]
        block[np.diag_indices(len(variables))] = self._variances[variables]
        return block

    def column(self, j: int) -> np.ndarray:
        """S[:, j] (p), without the ridge."""
        column = self.matrix[:, j].copy()
        column[j] = self._variances[j]
        return column

    def variances(self) -> np.ndarray:
        """The diagonal of S (p), without the ridge."""
        return self._variances

    def squared_norm(self) -> float:
        """|S|_F^2, without the ridge."""
        off = float((self.matrix**2).sum() - (np.diagonal(self.matrix) ** 2).sum())
        return off + float((self.variances() ** 2).sum())

    def inverse_trace(self) -> float:
        """trace (S + ridge I)^-1."""
        half = dtrtri(self._factor, lower=1)[0]
        return float((np.tril(half) ** 2).sum())

    @property
    def rank(self) -> int:
        """The rank of the rows."""
        return self.p

    def solve(self, right):
        """(S + ridge I)^-1 right, in the rows' coordinates."""
        return dpotrs(self._factor, right, lower=1)[0]

    def times(self, axes):
        """(S + ridge I) axes, in the rows' coordinates."""
        return self.matrix @ axes

    def to_variables(self, array, variables: np.ndarray | None = None):
        """From the rows' coordinates to the p variables, or to some of them (indices)."""
        return array if variables is None else array[variables]

    def to_rows(self, array):
        """From the p variables to the rows' coordinates."""
        return array

    def only(self, variables: np.ndarray) -> CovarianceOfSome:
        """S of some variables (indices), without the ridge."""
        return CovarianceOfSome(self.block(variables))

    def variable_scales(self):
        """Standard deviations of the p variables, ridge included."""
        return np.sqrt(self.gram.diagonal())


class RowSpaceScatter:
    """S = V diag(e) V' + ridge I; the rows' coordinates are those in the basis V (p x r) of the row space.

    `hidden` (p) are the conditional variances of completed cells, per variable. They are added to the variances of
    single variables, and their mean to the variances in the row space.
    """

    def __init__(self, basis: np.ndarray, eigenvalues: np.ndarray, ridge: float, hidden: np.ndarray | None = None):
        self.p = len(basis)
        self._hidden = hidden
        self._level = 0.0 if hidden is None else float(hidden.sum()) / self.p
        self.mean_variance = float(eigenvalues.sum()) / self.p + self._level
        self.ridge = ridge * self.mean_variance
        if self.ridge == 0:
            raise ValueError("with as many variables as rows the covariance matrix is singular: ridge must be above 0")
        self.basis = basis
        self._spectrum = eigenvalues
        self._diagonal = eigenvalues + self._level + self.ridge
        self.gram = LowRankGram(basis, eigenvalues, self._level + self.ridge)

    @property
    def _eigenvalues(self) -> np.ndarray:
        return self._diagonal - self.ridge

    def gram_within(self, H: np.ndarray, rho: float) -> LowRankGram:
        """S_B + rho S_W = rho (S + ridge I) + (1 - rho) H H' for the l1 problems, with S_B = H H' (H r x K)."""
        values, vectors = np.linalg.eigh(rho * np.diag(self._spectrum) + (1 - rho) * (H @ H.T))
        return LowRankGram(self.basis @ vectors, np.maximum(values, 0.0), rho * (self._level + self.ridge))

    def covariance(self) -> np.ndarray:
        """S in the rows' coordinates (r x r), without the ridge."""
        return np.diag(self._eigenvalues)

    def with_ridge(self, ridge: float) -> RowSpaceScatter:
        """The same covariance with another ridge, as a share of the mean variance."""
        return RowSpaceScatter(self.basis, self._spectrum, ridge, self._hidden)

    def block(self, variables: np.ndarray) -> np.ndarray:
        """out[a, b] = S[variables[a], variables[b]], without the ridge."""
        rows = self.basis[variables]
        block = (rows * self._spectrum) @ rows.T
        if self._hidden is not None:
            block[np.diag_indices(len(variables))] += self._hidden[variables]
        return block

    def column(self, j: int) -> np.ndarray:
        """S[:, j] (p), without the ridge."""
        column = self.basis @ (self._spectrum * self.basis[j])
        if self._hidden is not None:
            column[j] += self._hidden[j]
        return column

    def variances(self) -> np.ndarray:
        """The diagonal of S (p), without the ridge."""
        return self._variances

    @cached_property
    def _variances(self) -> np.ndarray:
        variances = np.einsum("pr,r,pr->p", self.basis, self._spectrum, self.basis)
        return variances if self._hidden is None else variances + self._hidden

    def squared_norm(self) -> float:
        """|S|_F^2, without the ridge."""
        own = float((self._spectrum**2).sum())
        if self._hidden is None:
            return own
        return own + 2 * self._level * float(self._spectrum.sum()) + float((self._hidden**2).sum())

    def inverse_trace(self) -> float:
        """trace of (S + ridge I)^-1 inside the row space; outside it S is 0."""
        return float((1 / self._diagonal).sum())

    @property
    def rank(self) -> int:
        """The rank of the rows."""
        return len(self._diagonal)

    def solve(self, right):
        """(S + ridge I)^-1 right, in the rows' coordinates."""
        return (right.T / self._diagonal).T

    def times(self, axes):
        """(S + ridge I) axes, in the rows' coordinates."""
        return (axes.T * self._diagonal).T

    def to_variables(self, array, variables: np.ndarray | None = None):
        """From the rows' coordinates to the p variables, or to some of them (indices)."""
        return (self.basis if variables is None else self.basis[variables]) @ array

    def only(self, variables: np.ndarray) -> RowSpaceScatter:
        """S of some variables (indices), by their part of the basis; for its entries."""
        hidden = None if self._hidden is None else self._hidden[variables]
        return RowSpaceScatter(self.basis[variables], self._spectrum, 1.0, hidden)

    def to_rows(self, array):
        """From the p variables to the rows' coordinates."""
        support = np.flatnonzero(array.any(axis=1))  # only the variables of sparse loadings
        return self.basis[support].T @ array[support]

    def variable_scales(self):
        """Standard deviations of the p variables, ridge included."""
        return np.sqrt(self.gram.diagonal())


class CorrelationScatter(DenseScatter):
    """A covariance (m x m) with the ridge on the correlations, so that `solve` does not depend on the units."""

    def __init__(self, covariance: np.ndarray, ridge: float):
        self._scale = 1 / np.sqrt(np.maximum(np.diagonal(covariance), np.finfo(float).tiny))
        super().__init__(covariance * self._scale[:, None] * self._scale, ridge)

    def solve(self, right):
        """(S + ridge diag S)^-1 right."""
        return (super().solve((right.T * self._scale).T).T * self._scale).T


class WhitenedScatter(DenseScatter):
    """S in the metric of a noise with factors, in the rows' coordinates (r x r), of p variables."""

    def __init__(self, metric: NoiseMetric, covariance: np.ndarray, ridge: float, p: int):
        self.metric = metric
        super().__init__(covariance, ridge * len(covariance) / p)  # a share of the mean variance of the p variables
        self.mean_variance *= len(covariance) / p
        self.p = p

    def with_ridge(self, ridge: float) -> WhitenedScatter:
        """The same covariance with another ridge, as a share of the mean variance."""
        return WhitenedScatter(self.metric, self.covariance(), ridge, self.p)

    @property
    def rank(self) -> int:
        """The rank of the rows."""
        return len(self.matrix)


Scatter = DenseScatter | RowSpaceScatter

"""A second family, for the tests of the seam: a Gaussian mixture with diagonal covariances.

Nothing of a row is kept between the passes: moments and densities look at the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fisherem.core.data.kernels import Mergeable, measure_rows
from fisherem.core.engine.family import Density, Family, Placing, Solution, Step


@dataclass
class Spreads(Mergeable):
    squares: np.ndarray  # out[k, j] = sum_i w[i] t[i, k] (y[i, j] - m[k, j])^2


@dataclass(frozen=True)
class AroundMeans(Placing):
    kernel = measure_rows

    means: np.ndarray  # K x p

    def place(self, block, state):
        state.placed = None

    def moments(self, block, state):
        weighted = state.posteriors if state.weights is None else state.posteriors * state.weights
        squares = np.zeros_like(self.means)
        for position, tile in block.tiles():
            for k, mean in enumerate(self.means):
                squares[k] += weighted[k, position] @ (tile - mean) ** 2
        return Spreads(squares)


@dataclass(frozen=True)
class Diagonal(Density):
    needs_rows = True

    proportions: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    def log_joint(self, block, state):
        out = np.empty((len(self.means), len(block)))
        for position, tile in block.tiles():
            for k in range(len(self.means)):
                out[k, position] = -0.5 * ((tile - self.means[k]) ** 2 / self.variances[k]).sum(axis=1)
        log_det = np.log(2 * np.pi * self.variances).sum(axis=1)
        return out + (np.log(self.proportions) - 0.5 * log_det)[:, None]


@dataclass(frozen=True)
class DiagonalSolution(Solution):
    density: Diagonal

    @property
    def placing(self):
        return AroundMeans(self.density.means)

    def halves(self, group):
        longest = np.zeros(self.density.means.shape[1])
        longest[np.argmax(self.density.variances[group])] = 1.0
        return longest, float(longest @ self.density.means[group])

    def moved(self, by):
        return DiagonalSolution(replace(self.density, means=self.density.means + by))

    def pack(self):
        d = self.density
        return {"proportions": d.proportions, "means": d.means, "variances": d.variances}, {}


class DiagonalStep(Step):
    def __init__(self, floor):
        self.floor = floor

    def place(self, sums):
        return AroundMeans(sums.sums / sums.weights[:, None])

    def update(self, sums, placing, moments):
        variances = np.maximum(moments.squares / sums.weights[:, None], self.floor)
        return DiagonalSolution(Diagonal(sums.weights / sums.weights.sum(), placing.means, variances))


@dataclass(frozen=True)
class DiagonalFamily(Family):
    n_clusters: int
    floor: float = 1e-6

    def begin(self, problem):
        return DiagonalStep(self.floor * problem.floor_unit)

    def n_parameters(self, solution, p):
        return self.n_clusters - 1 + 2 * self.n_clusters * p

    def unpack(self, arrays, values):
        return DiagonalSolution(Diagonal(arrays["proportions"], arrays["means"], arrays["variances"]))

"""The methods of a fitted mixture that take rows: posteriors, coordinates, densities, criteria; and samples."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import entr
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..core.data.e_step import evaluate
from ..core.data.kernels import project
from ..core.data.noise_metric import NoiseMetric
from ..core.data.problem import Problem, prepare
from ..core.dlm.f_step.step import Axes
from ..core.dlm.family import DLMSolution, Means
from ..core.dlm.m_step import LatentParameters, Parameters
from ..core.dlm.projection import Outside
from ..model.criteria import CRITERIA
from ..policy.criterion import Partition
from ..policy.powers import Powers, log_slope
from ..rows.base import ArrayRows, Rows
from ..tables.anndata_object import of_cells
from ..tables.checking import check_flag, check_number, check_table, check_weights
from ..tables.dask_table import DaskTable
from ..tables.frames import as_frame
from ..tables.kinds import in_precision_of, is_anndata, precision_of
from ..tables.scaling import bent, in_unit, rescaled
from ..tables.sparse_table import SparseTable
from .adjusting import TakesCovariates
from .contributing import ExplainsRows
from .describing import Described
from .marking import Marks
from .mixed import in_numbers, is_in_numbers
from .naming import Named
from .outlying import TellsOutliers
from .pipelines import needed_names, on_selected

__all__ = ["FittedDLM", "FittedMixture"]

# Methods whose result depends only on the selected variables.
_FROM_SELECTED = ("_posteriors", "_labels", "_coordinates")
# The largest number of rows of one call of `sample`.
MOST_DRAWS = 10**8
# Rows whose squared distances overflow are moved to a distance of 2^300: their squares are then finite, and they are
# still far from everything in the model.
_NEAR_EXPONENT = 300
# Halving before the subtraction keeps the difference of two values near the largest double finite.
_FAR = 2.0


class FittedMixture(
    TakesCovariates, TellsOutliers, ExplainsRows, Marks, Named, ClassNamePrefixFeaturesOutMixin, TransformerMixin,
    ClusterMixin, ABC,
):  # fmt: skip
    """Prediction for an estimator with a fitted mixture of any family.

    It derives from TransformerMixin itself because `set_output` wraps only methods of classes that do.
    """

    weights_: np.ndarray
    means_: np.ndarray
    support_: np.ndarray
    centre_: np.ndarray
    bending_: np.ndarray
    n_parameters_: int
    n_jobs: int | None
    random_state: object
    _takes_gaps = False  # whether rows in memory may have missing cells: see `ToleratesGaps`

    @abstractmethod
    def _solution(self) -> Any:
        """The fitted parameters as a `Solution` of the family, relative to the centre."""

    @abstractmethod
    def _coordinates(self, table):
        """The coordinates of the rows of a checked table in the latent space (n x d)."""

    @abstractmethod
    def _draw_rows(self, labels: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Draw a row from each of these groups (n x p)."""

    def _for_columns(self, X):
        """(model, table), both restricted to the columns that the model needs where the table has others."""
        return self, X

    def __sklearn_tags__(self):
        """Sparse rows are supported and stay sparse, and float32 rows have float32 coordinates."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.allow_nan = True, self._takes_gaps
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _pass(self, table, keep, sample_weight=None):
        """One pass over the rows of a checked table: (rows, states with the attributes `keep`, sums)."""
        rows = self._rows_of(table, sample_weight)
        states = rows.states()
        with rows.closed_on_error():
            return rows, states, evaluate(rows, states, self._solution(), keep)

    def _scales(self) -> np.ndarray:
        """What the columns are divided by (p)."""
        return getattr(self, "scales_", np.ones(self.means_.shape[1]))  # missing in files of earlier versions

    def _powers(self) -> Powers | None:
        """The power transformation of the columns before they are divided; None if there is none."""
        exponents = getattr(self, "exponents_", None)  # missing in files of earlier versions
        return None if exponents is None or (exponents == 1).all() else Powers(exponents, *self.bending_)

    def _row_centre(self) -> np.ndarray:
        """The centre of the divided columns (p)."""
        known = getattr(self, "row_centre_", None)  # missing in files of earlier versions
        return self.centre_ / self._scales() if known is None else known

    def _row_means(self) -> np.ndarray:
        """The means of the divided columns, relative to their centre (K x p)."""
        known = getattr(self, "row_means_", None)  # missing in files of earlier versions
        return (self.means_ - self.centre_) / self._scales() if known is None else known

    def _rows_of(self, table, sample_weight=None) -> Rows:
        self._need(None)
        weights, scales, powers = check_weights(sample_weight, table), self._scales(), self._powers()
        table = table if powers is None else bent(table, powers)
        table = rescaled(table, None if (scales == 1).all() else scales)
        if isinstance(table, SparseTable):
            table = table.precise(float(np.min(getattr(self, "noise_variances_", np.inf))))
        make = getattr(table, "rows", None)
        rows = ArrayRows(table, weights, n_jobs=self.n_jobs) if make is None else make(weights, self.n_jobs)
        rows.recentre(self._row_centre())
        return rows

    def _told(self, X, tell: str, width: int | None, dtype=None, covariates=None):
        """The result of the method `tell` for each row of X: an array, or a lazy dask array for dask rows.

        Without a dtype the result has the precision of the rows.
        """
        check_is_fitted(self)
        self._need(covariates)
        covariates = of_cells(X, covariates)
        if not is_in_numbers(self):
            inner, X = in_numbers(self, X)
            return inner._told(X, tell, width, dtype, covariates)
        X = as_frame(X)
        model, rows = self._for_columns(X) if tell in _FROM_SELECTED else (self, X)
        model, table = model._beside(check_table(model, rows, reset=False, elsewhere=True), covariates)
        if isinstance(table, DaskTable):
            return table.map(getattr(model._light(), tell), width, precision_of(table) if dtype is None else dtype)
        found = getattr(model, tell)(table)
        return in_precision_of(table, found) if dtype is None else found

    def _light(self):
        """A copy without the attributes that have an entry per row of the fit, to be sent to other processes."""
        light = copy.copy(self)
        for name in ("labels_", "history_", "starts_"):
            light.__dict__.pop(name, None)
        light.n_jobs = 1
        return light

    def _posteriors(self, table):
        rows, states, sums = self._pass(table, ("posteriors",))
        posteriors = rows.gather(states, "posteriors").T
        far, found = self._far_away(rows, states, sums)
        posteriors[far] = found
        return posteriors

    def _far_away(self, rows: Rows, states, sums) -> tuple[np.ndarray, np.ndarray]:
        """Rows (m) that are so far away that their squared distances overflow, and their posteriors (m x K).

        At such a distance the posteriors depend only on the direction, so the rows are moved towards the centre until
        their squares are finite.
        """
        far = np.zeros(0, int)
        if not np.isfinite(sums.log_likelihood):
            far = np.flatnonzero(np.isnan(rows.gather(states, "posteriors")).any(axis=0))
        if not len(far):
            return far, np.zeros((0, len(self.weights_)))
        largest = np.finfo(float).max  # dividing by the scales may have overflowed
        offsets = np.clip(rows.take(far).astype(float), -largest, largest) / _FAR - rows.centre / _FAR
        exponents = np.frexp(np.abs(offsets).max(axis=1))[1]
        near = ArrayRows(np.ldexp(offsets, (_NEAR_EXPONENT - exponents)[:, None]), n_jobs=1)
        there = near.states()
        evaluate(near, there, self._solution(), ("posteriors",))
        return far, near.gather(there, "posteriors").T

    def _labels(self, table):
        rows, states, sums = self._pass(table, ("posteriors",))
        labels = rows.gather(states, "labels").astype(np.intp, copy=False)
        far, found = self._far_away(rows, states, sums)
        labels[far] = found.argmax(axis=1)
        return labels

    def _log_densities(self, table):
        rows, states, _ = self._pass(table, ("log_density",))
        densities = rows.gather(states, "log_density")
        densities[np.isnan(densities)] = -np.inf  # the squared distance overflows
        self._log_slope(rows, states)
        slopes = 0.0 if self._powers() is None else rows.gather(states, "log_density")
        return densities + slopes - np.log(self._scales()).sum()

    def _log_slope(self, rows: Rows, states) -> float:
        """The log-Jacobian of the power transformation; each row's term overwrites its log-density in the states."""
        powers = self._powers()
        if powers is None:
            return 0.0
        return float(rows.fold(log_slope, states, powers, rows.centre, self._scales()).total)

    def predict_proba(self, X, covariates=None):
        """Posterior probabilities of the groups (n x K). For dask rows a lazy dask array, as with the next three.

        A model that was fitted with covariates needs those of the rows, here and wherever it takes rows.
        """
        return self._told(X, "_posteriors", len(self.weights_) if hasattr(self, "weights_") else 0, None, covariates)

    def predict(self, X, noise_label=False, covariates=None):
        """The most probable group of each row; with `noise_label`, -1 for rows outside all groups (`outlyingness`)."""
        check_flag("noise_label", noise_label)
        return self._told(X, "_labels_or_noise" if noise_label else "_labels", None, np.intp, covariates)

    def score_samples(self, X, covariates=None):
        """log f(y) of each row, given its covariates where the model has any."""
        return self._told(X, "_log_densities", None, float, covariates)

    def _sums(self, X, sample_weight, covariates=None):
        check_is_fitted(self)
        model, table = self._checked(X, covariates)
        return model._sums_of(table, sample_weight)

    def _checked(self, X, covariates):
        """(the model of numbers without covariates, the rows X as it takes them)."""
        self._need(covariates)
        covariates = of_cells(X, covariates)
        inner, X = in_numbers(self, X)
        return inner._beside(check_table(inner, X, reset=False, elsewhere=True), covariates)

    def _sums_of(self, table, sample_weight):
        """(weight of the rows, sums over a checked table)."""
        rows, states, sums = self._pass(table, (), sample_weight)
        n = rows.n if rows.weights is None else rows.weights.sum()
        if not np.isfinite(sums.log_likelihood):  # the squared distance of a row overflows
            sums = replace(sums, log_likelihood=-np.inf, entropy=0.0)
        jacobian = self._log_slope(rows, states) - n * float(np.log(self._scales()).sum())
        return n, replace(sums, log_likelihood=sums.log_likelihood + jacobian)

    def score(self, X, y=None, sample_weight=None, covariates=None):
        """The mean log-likelihood per row."""
        n, sums = self._sums(X, sample_weight, covariates)
        return sums.log_likelihood / n

    def criterion(self, name, X, sample_weight=None, covariates=None):
        """The criterion of that name (an entry of `CRITERIA`) on X; larger is better."""
        entry = CRITERIA.find(name)
        if entry.of_partition is not None:
            return self._of_partition(entry.of_partition, X, sample_weight, covariates)
        n, sums = self._sums(X, sample_weight, covariates)
        return entry(sums.log_likelihood, self.n_parameters_, n, sums.entropy)

    def _of_partition(self, value, X, sample_weight, covariates=None) -> float:
        """A criterion of the predicted partition of X and of the selected variables."""
        check_is_fitted(self)
        blocks = None if (encoding := getattr(self, "encoding_", None)) is None else encoding.blocks
        model, table = self._checked(X, covariates)
        return model._value_of(value, table, sample_weight, blocks)

    def _value_of(self, value, table, sample_weight, blocks=None) -> float:
        """The same for a checked table."""
        weights = check_weights(sample_weight, table)
        posteriors, powers = np.asarray(self._posteriors(table)), self._powers()
        table = table if powers is None else bent(table, powers)
        problem = prepare(table, weights, ridge="auto", n_jobs=self.n_jobs, rescale=in_unit)
        return self._of_posteriors(value, replace(problem, blocks=blocks), posteriors, weights)

    def _of_posteriors(self, value, problem: Problem, posteriors: np.ndarray, weights) -> float:
        """A criterion of the groups of posteriors (n x K) and of the selected variables."""
        w = np.ones(len(posteriors)) if weights is None else weights
        entropy = float(w @ entr(posteriors).sum(axis=1))
        groups = Partition.of(problem, problem.start_states(posteriors, len(self.weights_)))
        return value(groups, np.flatnonzero(self.support_), entropy)

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the fitted mixture: (X, labels).

        Of a table with categories, X is a frame with the most probable category of each row.
        """
        check_is_fitted(self)
        check_number("n_samples", n_samples, integer=True, least=1, most=MOST_DRAWS)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        labels = rng.choice(len(self.means_), size=n_samples, p=self.weights_)
        drawn, encoding = self._draw_rows(labels, rng), getattr(self, "encoding_", None)
        return drawn if encoding is None else encoding.decode(drawn), labels

    def bic(self, X, sample_weight=None, covariates=None):
        """BIC on X, larger is better (unlike GaussianMixture's): log-likelihood - parameters/2 log n."""
        return self.criterion("bic", X, sample_weight, covariates)

    def icl(self, X, sample_weight=None, covariates=None):
        """ICL on X, larger is better: BIC less the entropy of the posteriors."""
        return self.criterion("icl", X, sample_weight, covariates)

    def aic(self, X, sample_weight=None, covariates=None):
        """AIC on X, larger is better (unlike GaussianMixture's): log-likelihood - parameters."""
        return self.criterion("aic", X, sample_weight, covariates)


class FittedDLM(Described, FittedMixture):
    """Prediction for an estimator with the fitted attributes of a DLM."""

    loadings_: np.ndarray
    covariances_: np.ndarray
    noise_variances_: np.ndarray
    means: str

    def _solution(self) -> DLMSolution:
        """The fitted parameters as a `Solution` of the family, relative to the centre."""
        means = self._row_means()
        latent = self.means == Means.LATENT.value
        kind = LatentParameters if latent else Parameters
        parts = (self.weights_, means @ self.loadings_, self.covariances_, self.noise_variances_)
        # proportions and means come from the same posteriors, so the weighted mean is the overall mean
        overall = self.weights_ @ means if latent else None
        metric = self._metric()
        log_det = Outside.of(metric, self.loadings_).log_det
        density = kind.of(*parts, len(self.loadings_), noise_log_det=log_det)
        return DLMSolution(Axes(self.loadings_), means, density, overall=overall, metric=metric)

    def _metric(self) -> NoiseMetric | None:
        """The metric of the noise; None if it has no factors."""
        factors = getattr(self, "noise_loadings_", None)  # missing in files of earlier versions
        if factors is None or not factors.shape[1]:
            return None
        gains = np.einsum("pm,pm->m", factors, factors)
        return NoiseMetric(factors / np.sqrt(np.maximum(gains, np.finfo(float).tiny)), gains)

    def _for_columns(self, X):
        """(model, table), both restricted to the selected columns if the frame has other columns than the fit."""
        if is_anndata(X):  # the genes are taken by their names
            return (self if needed_names(self, X.var_names) is None else on_selected(self)), X
        needed = needed_names(self, getattr(X, "columns", None))
        return (self, X) if needed is None else (on_selected(self), X[needed])

    def _coordinates(self, table):
        rows = self._rows_of(table)
        states = rows.states()
        with rows.closed_on_error():
            rows.fold(project, states, self.loadings_)
            return rows.gather(states, "placed").T + self._row_centre() @ self.loadings_

    def transform(self, X, covariates=None):
        """Coordinates of the rows in the discriminative subspace, ``(X / scales_) @ loadings_`` (n x d).

        With transformation="power" they are those of the transformed columns, with covariates those of the rows less
        what the covariates explain.
        """
        width = self.loadings_.shape[1] if hasattr(self, "loadings_") else 0
        return self._told(X, "_coordinates", width, None, covariates)

    @property
    def _n_features_out(self) -> int:
        return self.loadings_.shape[1]

    def _draw_rows(self, labels: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        n, p = len(labels), self.means_.shape[1]
        metric, axes = self._metric(), self.loadings_
        factors = np.linalg.cholesky(self.covariances_)
        inside = np.einsum("nij,nj->ni", factors[labels], rng.normal(size=(n, factors.shape[1])))
        noise = rng.normal(size=(n, p)) * np.sqrt(self.noise_variances_[labels])[:, None]
        along = axes
        if metric is not None:
            noise, along = metric.half_times(noise.T).T, metric.spread_along(axes)
        noise -= (noise @ axes) @ along.T
        drawn, powers = inside @ along.T + noise, self._powers()
        if powers is None:
            return self.means_[labels] + drawn * self._scales()
        means = self._row_means() + self._row_centre()
        return powers.inverse((means[labels] + drawn) * self._scales())

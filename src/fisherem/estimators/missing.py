"""Prediction and imputation for tables with missing cells.

Rows without missing cells are handled as usual, so a missing cell in one row does not affect the results of another.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import entr
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..core.data.e_step import tails
from ..core.data.kernels import Expectation
from ..core.missing.completion import filled
from ..core.missing.expectation import Conditional, GapRows
from ..core.missing.patterns import GapMixture, Patterns, by_rows
from ..policy.missing import NO_POWERS, completed, warn_of_empty_rows
from ..tables.checking import check_number, check_table, check_weights
from ..tables.encoding import level_of
from ..tables.frames import as_frame
from ..tables.kinds import has_gaps
from ..tables.scaling import rescaled
from .mixed import in_numbers

__all__ = ["ToleratesGaps"]

# The largest number of draws of one call of `impute`.
_MOST_DRAWS = 1000


class ToleratesGaps:
    """Mixin, to be listed before `FittedDLM`, that extends its methods to tables with missing cells."""

    _takes_gaps = True

    def _conditional(self, table: np.ndarray, sample_weight=None) -> Conditional:
        """The conditional distribution of the rows of a checked table (n x p) given their observed cells."""
        self._need(None)  # type: ignore[attr-defined]
        if self._powers() is not None:  # type: ignore[attr-defined]
            raise ValueError(NO_POWERS)
        missing = np.isnan(table)
        warn_of_empty_rows(missing)
        mixture = GapMixture.of(
            self.weights_, self._row_means(), self.loadings_, self.covariances_, self.noise_variances_, self._metric()  # type: ignore[attr-defined]
        )  # fmt: skip
        divided = rescaled(np.asarray(table, float), self._scales())  # type: ignore[attr-defined]
        rows = GapRows.of(Patterns.of(~missing), divided, self._row_centre(), sample_weight)  # type: ignore[attr-defined]
        return Conditional(rows, mixture)

    def _with_gaps(self, tell: str, table, width: int | None, of_rows):
        """The method `tell` for complete rows and `of_rows(conditional)` for the others (n or n x width)."""
        usual = getattr(super(), tell)
        if not has_gaps(table):
            return usual(table)
        gappy = np.isnan(table).any(axis=1)
        found = of_rows(self._conditional(table[gappy]))
        out = np.empty(len(table) if width is None else (len(table), width), found.dtype)
        out[gappy] = found
        if not gappy.all():
            out[~gappy] = usual(table[~gappy])
        return out

    def _posteriors(self, table):
        return self._with_gaps("_posteriors", table, len(self.weights_), _posteriors)  # type: ignore[attr-defined]

    def _labels(self, table):
        return self._with_gaps("_labels", table, None, lambda found: _posteriors(found).argmax(axis=1).astype(np.intp))

    def _tails(self, table):
        def judged(found: Conditional) -> np.ndarray:
            patterns = found.rows.patterns
            observed = by_rows(patterns.observed.mean(axis=1), patterns.counts)
            return patterns.unsorted(tails(found.distances, self._distance_moments(), observed))  # type: ignore[attr-defined]

        return self._with_gaps("_tails", table, None, judged)

    def _coordinates(self, table):
        def projected(found: Conditional) -> np.ndarray:
            rows, mixture = found.rows, found.mixture
            axes = self.loadings_  # type: ignore[attr-defined]
            patterns = rows.patterns
            missing = 1 - patterns.observed
            x = rows.values @ axes + by_rows(missing @ (mixture.overall[:, None] * axes), patterns.counts)
            cross = (missing @ (axes[:, :, None] * mixture.basis[:, None, :]).reshape(len(axes), -1)).reshape(
                len(missing), axes.shape[1], mixture.q
            )
            x += np.einsum("ndq,nq->nd", by_rows(cross, patterns.counts), found.mean_scores())
            return patterns.unsorted(x.T).T + self._row_centre() @ axes  # type: ignore[attr-defined]

        return self._with_gaps("_coordinates", table, self.loadings_.shape[1], projected)  # type: ignore[attr-defined]

    def _log_densities(self, table):
        def densities(found: Conditional) -> np.ndarray:
            observed = found.rows.patterns.observed @ np.log(self._scales())  # type: ignore[attr-defined]
            values = found.log_density - by_rows(observed, found.rows.patterns.counts)
            return found.rows.patterns.unsorted(values)

        return self._with_gaps("_log_densities", table, None, densities)

    def _sums_of(self, table, sample_weight):
        if not has_gaps(table):
            return super()._sums_of(table, sample_weight)  # type: ignore[misc]
        weights = check_weights(sample_weight, table)
        w = np.ones(len(table)) if weights is None else weights
        posteriors = self._posteriors(table)
        likelihood = float(w @ self._log_densities(table))
        return w.sum(), Expectation(likelihood, float(w @ entr(posteriors).sum(axis=1)), np.zeros(1), np.zeros(1))

    def _value_of(self, value, table, sample_weight, blocks=None) -> float:
        if not has_gaps(table):
            return super()._value_of(value, table, sample_weight, blocks)  # type: ignore[misc]
        weights = check_weights(sample_weight, table)
        problem = completed(table, weights, ridge="auto", n_jobs=self.n_jobs)  # type: ignore[attr-defined]
        problem = replace(problem, blocks=blocks)
        return self._of_posteriors(value, problem, self._posteriors(table), weights)  # type: ignore[attr-defined]

    def impute(self, X, draws=None, random_state=None):
        """X with its missing cells filled in by the fitted mixture.

        Parameters
        ----------
        X : array or frame of shape (n, p)
            Missing cells are NaN, pd.NA or masked.
        draws : int, optional
            By default every missing cell is filled with its conditional mean given the observed cells of its row. With
            a number, that many tables are drawn from the conditional distribution: groups first, then cells.
        random_state : int, RandomState or None
            The seed of the draws; by default that of the estimator.

        Returns
        -------
        ndarray or DataFrame of shape (n, p), or a list of `draws` of them
            A frame if X is one. Observed cells are unchanged. A missing category becomes the most probable one.
        """
        check_is_fitted(self)
        if hasattr(self, "count_total_"):
            raise ValueError("impute is not for counts: transformation='log-counts' takes no missing cells")
        if hasattr(self, "encoding_"):
            return self._imputed_categories(X, draws, random_state)
        if draws is not None:
            check_number("draws", draws, integer=True, least=1, most=_MOST_DRAWS)
        table = np.asarray(check_table(self, X, reset=False), float)
        found = self._conditional(table)
        centre, scales = self._row_centre(), self._scales()  # type: ignore[attr-defined]
        if draws is None:
            return _like(X, filled(table, found, centre * scales, scales))
        rng = check_random_state(self.random_state if random_state is None else random_state)  # type: ignore[attr-defined]
        return [_like(X, self._drawn(table, found, rng)) for _ in range(draws)]

    def _imputed_categories(self, X, draws, random_state):
        """`impute` for a table with categories: a frame whose missing cells are numbers and categories."""
        encoding = self.encoding_  # type: ignore[attr-defined]
        inner, numbers = in_numbers(self, X)
        if numbers.shape[1] < len(encoding.column_names):
            raise ValueError("impute needs all variables of the fit: some are missing from X")
        frame = as_frame(X) if encoding.named else pd.DataFrame(np.asarray(X))
        found = inner.impute(numbers, draws, random_state)

        def filled_in(values: pd.DataFrame) -> pd.DataFrame:
            decoded = encoding.decode(values.to_numpy(), frame.index)
            columns = [_filled(frame.iloc[:, v], decoded.iloc[:, v]) for v in range(frame.shape[1])]
            return pd.concat(columns, axis=1).set_axis(frame.columns, axis=1)

        return filled_in(found) if draws is None else [filled_in(one) for one in found]

    def _drawn(self, table: np.ndarray, found: Conditional, rng: np.random.RandomState) -> np.ndarray:
        """One draw of the missing cells: a row of the group, corrected for its difference in the observed cells.

        With y* a draw from the group, y*_m + E[y_m | y_o] - E[y_m | y*_o] has the conditional distribution of y_m.
        """
        rows, mixture, patterns = found.rows, found.mixture, found.rows.patterns
        cumulated = found.posteriors.cumsum(axis=0)
        labels = (rng.uniform(size=patterns.n) > cumulated[:-1]).sum(axis=0)
        scales, centre = self._scales(), self._row_centre()  # type: ignore[attr-defined]
        free = self._draw_rows(labels, rng) / scales - centre  # type: ignore[attr-defined]
        observed = np.repeat(patterns.observed, patterns.counts, axis=0)
        off = (rows.values - free * observed) @ mixture.basis
        moved = np.empty_like(off)
        for part in found.parts():
            inner = np.stack([by_rows(inner, part.counts) for inner in part.inner])
            chosen = np.take_along_axis(inner, labels[None, part.rows, None, None], axis=0)[0]
            moved[part.rows] = np.einsum("nab,nb->na", chosen, off[part.rows])
        drawn = np.empty_like(free)
        drawn[patterns.order] = (free + moved @ mixture.basis.T + centre) * scales
        return np.where(np.isnan(table), drawn, table)


def _posteriors(found: Conditional) -> np.ndarray:
    """Posteriors (n x K) in the order of the rows."""
    return found.rows.patterns.unsorted(found.posteriors).T


def _filled(column: pd.Series, values: pd.Series) -> pd.Series:
    """A column with its missing cells filled in; categories as they are written in the column, where they occur."""
    if not (gaps := column.isna()).any():
        return column
    if not isinstance(values.dtype, pd.CategoricalDtype):
        return column.where(~gaps, values)
    written = {level_of(cell): cell for cell in column[~gaps]}
    cells = [written.get(level, level) for level in values]
    filled = column.astype(object).where(~gaps, pd.Series(cells, column.index, dtype=object))
    return filled.astype(column.dtype) if isinstance(column.dtype, pd.CategoricalDtype) else filled.infer_objects()


def _like(X, values: np.ndarray):
    """Values as a frame with the columns and index of X if that is a frame."""
    return pd.DataFrame(values, columns=X.columns, index=X.index) if isinstance(X, pd.DataFrame) else values

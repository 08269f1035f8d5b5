"""Using a fitted DLM on rows, old or new: posteriors, coordinates, densities, criteria, draws."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from . import criteria
from .engine.blocks import ArrayRows, Rows
from .engine.statistics import Projection, describe, place
from .steps.m_step import Parameters
from .validation import check_number, check_table, check_weights

__all__ = ["FittedDLM"]


class FittedDLM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin):
    """What an estimator with the fitted attributes of a DLM can do with rows.

    It is a transformer itself: `set_output` wraps only methods of classes that are.
    """

    weights_: np.ndarray
    means_: np.ndarray
    loadings_: np.ndarray
    covariances_: np.ndarray
    noise_variances_: np.ndarray
    centre_: np.ndarray
    n_parameters_: int
    n_jobs: int | None
    random_state: object

    def _pass(self, X, keep, sample_weight=None):
        """One visit of every row: (rows, states with the attribute `keep`, sums)."""
        check_is_fitted(self)
        rows = self._rows_of(check_table(self, X, reset=False), sample_weight)
        means = self.means_ - self.centre_
        projection = Projection.of(self.loadings_, means)
        parameters = Parameters.of(
            self.weights_, projection.latent_means, self.covariances_, self.noise_variances_, rows.p
        )
        states = rows.states()
        return rows, states, rows.fold(describe, states, projection, parameters, keep)

    def _rows_of(self, table, sample_weight=None) -> Rows:
        weights = check_weights(sample_weight, table)
        make = getattr(table, "rows", None)
        rows = ArrayRows(table, weights, n_jobs=self.n_jobs) if make is None else make(weights, self.n_jobs)
        rows.recentre(self.centre_)
        return rows

    def predict_proba(self, X):
        """Posterior probabilities of the groups (n x K)."""
        rows, states, _ = self._pass(X, "posteriors")
        return rows.gather(states, "posteriors").T

    def predict(self, X):
        """The most probable group of each row."""
        rows, states, _ = self._pass(X, "posteriors")
        return rows.gather(states, "labels")

    def transform(self, X):
        """Coordinates of the rows in the discriminative subspace, ``X @ loadings_`` (n x d)."""
        check_is_fitted(self)
        rows = self._rows_of(check_table(self, X, reset=False))
        states = rows.states()
        rows.fold(place, states, self.loadings_)
        return rows.gather(states, "projected").T + self.centre_ @ self.loadings_

    def score_samples(self, X):
        """log f(y) of each row."""
        rows, states, _ = self._pass(X, "log_density")
        return rows.gather(states, "log_density")

    def score(self, X, y=None, sample_weight=None):
        """The mean log-likelihood per row."""
        rows, _, sums = self._pass(X, "", sample_weight)
        return sums.log_likelihood / (rows.n if rows.weights is None else rows.weights.sum())

    def _criterion(self, name, X, sample_weight):
        rows, _, sums = self._pass(X, "", sample_weight)
        n = rows.n if rows.weights is None else rows.weights.sum()
        return float(criteria.CRITERIA[name](sums.log_likelihood, self.n_parameters_, n, sums.entropy))

    def bic(self, X, sample_weight=None):
        """BIC on X: log-likelihood - parameters/2 log n; larger is better."""
        return self._criterion("bic", X, sample_weight)

    def icl(self, X, sample_weight=None):
        """ICL on X: BIC less the entropy of the posteriors; larger is better."""
        return self._criterion("icl", X, sample_weight)

    def aic(self, X, sample_weight=None):
        """AIC on X: log-likelihood - parameters; larger is better."""
        return self._criterion("aic", X, sample_weight)

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the fitted mixture: (X, labels)."""
        check_is_fitted(self)
        check_number("n_samples", n_samples, integer=True, least=1)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        K, p = self.means_.shape
        labels = rng.choice(K, size=n_samples, p=self.weights_)
        factors = np.linalg.cholesky(self.covariances_)
        inside = np.einsum("nij,nj->ni", factors[labels], rng.normal(size=(n_samples, factors.shape[1])))
        noise = rng.normal(size=(n_samples, p)) * np.sqrt(self.noise_variances_[labels])[:, None]
        noise -= (noise @ self.loadings_) @ self.loadings_.T
        return self.means_[labels] + inside @ self.loadings_.T + noise, labels

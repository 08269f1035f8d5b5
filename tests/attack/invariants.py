"""What must hold of every fit, whatever the data were."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

__all__ = ["check_fit", "check_order", "check_scores"]


def check_fit(model, X, weights=None) -> None:
    """Labels in range, probabilities, orthonormal loadings, and the same answers for the rows of the fit."""
    K = len(model.weights_)
    assert model.labels_.dtype == np.int64
    assert set(np.unique(model.labels_)) <= set(range(K))
    posteriors = np.asarray(model.predict_proba(X))
    assert posteriors.shape == (len(model.labels_), K)
    assert np.isfinite(posteriors).all()
    assert (posteriors >= 0).all()
    np.testing.assert_allclose(posteriors.sum(axis=1), 1, atol=1e-9)
    d = model.loadings_.shape[1]
    np.testing.assert_allclose(model.loadings_.T @ model.loadings_, np.eye(d), atol=1e-8)
    assert np.isfinite([model.bic_, model.log_likelihood_]).all()
    assert np.isfinite(model.means_).all()
    # a row on the border between two groups may fall to either side by rounding
    border = np.sort(posteriors, axis=1)[:, -2] > 0.5 - 1e-6 if K > 1 else np.zeros(len(posteriors), bool)
    np.testing.assert_array_equal(np.asarray(model.predict(X))[~border], model.labels_[~border])
    np.testing.assert_allclose(model.bic(X, weights), model.bic_, rtol=1e-6, atol=1e-6)
    check_scores(model, X, weights)


def check_scores(model, X, weights=None) -> None:
    """The log densities of the rows sum to the log-likelihood."""
    scores = np.asarray(model.score_samples(X))
    total = scores.sum() if weights is None else scores[weights > 0] @ weights[weights > 0]
    # the sum of terms of both signs may be small: rounding is relative to their sizes
    size = np.abs(scores).sum() if weights is None else np.abs(scores[weights > 0]) @ weights[weights > 0]
    np.testing.assert_allclose(total, model.log_likelihood_, rtol=1e-6, atol=1e-6 + 1e-7 * size)


def check_order(fit, X, rng) -> None:
    """fit(rows) gives the same groups and likelihood for the rows in another order, where groups are clear."""
    model = fit(X)
    order = rng.permutation(len(X))
    other = fit(X[order])
    np.testing.assert_allclose(other.log_likelihood_, model.log_likelihood_, rtol=1e-6, atol=1e-6)
    assert adjusted_rand_score(other.labels_, model.labels_[order]) > 1 - 1e-9

"""What must hold of every fit, whatever the data were."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

__all__ = ["check_any", "check_fit", "check_order", "check_same_groups", "check_scores"]


def check_any(model, X, weights=None, **beside) -> None:
    """What holds of every estimator: finite attributes, probabilities, and the same answers for the rows of the fit.

    `beside` is what the model needs beside the rows: covariates.
    """
    n = len(model.labels_)
    assert model.labels_.shape == (n,)
    assert np.issubdtype(model.labels_.dtype, np.integer)
    for name, value in vars(model).items():
        # gain_ is nan by its definition where there are too few rows for the selected variables
        if (
            name.endswith("_")
            and name != "gain_"
            and isinstance(value, (float, np.ndarray))
            and np.asarray(value).dtype.kind == "f"
        ):
            assert np.isfinite(value).all(), f"{name} is not finite"
    clear = np.ones(n, bool)
    if hasattr(model, "predict_proba"):
        posteriors = np.asarray(model.predict_proba(X, **beside))
        assert len(posteriors) == n  # X may be a path
        assert np.isfinite(posteriors).all()
        assert (posteriors >= 0).all()
        np.testing.assert_allclose(posteriors.sum(axis=1), 1, atol=1e-9)
        assert (model.labels_ < posteriors.shape[1]).all()
        # a row on the border between two groups may fall to either side by rounding
        if posteriors.shape[1] > 1:
            clear = np.diff(np.sort(posteriors, axis=1)[:, -2:], axis=1)[:, 0] > 2e-6
    assert (model.labels_ >= 0).all()
    clear &= np.broadcast_to(_rounding_of_rows(model, X) < 1e-6, n)  # posteriors of farther rows are rounding
    np.testing.assert_array_equal(np.asarray(model.predict(X, **beside))[clear], model.labels_[clear])
    if hasattr(model, "score_samples"):
        check_scores(model, X, weights, **beside)


def check_fit(model, X, weights=None) -> None:
    """What holds of a DLM besides: labels in range, orthonormal loadings, the criterion of the rows of the fit."""
    K = len(model.weights_)
    assert model.labels_.dtype == np.int64
    assert set(np.unique(model.labels_)) <= set(range(K))
    assert np.asarray(model.predict_proba(X)).shape == (len(model.labels_), K)
    d = model.loadings_.shape[1]
    np.testing.assert_allclose(model.loadings_.T @ model.loadings_, np.eye(d), atol=1e-8)
    assert np.isfinite([model.bic_, model.log_likelihood_]).all()
    assert np.isfinite(model.means_).all()
    np.testing.assert_allclose(model.bic(X, weights), model.bic_, rtol=1e-6, atol=1e-6 + _rounding(model, X, weights))
    check_any(model, X, weights)


def _rounding_of_rows(model, X) -> np.ndarray | float:
    """How much of each row's log density may be rounding (n, or 0): distances within groups are differences of squares,
    and a far cell makes these as large as the floor of the noise allows."""
    noise = getattr(model, "noise_variances_", None)
    if noise is None or np.ndim(noise) != 1:
        return 0.0
    try:
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, float)
    except (TypeError, ValueError):  # a path, or text
        return 0.0
    if X.ndim != 2 or X.shape[1] != len(np.atleast_1d(model._scales())):  # categories become several columns
        return 0.0
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        lost = 0.0
        if np.isnan(X).any():  # a variance on the axes is then the noise and what it has less than the noise
            least = min(np.linalg.eigvalsh(one)[0] for one in model.covariances_)
            lost = np.finfo(float).eps * X.shape[1] * np.max(noise) / max(least, np.finfo(float).tiny)
        far = X - np.nansum(X, axis=0) / np.maximum(np.isfinite(X).sum(axis=0), 1)
        return lost + np.finfo(float).eps * np.nansum((far / model._scales()) ** 2, axis=1) / np.min(noise)


def _rounding(model, X, weights) -> float:
    """How much of a log-likelihood may be rounding."""
    rows = _rounding_of_rows(model, X)
    found = float(np.sum(rows) if weights is None or np.ndim(rows) == 0 else weights @ rows)
    return found if np.isfinite(found) else 0.0


def check_scores(model, X, weights=None, **beside) -> None:
    """The log densities of the rows sum to the log-likelihood."""
    scores = np.asarray(model.score_samples(X, **beside))
    assert np.isfinite(scores).all()
    total = scores.sum() if weights is None else scores[weights > 0] @ weights[weights > 0]
    # the sum of terms of both signs may be small: rounding is relative to their sizes
    size = np.abs(scores).sum() if weights is None else np.abs(scores[weights > 0]) @ weights[weights > 0]
    np.testing.assert_allclose(
        total, model.log_likelihood_, rtol=1e-6, atol=1e-6 + 1e-7 * size + _rounding(model, X, weights)
    )


def check_order(fit, X, rng) -> None:
    """fit(rows) gives the same groups and likelihood for the rows in another order, where groups are clear."""
    order = rng.permutation(X.shape[0])
    check_same_groups(fit(X), fit(X[order]), order, X)


def _resolution(X) -> float:
    """How much of a log-likelihood may come from the last digit of columns that lie far from 0, whose means are
    rounded by the order of their sum."""
    rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, float)
    with np.errstate(all="ignore"):
        sizes = np.abs(rows / np.nanmax(np.nanmax(rows, axis=0) - np.nanmin(rows, axis=0)))
        found = np.finfo(float).eps * len(rows) * np.nansum(np.nanmax(sizes, axis=0))
    return float(found) if np.isfinite(found) else 0.0


def check_same_groups(model, other, order, X=None) -> None:
    """`other`, fitted to the rows (X, if they are numbers) in this order, has the same groups and likelihood.

    Regressions that fill gaps magnify rounding, so that fits with gaps agree up to the tolerance of their
    stopping rule.
    """
    if hasattr(model, "log_likelihood_"):
        atol = 1e-6
        if X is not None:
            # a residual within the groups may be as small as the floor of the variances allows
            atol += _resolution(X) / np.sqrt(model.get_params().get("variance_floor", 1.0))
            if not hasattr(X, "toarray") and np.isnan(X).any():
                atol += model.get_params().get("tol", 0.0) * len(X)
        np.testing.assert_allclose(other.log_likelihood_, model.log_likelihood_, rtol=1e-6, atol=atol)
    assert adjusted_rand_score(other.labels_, model.labels_[order]) > 1 - 1e-9

"""Checks of scikit-learn that our estimators are known to fail, and why."""

# The check of sparse rows takes whatever has `predict_proba` for a classifier of two or four classes.
_ONLY_FOR_CLASSIFIERS = {
    f"check_estimator_sparse_{kind}": "expects the probabilities of a classifier with two or four classes"
    for kind in ("array", "matrix")
}


def expected_failures(estimator) -> dict[str, str]:
    """What `parametrize_with_checks` shall expect to fail, with the reason."""
    return _ONLY_FOR_CLASSIFIERS if hasattr(estimator, "predict_proba") else {}

"""The settings with which the estimators are the paper's algorithms, and what the paper leaves open."""

from __future__ import annotations

from typing import Any

from ..tables.checking import check_number

__all__ = ["ALGORITHMS", "published_settings", "published_sparse_settings"]

# The numbers of the paper's sparse algorithms -> the sparse steps.
ALGORITHMS = {1: "two-step", 2: "regression", 3: "svd"}
# What the paper says. Its eq. (6) is solved by Foley & Sammon's orthonormal vectors, and S has no ridge.
_SAID: dict[str, Any] = {
    "discriminant": "orthonormal", "noise_factors": 0, "scale": "none", "transformation": "none",
}  # fmt: skip
_SAID_SPARSE: dict[str, Any] = {"axis_weights": "equal"}
# What it leaves open or names more than one value of, with the value that is used if none is given. The paper has no
# floor for variances; this one only keeps logarithms finite.
_OPEN: dict[str, Any] = {
    "init": "random", "n_init": 1, "ridge": 0.0, "variance_floor": 1e-9, "stopping": "aitken-alone",
    "max_iter": 200, "tol": 1e-4, "random_state": None, "n_jobs": None, "memory": "1GB",
}  # fmt: skip
_OPEN_SPARSE: dict[str, Any] = {
    "start": "fisher-em", "rho": 1.0, "budgets": "first", "alternation": "converged", "scale_penalty": False,
}  # fmt: skip


def published_settings(n_clusters: int, model: str, means: str, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of `FisherEM.as_published`; `given` are those that the paper leaves open."""
    check_number("n_clusters", n_clusters, integer=True, least=1)
    _check_open(given, _OPEN, _SAID)
    fixed = {"n_clusters": n_clusters, "n_axes": n_clusters - 1 or None, "model": model, "means": means}
    return fixed | _SAID | _OPEN | given


def published_sparse_settings(
    n_clusters: int, algorithm: int, sparsity, penalty, model: str, means: str, given: dict[str, Any]
) -> dict[str, Any]:
    """The parameters of `SparseFisherEM.as_published`; `given` are those that the paper leaves open."""
    check_number("algorithm", algorithm, integer=True, least=1, most=len(ALGORITHMS))
    _check_open(given, _OPEN | _OPEN_SPARSE, _SAID | _SAID_SPARSE)
    plain = published_settings(n_clusters, model, means, {k: v for k, v in given.items() if k in _OPEN})
    level = {"sparsity": sparsity} if penalty is None else {"penalty": penalty}
    own = {name: value for name, value in given.items() if name in _OPEN_SPARSE}
    return plain | {"method": ALGORITHMS[algorithm]} | level | _SAID_SPARSE | _OPEN_SPARSE | own


def _check_open(given: dict[str, Any], left_open: dict[str, Any], said: dict[str, Any]) -> None:
    for name in given:
        if name in said or name in ("n_axes", "method"):
            raise ValueError(f"{name} is part of the published algorithm and cannot be set here: use set_params")
        if name not in left_open:
            raise TypeError(f"as_published has no parameter {name!r}; it takes {', '.join(left_open)}")

"""The covariance shapes of the mixtures: a table of M-steps (Celeux & Govaert 1995).

    maximise  -sum_k n_k/2 log|Sigma_k| - 1/2 sum_k tr(Sigma_k^-1 W_k)        W_k (d x d) scatter of group k

with Sigma_k = lambda_k D_k A_k D_k' (volume, orientation, shape; |A_k| = 1). Each of the three is equal between groups
(E) or varies (V), and A or D may be the identity (I): the names are mclust's. Twelve of its fourteen are implemented;
EVE and VVE, whose common orientation has no closed form, are not. scikit-learn's four are VII (spherical), VVI (diag),
EEE (tied) and VVV (full).

All functions work on stacks: W (B x K x d x d), n_k (B x K) -> Sigma (B x K x d x d).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["SHAPES", "SKLEARN_SHAPES", "Shape"]

# Fixed-point iterations of the shapes without a closed form: after ten, volumes and shapes that should be equal
# between groups are equal to 1e-4 or better (tested).
_INNER_ITERATIONS = 10


@dataclass(frozen=True)
class Shape:
    """A row of the table: the M-step of a covariance shape, and how many parameters it has."""

    name: str
    covariances: Callable[[np.ndarray, np.ndarray], np.ndarray]  # (W, n_k) -> Sigma, all stacks
    n_covariance_parameters: Callable[[int, int], float]  # of (K, d)

    def n_parameters(self, K: int, d: int) -> float:
        """Free parameters of a mixture of K groups in d variables: proportions, means and covariances."""
        return (K - 1) + K * d + self.n_covariance_parameters(K, d)


def _diagonals(W):
    return np.einsum("bkjj->bkj", W)


def _as_matrices(values):
    """(B x K x d) -> diagonal matrices (B x K x d x d)."""
    return values[..., None] * np.eye(values.shape[-1])


def _root(determinant_log, d: int):
    """|.|^(1/d)."""
    return np.exp(determinant_log / d)


def _total(n_k):
    return n_k.sum(axis=1)[:, None, None]


def _share(stack, like):
    return np.broadcast_to(stack, like.shape).copy()


def _eii(W, n_k):
    d = W.shape[-1]
    trace = _diagonals(W).sum(axis=(1, 2))[:, None, None]
    return _as_matrices(_share(trace / (_total(n_k) * d), _diagonals(W)))


def _vii(W, n_k):
    D = _diagonals(W)
    return _as_matrices(_share(D.mean(axis=2, keepdims=True) / n_k[..., None], D))


def _eei(W, n_k):
    D = _diagonals(W)
    return _as_matrices(_share(D.sum(axis=1, keepdims=True) / _total(n_k), D))


def _evi(W, n_k):
    D = _diagonals(W)
    volume = _root(np.log(D).sum(axis=2), D.shape[2])
    scale = volume.sum(axis=1, keepdims=True) / n_k.sum(axis=1, keepdims=True)
    return _as_matrices(D / volume[..., None] * scale[..., None])


def _common_shape(D, n_k):
    """lambda_k (B x K) and A (B x 1 x d) of diagonal scatters D: alternate the two closed forms."""
    d = D.shape[2]
    volume = D.mean(axis=2) / n_k
    for _ in range(_INNER_ITERATIONS):
        pooled = (D / volume[..., None]).sum(axis=1, keepdims=True)
        A = pooled / _root(np.log(pooled).sum(axis=2, keepdims=True), d)
        volume = (D / A).mean(axis=2) / n_k
    return volume[..., None] * A


def _vei(W, n_k):
    return _as_matrices(_common_shape(_diagonals(W), n_k))


def _vvi(W, n_k):
    return _as_matrices(_diagonals(W) / n_k[..., None])


def _eee(W, n_k):
    return _share(W.sum(axis=1, keepdims=True) / _total(n_k)[..., None], W)


def _rotated(axes, values):
    return (axes * values[..., None, :]) @ np.swapaxes(axes, -1, -2)


def _vee(W, n_k):
    d = W.shape[-1]
    volume = _diagonals(W).mean(axis=2) / n_k
    for _ in range(_INNER_ITERATIONS):
        C = (W / volume[..., None, None]).sum(axis=1)
        values, axes = np.linalg.eigh(np.where(np.isfinite(C), C, 0.0))
        root = _root(np.log(np.maximum(values, 0)).sum(axis=1), d)
        C, inverse = _rotated(axes, values / root[:, None]), _rotated(axes, root[:, None] / values)
        volume = np.einsum("bij,bkji->bk", inverse, W) / (d * n_k)
    return volume[..., None, None] * C[:, None]


def _eev(W, n_k):
    values, axes = np.linalg.eigh(np.where(np.isfinite(W), W, 0.0))
    return _rotated(axes, _share(values.sum(axis=1, keepdims=True) / _total(n_k), values))


def _vev(W, n_k):
    values, axes = np.linalg.eigh(np.where(np.isfinite(W), W, 0.0))
    return _rotated(axes, _common_shape(np.maximum(values, 0), n_k))


def _evv(W, n_k):
    volume = _root(np.linalg.slogdet(W)[1], W.shape[-1])
    scale = volume.sum(axis=1, keepdims=True) / n_k.sum(axis=1, keepdims=True)
    return W / volume[..., None, None] * scale[..., None, None]


def _vvv(W, n_k):
    return W / n_k[..., None, None]


def _half(d):
    return d * (d - 1) / 2


_ROWS = (
    Shape("EII", _eii, lambda K, d: 1),
    Shape("VII", _vii, lambda K, d: K),
    Shape("EEI", _eei, lambda K, d: d),
    Shape("VEI", _vei, lambda K, d: K + d - 1),
    Shape("EVI", _evi, lambda K, d: 1 + K * (d - 1)),
    Shape("VVI", _vvi, lambda K, d: K * d),
    Shape("EEE", _eee, lambda K, d: d + _half(d)),
    Shape("VEE", _vee, lambda K, d: K + d - 1 + _half(d)),
    Shape("EEV", _eev, lambda K, d: d + K * _half(d)),
    Shape("VEV", _vev, lambda K, d: K + d - 1 + K * _half(d)),
    Shape("EVV", _evv, lambda K, d: 1 + K * (d - 1 + _half(d))),
    Shape("VVV", _vvv, lambda K, d: K * (d + _half(d))),
)
SHAPES = {shape.name: shape for shape in _ROWS}
SKLEARN_SHAPES = {"spherical": "VII", "diag": "VVI", "tied": "EEE", "full": "VVV"}

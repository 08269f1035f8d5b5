"""Masked arrays: masked cells are treated as missing."""

from __future__ import annotations

import numpy as np

__all__ = ["unmasked"]


def unmasked(array: np.ma.MaskedArray) -> np.ndarray:
    """The array as a plain ndarray with NaN in its masked cells; integers become floats if any cell is masked."""
    if not np.ma.getmaskarray(array).any():
        return np.asarray(array.data)
    dtype = array.dtype if array.dtype.kind in "fc" else np.dtype(float)
    return np.ma.filled(array.astype(dtype), np.nan)

"""Masked arrays: a masked cell is a missing one."""

from __future__ import annotations

import numpy as np

__all__ = ["unmasked"]


def unmasked(array: np.ma.MaskedArray) -> np.ndarray:
    """The array with NaN in its masked cells, in a type that has NaN; its own values where nothing is masked."""
    if not np.ma.getmaskarray(array).any():
        return np.asarray(array.data)
    dtype = array.dtype if array.dtype.kind in "fc" else np.dtype(float)
    return np.ma.filled(array.astype(dtype), np.nan)

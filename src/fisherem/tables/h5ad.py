"""Read .h5ad files (AnnData on disk) with h5py alone: the matrix X, and what is known of cells (obs) and genes (var).

Nothing is unpickled or executed, and references to other files are refused. Sparse matrices stay sparse; a matrix that
does not fit half of the memory budget is read by rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._utils.extras import need_extra
from .annotated import Annotated
from .errors import TableError
from .hdf5 import inside, matrix_of, reason_of, text_of
from .limits import NO_LIMIT, too_large
from .readers import READERS, Reader
from .sources import Source

__all__ = ["read_h5ad"]


def read_h5ad(path: Path, *, memory: int = NO_LIMIT) -> Annotated:
    """The matrix X of a .h5ad file with the annotation of its rows and columns."""
    h5py = need_extra("h5py", "reading .h5ad files", "single-cell")
    try:
        file = h5py.File(path, "r")
        X = matrix_of(inside(file, "X", path), path, memory)
        obs, var = (_frame(file, key, path, memory) for key in ("obs", "var"))
        if not isinstance(X, Source):
            file.close()
    except TableError:
        raise
    except Exception as error:  # a damaged file can make h5py raise anything
        raise TableError(f"{path}: not a readable .h5ad file ({reason_of(error)})") from None
    if X.shape != (len(obs), len(var)):
        raise TableError(
            f"{path}: X is {X.shape[0]:,} x {X.shape[1]:,}, but obs has {len(obs):,} rows and var {len(var):,}"
        )
    return Annotated(X, obs, var, ["read from .h5ad"])


# -- obs and var ---------------------------------------------------------------------------------------------------


def _frame(file: Any, key: str, path: Path, memory: int) -> pd.DataFrame:
    """obs or var, with the names as the index; columns that are no lists of values are left out."""
    item = inside(file, key, path)
    if hasattr(item, "dtype"):  # one compound dataset, as until anndata 0.6
        return _compound(file, item, path, memory)
    name = text_of(item.attrs.get("_index", "_index"))
    order = [text_of(one) for one in item.attrs.get("column-order", ())]
    index = _column(file, item, name, path, memory)
    found = {one: _column(file, item, one, path, memory) for one in order if one in item}
    kept = {one: values for one, values in found.items() if values is not None and len(values) == len(index)}
    return pd.DataFrame(kept, index=pd.Index(list(map(str, index))))


def _values(item: Any, path: Path, memory: int) -> np.ndarray:
    """The values of a dataset; texts are decoded."""
    size = int(item.size) * item.dtype.itemsize
    if size > memory:
        raise too_large(path, item.name, size, memory)
    values = item[()]
    if item.dtype.kind == "S":
        return np.char.decode(values, "utf-8").astype(object)
    if item.dtype.kind == "O":
        return np.array([text_of(one) for one in np.ravel(values)], object)
    return values


def _column(file: Any, group: Any, name: str, path: Path, memory: int) -> Any:
    """A column of obs or var: an array or categories; None for what is neither."""
    item = inside(group, name, path)
    if not hasattr(item, "dtype"):
        return _encoded(item, path, memory)
    values = _values(item, path, memory)
    reference = item.attrs.get("categories")  # anndata 0.7: a reference to __categories
    if reference is not None and reference:
        return _categories(values, _values(_checked(file[reference], path), path, memory))
    return values if np.ndim(values) == 1 else None


def _checked(item: Any, path: Path) -> Any:
    return inside(item.parent, item.name.rpartition("/")[2], path)


def _encoded(item: Any, path: Path, memory: int) -> Any:
    """A column that is a group: categories, or values with a mask for those that are missing."""
    kind = text_of(item.attrs.get("encoding-type", ""))
    if kind == "categorical":
        codes, names = (_values(inside(item, key, path), path, memory) for key in ("codes", "categories"))
        return _categories(codes, names, bool(item.attrs.get("ordered", False)))
    if kind.startswith("nullable"):
        values, mask = (_values(inside(item, key, path), path, memory) for key in ("values", "mask"))
        gap: Any = None if values.dtype == object else np.nan
        return np.where(mask, gap, values)
    return None


def _categories(codes: np.ndarray, names: np.ndarray, ordered: bool = False) -> Any:
    return pd.Categorical.from_codes(codes.astype(int), pd.Index([str(name) for name in names]), ordered=ordered)


def _compound(file: Any, item: Any, path: Path, memory: int) -> pd.DataFrame:
    """obs or var as one dataset with a field per column; the names of categories are in uns."""
    size = int(item.size) * item.dtype.itemsize
    if size > memory:
        raise too_large(path, item.name, size, memory)
    rows, fields = item[()], item.dtype.names or ()
    notes = inside(file, "uns", path) if "uns" in file else {}
    found = {}
    for name in fields:
        values = rows[name]
        if values.ndim != 1:
            continue
        if values.dtype.kind in "SO":
            values = np.array([text_of(one) for one in values], object)
        if f"{name}_categories" in notes and values.dtype.kind in "iu":
            names = _values(inside(notes, f"{name}_categories", path), path, memory)
            values = _categories(values, np.atleast_1d(names))
        found[name] = values
    if not found:
        raise TableError(f"{path}: {item.name} has no names")
    index = found.pop("index" if "index" in found else next(iter(found)))
    return pd.DataFrame(found, index=pd.Index(list(map(str, index))))


READERS.provide(".h5ad", Reader(annotated=read_h5ad))

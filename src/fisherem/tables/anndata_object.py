"""AnnData objects as tables: their matrix, in memory or on disk, with the names of the genes.

An AnnData object is recognised without importing anndata. Where genes are marked as highly variable, these take part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from .._utils.wording import listed
from .file_table import FileTable
from .kinds import is_anndata
from .sources import Source

__all__ = ["MARKED", "anndata_rows", "genes_of", "marked_genes", "of_cells"]

# The column of var in which scanpy marks the genes that vary most.
MARKED = "highly_variable"


def marked_genes(var: pd.DataFrame) -> np.ndarray | None:
    """bool p: the genes marked as highly variable; None where none, or all, are marked."""
    if MARKED not in var:
        return None
    found = pd.Series(var[MARKED]).fillna(False).astype(bool).to_numpy()
    return found if found.any() and not found.all() else None


def genes_of(adata: Any, wanted: Sequence[str] | None = None, use_marked: bool = True) -> np.ndarray:
    """The numbers of the genes that take part: those `wanted`, else those marked as highly variable, else all."""
    names = [str(name) for name in adata.var_names]
    if wanted is None:
        marked = marked_genes(adata.var) if use_marked else None
        return np.arange(len(names)) if marked is None else np.flatnonzero(marked)
    place = {name: j for j, name in enumerate(names)}
    if absent := [name for name in wanted if name not in place]:
        raise ValueError(f"the AnnData object lacks genes that the model needs: {listed(absent)}")
    return np.array([place[name] for name in wanted], int)


def anndata_rows(adata: Any, memory: int, genes: np.ndarray, layer: str | None = None) -> tuple[Any, list[str]]:
    """(the matrix of these genes, their names): an array or a sparse matrix, or a `FileTable` of a backed object."""
    names = [str(adata.var_names[j]) for j in genes]
    if len(set(names)) < len(names):
        raise ValueError("some genes have the same name: call adata.var_names_make_unique() first")
    if layer is not None and layer not in adata.layers:
        raise ValueError(f"there is no layer {layer!r}; the layers are {listed(list(adata.layers)) or 'none'}")
    if adata.isbacked and layer is None and not adata.is_view:
        from .hdf5 import matrix_of  # h5py is there if a backed object is

        X = matrix_of(adata.file["X"], str(adata.filename), memory)
    else:
        X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ValueError("the AnnData object has no X: name a layer")
    everything = len(genes) == X.shape[1] and (genes == np.arange(len(genes))).all()
    if isinstance(X, Source):
        return FileTable(X if everything else X.select(genes.tolist()), memory, names), names
    return (X if everything else _columns(X, genes)), names


def _columns(X: Any, numbers: np.ndarray) -> Any:
    """The columns of these numbers of an array, a frame or a sparse matrix of any format."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, numbers]
    return (X.tocsc() if hasattr(X, "tocsc") else X)[:, numbers]


def of_cells(X: Any, given: Any, what: str = "covariates") -> Any:
    """Values per row; for an AnnData object, names stand for columns of its obs (one name for a single column)."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) for name in names):
        return given
    if not is_anndata(X):
        if isinstance(given, str):
            raise ValueError(
                f"{what}={given!r} names a column of obs, which only an AnnData object has: give the values"
            )
        return given
    if len(names) == X.n_obs and not set(names) <= set(X.obs):
        return given  # values that are texts
    if absent := [name for name in names if name not in X.obs]:
        raise ValueError(f"{what}: obs has no column {listed(absent)}; its columns are {listed(list(X.obs), 10)}")
    return X.obs[given] if isinstance(given, str) else X.obs[list(names)]

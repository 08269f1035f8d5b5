"""AnnData objects: cluster the cells and write groups, genes and coordinates into the object, as scanpy's tools do.

In: an AnnData object of n cells and p genes. Out: columns of its obs and var, arrays of its obsm and an entry of its
uns, under one name. anndata itself is not imported: any object with the same attributes works.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from . import __version__
from ._utils.wording import listed
from .estimators import FisherEM, SparseFisherEM
from .search.model_search import ModelSearch
from .tables.anndata_object import anndata_rows, genes_of, of_cells
from .tables.checking import check_flag, open_rows
from .tables.frames import with_names
from .tables.kinds import is_anndata
from .tables.parameters import check_number, parse_memory

__all__ = ["cluster"]

# The role of genes that were left out: those that are not highly variable.
_LEFT_OUT = "not used"
# This entry of uns[key] tells results of an earlier call from anything written by other tools.
_MARK = "fisherem"


def cluster(
    adata,
    n_clusters=None,
    layer=None,
    use_highly_variable=True,
    key_added="fisherem",
    *,
    covariates=None,
    estimator=None,
    random_state=0,
    n_jobs=None,
):
    """Cluster the cells of an AnnData object, select the genes that separate them, and write both into the object.

    Parameters
    ----------
    adata : AnnData
        Cells by genes: normalised and logarithmised counts, in memory or backed, dense or sparse.
    n_clusters : int, optional
        The number of groups. By default `ModelSearch` chooses it, and ``uns[key_added]["verdict"]`` says how certain
        the choice is.
    layer : str, optional
        The layer to use in place of X.
    use_highly_variable : bool, default=True
        Use the genes that ``var["highly_variable"]`` marks, if there are any.
    key_added : str, default="fisherem"
        The name under which the results are written. Results of an earlier call are replaced, nothing else is.
    covariates : str, sequence of str, array or frame of n rows, optional
        Columns of obs, such as a batch, or values per cell, whose effects are estimated with the groups and removed.
    estimator : FisherEM or SparseFisherEM, optional
        The estimator to use; by default ``SparseFisherEM()``.
    random_state : int, default=0
        The seed, if no estimator is given.
    n_jobs : int, optional
        Threads or processes, if no estimator is given; None means all cores.

    Returns
    -------
    SparseFisherEM or ModelSearch
        The fitted object, for `report`, `markers`, prediction and model files. With key_added "fisherem", `adata` then
        contains:

        - ``obs["fisherem"]``, the groups as a category "1", "2", ..., and ``obs["fisherem_posterior"]``
        - ``var["fisherem_selected"]`` and ``var["fisherem_role"]``, "not used" for genes that were left out
        - ``obsm["X_fisherem"]``, the coordinates in the discriminative subspace, and ``obsm["fisherem_posteriors"]``
        - ``uns["fisherem"]``: the parameters (`params`), the decisions (`decisions`), `bic` and the verdict, if any

    Examples
    --------
    >>> import scanpy as sc  # doctest: +SKIP
    >>> adata = sc.datasets.pbmc68k_reduced()  # doctest: +SKIP
    >>> model = fisherem.anndata.cluster(adata, 8)  # doctest: +SKIP
    >>> sc.pl.embedding(adata, "X_fisherem", color="fisherem")  # doctest: +SKIP
    """
    _check(adata, key_added, use_highly_variable)
    if n_clusters is not None:
        check_number("n_clusters", n_clusters, integer=True, least=1)
    if estimator is None:
        estimator = SparseFisherEM(random_state=random_state, n_jobs=n_jobs)
    elif not isinstance(estimator, (FisherEM, SparseFisherEM)):
        raise TypeError(f"estimator must be a FisherEM or a SparseFisherEM; got {type(estimator).__name__}")
    estimator = clone(estimator)
    chosen = genes_of(adata, None, use_highly_variable)
    matrix, names = anndata_rows(adata, parse_memory(estimator.memory), chosen, layer)
    rows = with_names(open_rows(estimator, matrix), names)
    beside = of_cells(adata, covariates)
    fitted = (
        ModelSearch(estimator, n_jobs=n_jobs) if n_clusters is None else estimator.set_params(n_clusters=n_clusters)
    )
    fitted.fit(rows, covariates=beside)
    _write(adata, fitted, rows, beside, chosen, key_added, {"layer": layer, "n_clusters": n_clusters})
    return fitted


def _check(adata: Any, key: str, use_highly_variable: Any) -> None:
    """Raise an error early if this is not an AnnData object, or if a name is already in use."""
    if not is_anndata(adata):
        raise TypeError(
            f"adata must be an AnnData object; got {type(adata).__name__}: fit a SparseFisherEM to other tables, or "
            "convert it with the package anndata (pip install anndata 'fisherem[single-cell]')"
        )
    check_flag("use_highly_variable", use_highly_variable)
    if not isinstance(key, str) or not key:
        raise TypeError(f"key_added must be a name; got {key!r}")
    known = adata.uns.get(key, {})
    if hasattr(known, "get") and known.get("method") == _MARK:
        return
    places = {
        "obs": (key, f"{key}_posterior"), "var": (f"{key}_selected", f"{key}_role"),
        "obsm": (f"X_{key}", f"{key}_posteriors"), "uns": (key,),
    }  # fmt: skip
    taken = [f"{place}[{name!r}]" for place, names in places.items() for name in names if name in getattr(adata, place)]
    if taken:
        raise ValueError(
            f"adata already has {listed(taken, quoted=False)}, not written by fisherem: choose another key_added"
        )


def _write(adata: Any, fitted: Any, rows: Any, beside: Any, chosen: np.ndarray, key: str, params: dict) -> None:
    best = getattr(fitted, "best_estimator_", fitted)
    names = [str(k + 1) for k in range(len(best.weights_))]
    posteriors = np.asarray(best.predict_proba(rows, covariates=beside))
    coordinates = np.asarray(best.transform(rows, covariates=beside))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # writing to a view turns it into a copy, as intended here
        adata.obs[key] = pd.Categorical([names[k] for k in best.labels_], names)
    adata.obs[f"{key}_posterior"] = posteriors.max(axis=1)
    p = adata.n_vars
    selected = np.zeros(p, bool)
    selected[chosen] = best.support_
    roles = np.full(p, _LEFT_OUT, object)
    known = getattr(best, "roles_", None)
    roles[chosen] = np.where(best.support_, "selected", "no evidence") if known is None else known["role"].to_numpy()
    adata.var[f"{key}_selected"] = selected
    adata.var[f"{key}_role"] = pd.Categorical(roles.astype(str))
    adata.obsm[f"X_{key}"] = coordinates
    adata.obsm[f"{key}_posteriors"] = posteriors
    adata.uns[key] = _about(fitted, best, params)


def _about(fitted: Any, best: Any, params: dict) -> dict[str, Any]:
    """The entry of uns: strings, numbers and tables of strings, which AnnData files can store."""
    given = params | best.get_params(deep=False)
    plain = {name: value for name, value in given.items() if isinstance(value, (str, int, float))}
    about: dict[str, Any] = {
        "method": _MARK, "version": __version__, "params": plain, "decisions": best.decisions_.astype(str),
        "n_clusters": len(best.weights_), "model": str(best.model_), "bic": float(best.bic_), "gain": float(best.gain_),
    }  # fmt: skip
    if (verdict := getattr(fitted, "verdict_", None)) is not None:
        about["verdict"] = {"confidence": str(verdict.confidence), "text": str(verdict.text)}
    if hasattr(best, "covariate_share_"):
        about["covariates"] = best.covariate_share_.copy()
    return about

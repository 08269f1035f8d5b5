"""Tables of cells by genes with annotation, as files have them: the genes that take part and what is known of the rows.

In: an `Annotated` table from a reader. Out: a `Table` whose X is a `SparseTable`, or a `FileTable` for a dense matrix
or one that is read by rows. Where genes are marked as highly variable, these take part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from .._utils.wording import listed
from .anndata_object import marked_genes
from .arranging import ColumnRoles
from .errors import TableError
from .file_table import FileTable
from .sources import Source
from .sparse_table import SparseTable
from .table import Table

__all__ = ["Annotated", "annotated_table", "unique_names"]


@dataclass
class Annotated:
    """A matrix n x p (compressed rows, or a source), with frames obs (n) and var (p) indexed by names."""

    X: Any
    obs: pd.DataFrame
    var: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    turnable: bool = False  # whether rows and columns may be exchanged: the file does not say which are the samples


def unique_names(names: Iterable[Any]) -> list[str]:
    """Names as texts, with -1, -2, ... added to those that were there before, as scanpy does."""
    texts, seen, out = [str(name) for name in names], set(), []
    taken = set(texts)
    for name in texts:
        one, i = name, 1
        while one in seen:
            one = f"{name}-{i}"
            if one in taken:
                one = name
            i += 1
        seen.add(one)
        out.append(one)
    return out


def annotated_table(path: Path, found: Annotated, roles: ColumnRoles, memory: int, missing: bool, transpose) -> Table:
    """The table of a file: rows are the cells, columns the genes that take part."""
    X, obs, var = found.X, found.obs, found.var
    if transpose:
        if not found.turnable:
            raise TableError(f"{path}: the file says which are its cells: leave out --transpose")
        X, obs, var = X.T.tocsr(), var, obs
        var.index = pd.Index([f"x{name}" for name in var.index])
    names, notes = unique_names(var.index), list(found.notes)
    if names != list(var.index):
        notes.append("genes of the same name were numbered: NAME, NAME-1, ...")
    unknown = [name for name in roles.drop if name not in names]
    if unknown:
        raise TableError(f"{path}: --drop names {unknown[0]!r}, but the columns are {listed(names, 10)}")
    marked = None if roles.only is not None else marked_genes(var)
    aside = {j for j, name in enumerate(names) if name in roles.drop or (marked is not None and not marked[j])}
    if marked is not None:
        notes.append(f"{int(marked.sum()):,} of {len(marked):,} genes take part, those marked as highly variable")
    kept = roles.kept(path, names, aside)
    chosen = [names[j] for j in kept]
    if isinstance(X, Source):
        rows: Any = FileTable(X if len(kept) == len(names) else X.select(kept), memory, chosen, missing=missing)
    else:
        rows = SparseTable(X if len(kept) == len(names) else X[:, kept], memory)
        rows.names = chosen
    ids: Any = obs.index.to_numpy()
    if roles.id_column is not None:
        if roles.id_column not in obs:
            raise TableError(f"{path}: --id-column names {roles.id_column!r}, but obs has {listed(list(obs), 10)}")
        ids = obs[roles.id_column].to_numpy()
    return Table(
        rows, ids, None, notes, path, annotation=obs.reset_index(drop=True),
        variables=var.iloc[kept].reset_index(drop=True),
    )  # fmt: skip

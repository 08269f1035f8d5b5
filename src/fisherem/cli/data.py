"""What goes into a command: a table, opened once and standardised if that is wanted, or the columns that a model needs.

Rows that fit the memory budget come as a frame (n x p), others as a `FileTable` of the same shape that reads, and
scales, a block at a time.
"""

from __future__ import annotations

from typing import Any

import click

from .options import Source

__all__ = ["open_data", "open_for", "scaled"]


def open_data(source: Source, memory, *, quiet: bool = False):
    """The table in a file, with a name for every column; what looks wrong with it is said, unless `quiet`."""
    from ..tables.opening import open_table

    table = _treated(open_table(source.data, memory=memory, **source.reading).named(), source.missing)
    if table.hint and not quiet:
        click.echo(f"note: {table.hint}", err=True)
    return table


def _treated(table, how: str):
    """The table with its missing cells treated, and a note that counts them; rows that are read in blocks have none."""
    import pandas as pd

    from ..tables.gaps import treated
    from ..tables.opening import Table

    if not isinstance(table.X, pd.DataFrame) or not (gaps := table.X.isna().to_numpy()).any():
        return table
    rows, columns, said = treated(gaps, how)
    table.notes.append(said)
    if rows.all() and columns.all():
        return table
    X = table.X.loc[rows, columns].reset_index(drop=True)
    ids = [one for one, kept in zip(table.ids, rows, strict=True) if kept]
    labels = None if table.labels is None else table.labels[rows]
    return Table(X, ids, labels, table.notes, table.path, table.hint)


def scaled(table, scale: bool | None) -> tuple[Any, Any]:
    """(the rows to fit, the fitted StandardScaler or None); a note says what was done."""
    if scale is None:  # left to the estimator
        return table.X, None
    if not scale:
        table.notes.append("columns were used as they are (--scale to standardise them)")
        return table.X, None
    table.notes.append("columns were standardised to mean 0 and variance 1 (--no-scale to keep them as they are)")
    scaler = _scaler(table.X)
    return _scaled_rows(table.X, scaler), scaler


def _scaler(X):
    """A StandardScaler fitted to a frame, or in one pass over the blocks of a `FileTable`."""
    import pandas as pd
    from sklearn.preprocessing import StandardScaler

    from ..tables.file_table import FileTable

    scaler = StandardScaler().set_output(transform="pandas")
    if not isinstance(X, FileTable):
        return scaler.fit(X)
    for _, rows in X.blocks():
        scaler.partial_fit(pd.DataFrame(rows.astype(float, copy=False), columns=X.names))
    return scaler


def _scaled_rows(X, scaler):
    from ..tables.file_table import FileTable

    return X.transformed(scaler) if isinstance(X, FileTable) else scaler.transform(X)


def open_for(model, source: Source, memory, *, from_selected: bool = False):
    """(table, rows, estimator) for a model from a file: the columns that it needs, in its order, as it scales them.

    The estimator is the last step of a pipeline, and the rows are what the steps before it make of the table. With
    `from_selected` the selected columns are enough, where the groups depend on them alone.
    """
    from ..estimators.pipelines import last_step, on_its_rows, steps_in_words
    from ..estimators.selected import needed_names, on_selected
    from ..tables.opening import open_table

    last = last_step(model)[1]
    if not hasattr(last, "predict_proba"):
        raise ValueError(
            f"the model file holds a fitted {type(last).__name__}, which gives no posteriors: give a FisherEM, "
            "a SparseFisherEM or a mixture"
        )
    names = getattr(model, "feature_names_in_", None)
    table = open_table(source.data, only=names, memory=memory, **source.reading).named()
    if from_selected and needed_names(model, table.names) is not None:
        model = on_selected(model)
        names = model.feature_names_in_
        table.notes.append("only the selected columns were used: the groups depend on no other")
    if names is not None:
        table = table.select([str(name) for name in names])
    table = _treated(table, source.missing)
    X: Any = table.X if names is not None else table.X.to_numpy()  # the model was fitted to an array
    if last is not model:
        table.notes += steps_in_words(model)
    estimator, rows = on_its_rows(model, X)
    return table, rows, estimator

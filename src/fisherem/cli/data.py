"""The input of a command: a table, standardised if requested, or the columns that a model needs.

Rows that fit in the memory budget are a frame (n x p); others are a `FileTable` that is read and scaled in blocks.
"""

from __future__ import annotations

from typing import Any

import click

from .options import TableOptions

__all__ = ["estimator_scale", "less_covariates", "open_data", "open_for", "scaled"]


def open_data(source: TableOptions, memory, *, quiet: bool = False, weighted: bool = True, mixed: bool = True):
    """The table in a file, with a name for every column; hints about possible mistakes are printed unless `quiet`.

    Weights are an error unless `weighted`, and categories unless `mixed`.
    """
    from ..tables.opening import open_table

    _check_weighted(source, weighted)
    if source.categories and not mixed:
        raise ValueError("--categories is for fit, search and explain")
    table = _treated(open_table(source.data, memory=memory, mixed=mixed, **source.reading).named(), source.missing)
    table.notes += table.hints
    for hint in table.hints if not quiet else ():
        click.echo(f"note: {hint}", err=True)
    return table


def _check_weighted(source: TableOptions, weighted: bool) -> None:
    if source.weight_column is not None and not weighted:
        raise ValueError("--weight-column is for fit, search and explain, without --stability")


def _treated(table, how: str):
    """The table with its missing cells handled, and a note about them; only tables in memory can have missing cells."""
    import pandas as pd

    from ..tables.gaps import treated

    if not isinstance(table.X, pd.DataFrame) or not (gaps := table.X.isna().to_numpy()).any():
        return table
    rows, columns, said = treated(gaps, how)
    table.notes.append(said)
    if rows.all() and columns.all():
        return table
    return table.keep_rows(rows).select([name for name, kept in zip(table.names, columns, strict=True) if kept])


def scaled(table, scale: bool | None, transformation: str = "none") -> tuple[Any, Any]:
    """(the rows to fit, the fitted StandardScaler or None); a note records what was done."""
    from ..tables.sparse_table import SparseTable

    if scale is None or (scale and table.covariates is not None):  # left to the estimator
        return table.X, None  # which scales the columns after removing the effects of the covariates
    if not scale:
        table.notes.append("columns were used unchanged (--scale standardises them)")
        return table.X, None
    if isinstance(table.X, SparseTable):  # a scaler would make the rows dense, so the estimator scales the columns
        return table.X, None
    if transformation == "log-counts":  # the estimator takes logarithms before scaling
        table.notes.append("logarithms of the counts were standardised (--no-scale disables this)")
        return table.X, None
    if is_mixed(table.X):
        table.notes.append("numbers were standardised, and categories divided by the square roots of their shares")
        return table.X, None
    table.notes.append("columns were standardised to mean 0 and variance 1 (--no-scale disables this)")
    return _standardised(table.X)


def estimator_scale(scale: bool | None, scaler: Any) -> str:
    """The parameter `scale` of an estimator after `scaled`."""
    if scale is None:
        return "auto"
    return "standardise" if scale and scaler is None else "none"


def is_mixed(X: Any) -> bool:
    """Whether rows have columns that are categories."""
    return any(hasattr(dtype, "categories") for dtype in getattr(X, "dtypes", ()))


def _standardised(X) -> tuple[Any, Any]:
    """(X standardised, the fitted StandardScaler); a `FileTable` is read in one pass over its blocks."""
    import numpy as np
    import pandas as pd
    from sklearn.preprocessing import StandardScaler

    from ..tables.file_table import FileTable

    scaler = StandardScaler().set_output(transform="pandas")
    with np.errstate(over="ignore", invalid="ignore"):
        if not isinstance(X, FileTable):
            scaler.fit(X)
            varies = (X.min() < X.max()).to_numpy()
        else:
            varies, first = np.zeros(X.shape[1], bool), X.rows_at(np.zeros(1, int))
            for _, rows in X.blocks():
                scaler.partial_fit(pd.DataFrame(rows.astype(float, copy=False), columns=X.names))
                varies |= (rows != first).any(axis=0)
    _check_scales(scaler, varies)
    return X.transformed(scaler) if isinstance(X, FileTable) else scaler.transform(X), scaler


def _check_scales(scaler, varies) -> None:
    """Raise an error for a column whose variance overflows, or underflows although its values `varies`."""
    import numpy as np

    wrong = ~np.isfinite(scaler.var_) | ((scaler.var_ == 0) & varies)
    if wrong.any():
        name = scaler.feature_names_in_[int(np.argmax(wrong))]
        raise ValueError(
            f"column {name!r} cannot be standardised: its values are so large or so small that their squares "
            "overflow or underflow; change its unit, or use --no-scale"
        )


def less_covariates(fitted, table, X) -> tuple[Any, Any, Any]:
    """(estimator or search, the estimator, rows) with the effects of the table's covariates removed, if it has any."""
    if table.covariates is not None:
        fitted, X = fitted.adjusted(X, table.covariates)
    return fitted, getattr(fitted, "best_estimator_", fitted), X


def open_for(model, source: TableOptions, memory, *, from_selected: bool = False):
    """(table, rows, estimator) for a model from a file: the columns that it needs, in its order, as it scales them.

    The estimator is the last step of a pipeline, and the rows are what the steps before it make of the table. With
    `from_selected`, only the selected columns are used if the groups depend on no others.
    """
    from .._utils.wording import listed
    from ..estimators.adjusting import covariate_names_of
    from ..estimators.pipelines import last_step, needed_names, on_its_rows, on_selected, steps_in_words
    from ..tables.opening import open_table

    _check_weighted(source, False)
    if getattr(model, "kind", None) == "scene":
        raise ValueError("the model file holds the model of a scene: apply it with `fisherem segment --apply`")
    last = last_step(model)[1]
    if not hasattr(last, "predict_proba"):
        raise ValueError(
            f"the model file holds a fitted {type(last).__name__}, which has no posteriors: use a FisherEM, "
            "a SparseFisherEM or a mixture"
        )
    names, beside = getattr(model, "feature_names_in_", None), covariate_names_of(last)
    if source.covariate and set(source.covariate) != set(beside):
        known = f"with {listed(beside)}" if beside else "without covariates"
        said = "omit the option, as the model file defines the covariates"
        raise ValueError(f"--covariate: the model was fitted {known}; {said}")
    encoding = getattr(last, "encoding_", None)
    reading = source.reading | {"covariates": beside}
    if encoding is not None:  # columns that were categories in the fit are categories here
        levels = zip(encoding.names, encoding.levels, strict=True)
        reading |= {"categories": tuple({name for name, known in levels if known is not None}), "mixed": True}
    table = open_table(source.data, only=names, memory=memory, **reading).named()
    only_selected = from_selected and needed_names(model, table.names) is not None
    if only_selected:
        names = model.feature_names_in_[last.support_] if encoding is not None else on_selected(model).feature_names_in_
        model = model if encoding is not None else on_selected(model)
        table.notes.append("only the selected columns were used, as the groups depend on no others")
    if names is not None:
        table = table.select([str(name) for name in names])
    table = _treated(table, source.missing)
    X: Any = table.X if names is not None else table.X.to_numpy()  # the model was fitted to an array
    if last is not model:
        table.notes += steps_in_words(model)
    estimator, rows = on_its_rows(model, X)
    if only_selected and encoding is not None:
        estimator = on_selected(estimator)
    if table.covariates is not None:
        table.notes.append(f"the effects of {listed(beside)} were removed from the values")
    estimator, _, rows = less_covariates(estimator, table, rows)
    return table, rows, estimator

"""The command `compare`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from .choices import NameList, NamesOption, TableCommand
from .common import InputError, friendly, quiet_warnings
from .data import open_data, scaled
from .folders import check_file
from .options import memory_option, scale_option, table_options

__all__ = ["compare"]

# Sufficient for all methods on the paper's tables, except the slowest two on the largest table.
_TIME_LIMIT = 60.0
_METHODS = "search.comparison:methods"
_WIDTHS = {"accuracy": 8, "ari": 6, "n_variables": 9, "seconds": 7}


class _Rows:
    """The table in the terminal: a line per finished method; the running one is shown on standard error."""

    def __init__(self, names: list[str], scored: bool):
        self.names, self.done = names, 0
        self.width = max(map(len, [*names, "method"]))
        self.columns = [c for c in _WIDTHS if scored or c not in ("accuracy", "ari")]
        heads = {"n_variables": "variables"}
        self._line("method", [heads.get(c, c) for c in self.columns], "")
        self._status: Any = None

    def _line(self, name: str, cells: list[str], rest: str) -> None:
        texts = [text.rjust(_WIDTHS[c]) for c, text in zip(self.columns, cells, strict=True)]
        click.echo("  ".join([name.ljust(self.width), *texts, rest]).rstrip())

    def __call__(self, name: str, row: dict[str, Any] | None) -> None:
        """Called when a method starts (`row` is None), and with its row when it has finished."""
        if row is None:
            self._show(f"{name} runs ({self.done + 1} of {len(self.names)})")
            return
        self.done += 1
        self._show(None)
        digits = {"n_variables": "d", "seconds": ".1f"}
        cells = [f"{row[c]:{digits.get(c, '.3f')}}" if c in row else "" for c in self.columns]
        self._line(name, cells, " ".join(row["reason"].split()))

    def _show(self, text: str | None) -> None:
        """Show which method is running: updated in place in a terminal, on a separate line elsewhere."""
        if self._status is not None:
            self._status.stop()
            self._status = None
        if text is None:
            return
        if not sys.stderr.isatty():
            click.echo(text, err=True)
            return
        from rich.console import Console

        self._status = Console(stderr=True).status(text)
        self._status.start()

    def close(self) -> None:
        """Remove the status line."""
        self._show(None)


@click.command(cls=TableCommand)
@table_options
@click.option("-k", "--clusters", type=click.IntRange(2), required=True, help="Number of groups.")
@click.option("--methods", cls=NamesOption, type=NameList(_METHODS, brief="NAMES"), default="all", show_default=True,
              help="Methods to compare, separated by commas; kmeans, K-Means and k-means are the same:")  # fmt: skip
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), default=_TIME_LIMIT, show_default=True,
              help="Seconds for each method; one that takes longer is stopped, and its line says so.")  # fmt: skip
@scale_option
@memory_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File for the table (CSV).")
@friendly
def compare(source, clusters, methods, time_limit, scale, memory, output):
    """Fit several methods to a table and compare them.

    The line of a method is printed as soon as it has finished.
    """
    import pandas as pd

    from .._utils.atomic import atomic_file
    from .._utils.spreadsheets import write_csv
    from ..policy.scaling import share_a_unit
    from ..search.comparison import compare as run
    from ..search.comparison import method_names
    from ..tables.sparse_table import SparseTable

    quiet_warnings()
    if output is not None:
        check_file(output)
    if source.covariate:
        raise InputError("--covariate is for fit, search and explain: the other methods do not support covariates")
    names = method_names(methods)
    table = open_data(source, memory, weighted=False, mixed=False)
    if not isinstance(table.X, pd.DataFrame):
        if isinstance(table.X, SparseTable):
            raise InputError(f"{source.data}: compare needs dense rows, and these are sparse: write them as .parquet")
        raise InputError(f"{source.data}: compare needs all rows in memory ({table.notes[-1]}): increase --memory")
    for note in table.notes:
        if "--missing" in note:
            click.echo(f"note: {note}; methods that do not support missing values use the model's imputation", err=True)
    # every method gets the same columns, scaled as our own estimators would scale them
    X, _ = scaled(table, not share_a_unit(table.X.std().to_numpy()) if scale is None else scale)
    rows = _Rows(names, table.labels is not None)
    try:
        found = run(X, table.labels, names, clusters, time_limit=time_limit, callback=rows)
    finally:
        rows.close()
    if output is not None:
        with atomic_file(output) as file:
            write_csv(found.table, file)

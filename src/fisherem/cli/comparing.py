"""The command that puts methods side by side."""

from __future__ import annotations

from pathlib import Path

import click

from .choices import NameList
from .common import friendly, quiet_warnings
from .data import open_data, scaled
from .folders import check_file
from .options import scale_option, table_options

__all__ = ["compare"]

# The rivals need all rows in memory: a table is read whole, whatever its size.
_NO_LIMIT = 2**62


@click.command()
@table_options
@click.option("-k", "--clusters", type=click.IntRange(2), required=True, help="Number of groups.")
@click.option("--methods", type=NameList("model_selection.comparison:methods"), default="all", show_default=True,
              help="Methods to compare, separated by commas.")  # fmt: skip
@scale_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File for the table (CSV).")
@friendly
def compare(source, clusters, methods, scale, output):
    """Fit several methods to the table DATA and put their results side by side."""
    from .._utils.atomic import atomic_file
    from ..model_selection.comparison import compare as run

    quiet_warnings()
    if output is not None:
        check_file(output)
    table = open_data(source, _NO_LIMIT)
    X, _ = scaled(table, scale)
    found = run(X, table.labels, methods, clusters)
    click.echo(found.table.round(3).to_string(index=False, na_rep=""))
    if output is not None:
        with atomic_file(output) as file:
            found.table.to_csv(file, index=False)

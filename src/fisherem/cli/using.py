"""The commands that use a model file: `predict` new rows, write the `report` again."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .choices import TableCommand
from .common import friendly
from .data import open_for
from .folders import check_file
from .options import json_option, memory_option, quiet_option, table_options

__all__ = ["predict", "report"]


def _of_a_model(default: str, what: str):
    """The arguments of a command that reads a MODEL file and a table and writes one file."""

    def decorate(command):
        output = click.option("-o", "--output", type=click.Path(path_type=Path), default=Path(default),
                              show_default=True, help=what)  # fmt: skip
        model = click.argument("model_file", metavar="MODEL", type=click.Path(path_type=Path))
        return model(table_options(memory_option(output(command))))

    return decorate


@click.command(cls=TableCommand)
@_of_a_model("labels.csv", "File for the groups of the rows (CSV).")
@json_option
@quiet_option
@friendly
def predict(model_file, source, memory, output, as_json, quiet):
    """Assign the rows of DATA to the groups of a MODEL file. Columns are matched by name, in any order."""
    import numpy as np

    from .._utils.atomic import atomic_file
    from .._utils.spreadsheets import write_csv
    from ..persistence import load
    from ..reports.words.summary import labels_table

    check_file(output)
    model = load(model_file)
    table, X, estimator = open_for(model, source, memory, from_selected=True)
    labels = labels_table(estimator, X, table.ids)
    with atomic_file(output) as file:
        write_csv(labels, file)
    n_clusters = len(getattr(estimator, "weights_", ()))
    sizes = np.bincount(labels["cluster"] - 1, minlength=n_clusters).tolist()  # files count groups from 1
    if as_json:
        click.echo(json.dumps({"rows": len(labels), "sizes": sizes, "file": str(output)}))
    elif not quiet:
        for note in table.notes:
            if "--missing" in note:
                click.echo(f"note: {note}", err=True)
        click.echo(f"{len(labels)} rows in groups of sizes {', '.join(map(str, sizes))}: {output}")


@click.command(cls=TableCommand)
@_of_a_model("report.html", "File for the page.")
@friendly
def report(model_file, source, memory, output):
    """Write the report page of a MODEL file and the table DATA."""
    from ..persistence import load
    from ..reports import report as write

    check_file(output)
    model = load(model_file)
    table, X, estimator = open_for(model, source, memory)
    write(estimator, X, output, ids=table.ids, labels=table.labels, notes=table.notes)
    click.echo(f"report: {output}")

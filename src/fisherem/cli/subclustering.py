"""The command that splits one group of a model file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .choices import GROUPS, TableCommand, names_at
from .common import InputError, friendly, quiet_warnings
from .data import open_for
from .folders import check_results, record_run
from .options import SEED, memory_option, result_options, table_options

__all__ = ["subcluster"]

# The file with the labels of all rows; the others are about the rows of the group.
_ALL_ROWS = "subgroups.csv"


@click.command(cls=TableCommand)
@click.argument("model_file", metavar="MODEL", type=click.Path(path_type=Path))
@table_options
@click.option("--group", required=True, metavar="GROUP", help="The group to split: its number from 1, or its name.")
@click.option("-k", "--clusters", type=GROUPS, default="auto", show_default=True,
              help="Number of subgroups; auto chooses it, and may find only one.")  # fmt: skip
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the starts.")
@click.option("--jobs", type=int, default=None, help="Cores to use (all by default).")
@memory_option
@result_options("Folder for the results.")
@friendly
def subcluster(model_file, source, group, clusters, seed, jobs, memory, output, force, as_json, quiet):
    """Split one group of a fitted model.

    MODEL must have been fitted to DATA. The variables are selected again on the rows of the group. subgroups.csv has
    the label of every row, such as 2.1 and 2.2; the other files and the page describe the rows of the group.
    """
    import pandas as pd

    from .._utils.atomic import atomic_file
    from .._utils.spreadsheets import write_csv
    from ..persistence import load
    from ..reports.writers import write_all

    quiet_warnings()
    names = (_ALL_ROWS, *names_at("reports.writers:WRITERS"))
    check_results(output, names, force=force, ask=not (quiet or as_json))
    model = load(model_file)
    table, X, estimator = open_for(model, source, memory)
    if not hasattr(estimator, "subcluster"):
        raise InputError(f"{model_file}: a fitted {type(estimator).__name__}, whose groups cannot be split")
    if not isinstance(X, pd.DataFrame) and not hasattr(X, "dtype"):
        raise InputError(f"{source.data}: subcluster needs the rows in memory: increase --memory")
    chosen = int(group) if group.isascii() and group.isdigit() else group
    found = estimator.subcluster(X, chosen, clusters, random_state=seed, n_jobs=jobs)
    everything = pd.DataFrame({"id": table.ids, "group": found.labels})
    inside, title = table.keep_rows(found.inside), f"Inside {_name_of(found)}"
    inside.notes.append(
        f"the page shows the {int(found.inside.sum()):,} of {len(everything):,} rows in {_name_of(found)}"
    )
    saved = None if table.covariates is None else found.model._with_covariates_of(model)
    write_all(
        output, found.fitted, found.model, inside, found.rows(X), annotate=source.annotate, title=title, saved=saved
    )
    with atomic_file(output / _ALL_ROWS) as file:
        write_csv(table.annotated(everything), file)
    record_run(output)
    sizes = everything["group"].value_counts(sort=False).sort_index().to_dict()
    if as_json:
        click.echo(json.dumps({"sizes": sizes, "split": len(found.names) > 1, "folder": str(output)}))
    elif not quiet:
        click.echo(str(found.summary()))
        click.echo(f"report: {output / 'report.html'}")


def _name_of(found) -> str:
    from ..estimators.naming import names_of_groups

    return names_of_groups(found.parent)[found.group]

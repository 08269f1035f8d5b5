"""The command that explains given groups."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .choices import TableCommand
from .common import InputError, friendly, quiet_warnings
from .data import open_data
from .folders import check_results, record_run
from .options import memory_option, result_options, table_options

__all__ = ["explain"]

# Maximum number of names in a line of the terminal.
_MOST = 12


@click.command(cls=TableCommand)
@table_options
@memory_option
@result_options("Folder for the tables, model.skops and report.html.")
@friendly
def explain(source, memory, output, force, as_json, quiet):
    """Find the variables that separate given groups.

    The groups are given by the column --label-column and may come from any source. Rows with -1 or an empty cell in it
    are left out.
    """
    from .._utils.atomic import output_folder
    from .._utils.spreadsheets import write_csv
    from ..estimators.outlying import outside
    from ..explaining import explain as run
    from ..persistence import save
    from ..reports.words.summary import variables_table

    quiet_warnings()
    if source.label_column is None:
        raise InputError("explain needs --label-column: the column with the group of each row")
    files = ("labels.csv", "variables.csv", "roles.csv", "markers.csv", "model.skops", "report.html")
    check_results(output, files, force=force, ask=not (quiet or as_json))
    table = open_data(source, memory, quiet=quiet)
    found = run(table.X, table.labels, table.weights, covariates=table.covariates)
    rows = found.table(table.X, table.ids, table.covariates)
    with output_folder(output) as new:
        write_csv(table.annotated(rows), new / "labels.csv")
        write_csv(table.described(variables_table(found.model, table.names)), new / "variables.csv")
        write_csv(found.roles, new / "roles.csv")
        write_csv(found.markers(table.X, covariates=table.covariates), new / "markers.csv")
        save(found.model, new / "model.skops")
        shown = table.annotation[list(source.annotate)] if source.annotate else None
        found.report(
            table.X, new / "report.html", ids=table.ids, notes=table.notes, annotate=shown, covariates=table.covariates
        )
    record_run(output)
    _show(found, int(outside(rows["tail_probability"]).sum()), output, as_json, quiet)


def _show(found, n_outside: int, output: Path, as_json: bool, quiet: bool) -> None:
    from .._utils.wording import listed
    from ..reports.words.summary import outside_words

    by_role = {role: list(frame["variable"]) for role, frame in found.roles.groupby("role")}
    if as_json:
        result = {
            "n_clusters": len(found.classes), "groups": found.classes, "gain": found.value,
            "agreement": found.agreement, "placed_elsewhere": int(found.placed_elsewhere.sum()),
            "outside": n_outside, "roles": by_role, "folder": str(output),
        }  # fmt: skip
        click.echo(json.dumps(result))
    elif not quiet:
        click.echo(f"{len(found.classes)} groups: {listed(found.classes, _MOST, quoted=False)}")
        for role, variables in sorted(by_role.items(), key=lambda item: item[0] != "selected"):
            click.echo(f"{len(variables)} {role}: {listed(variables, _MOST, quoted=False)}")
        moved, n = int(found.placed_elsewhere.sum()), int((found.labels >= 0).sum())
        elsewhere = f"{moved:,} of {n:,} rows ({moved / n:.1%})"
        click.echo(f"the selected variables would place {elsewhere} in another group")
        if said := outside_words(n_outside, len(found.labels)):
            click.echo(said)
        click.echo(f"gain over one group: {found.value:.1f} nats, with every row wholly in its given group")
        click.echo(f"report: {output / 'report.html'}")

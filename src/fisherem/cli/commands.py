"""The command line. Heavy imports happen inside the commands, so that --help is quick."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from .. import __version__
from .common import InputError, cluster_range, friendly, quiet_warnings
from .images import segment
from .reproduce import reproduce

__all__ = ["main"]

MODELS = ("DkBk", "DkB", "DBk", "DB", "AkjBk", "AkjB", "AkBk", "AkB", "AjBk", "AjB", "ABk", "AB")
METHODS = ("two-step", "regression", "svd", "dense")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fisherem")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug):
    """Cluster high-dimensional data and say which variables make the groups."""


main.add_command(segment)
main.add_command(reproduce)


def _table_options(command):
    for option in (
        click.argument("data", type=click.Path(path_type=Path)),
        click.option("--id-column", metavar="NAME", help="Column that names the rows."),
        click.option("--label-column", metavar="NAME", help="Column of known classes: for scoring only, never fitted."),
        click.option("--drop", metavar="NAME", multiple=True, help="Column to leave out (may be repeated)."),
    ):
        command = option(command)
    return command


def _fit_options(command):
    for option in (
        click.option("--scale/--no-scale", default=True, show_default=True, help="Standardise the columns first."),
        click.option("--method", type=click.Choice(METHODS), default="two-step", show_default=True),
        click.option("--n-init", type=click.IntRange(1), default=10, show_default=True, help="Starts."),
        click.option("--seed", type=int, default=0, show_default=True),
        click.option("--jobs", type=int, default=None, help="Cores to use (all by default)."),
        click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("out"), show_default=True),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
        click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors."),
    ):
        command = option(command)
    return command


# -- shared work ---------------------------------------------------------------------------------------------------


def _read(data, id_column, label_column, drop, scale):
    from sklearn.preprocessing import StandardScaler

    from ..tables.reading import read_table

    table = read_table(data, id_column=id_column, label_column=label_column, drop=drop)
    scaler = None
    X = table.X
    if scale:
        scaler = StandardScaler().set_output(transform="pandas").fit(X)
        X = scaler.transform(X)
        table.notes.append("columns were standardised to mean 0 and variance 1 (--no-scale to keep them as they are)")
    else:
        table.notes.append("columns were used as they are (--scale to standardise them)")
    return table, X, scaler


def _estimator(method, **parameters):
    from ..estimators import FisherEM, SparseFisherEM

    if method == "dense":
        parameters.pop("sparsity", None)
        return FisherEM(**parameters)
    return SparseFisherEM(method=method, **parameters)


def _scores(labels, model):
    if labels is None:
        return None
    from sklearn.metrics import adjusted_rand_score

    from ..model_selection.scoring import accuracy

    return {"accuracy": accuracy(labels, model.labels_), "ari": float(adjusted_rand_score(labels, model.labels_))}


def _write(folder, fitted, model, table, X, scaler, scores):
    """All files of a fit; returns the summary."""
    from sklearn.pipeline import make_pipeline

    from .._utils.atomic import output_folder
    from ..persistence import save
    from ..reports import report
    from ..reports.summary import criteria_table, labels_table, summary, variables_table

    with output_folder(folder) as new:
        labels_table(model, X, table.ids).to_csv(new / "labels.csv", index=False)
        variables_table(model, X.columns).to_csv(new / "variables.csv", index=False)
        criteria_table(model).to_csv(new / "criteria.csv", index=False)
        if fitted is not model:
            fitted.results_.to_csv(new / "results.csv", index=False)
        save(model if scaler is None else make_pipeline(scaler, model), new / "model.skops")
        report(fitted, X, new / "report.html", ids=table.ids, labels=table.labels, notes=table.notes)
    return summary(model, list(X.columns), folder, scores)


def _show(result: dict, notes, as_json: bool, quiet: bool) -> None:
    if as_json:
        click.echo(json.dumps(result))
        return
    if quiet:
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for note in notes:
        console.print(f"[dim]{note}[/dim]", markup=True)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("groups", f"{result['n_clusters']} of sizes {', '.join(map(str, result['sizes']))}")
    table.add_row("model", f"{result['model']}, {result['method']}, sparsity {result['sparsity']}")
    if result["model_choice"]:
        table.add_row("", result["model_choice"])
    shown = ", ".join(result["variables"][:12]) + (" ..." if len(result["variables"]) > 12 else "")
    table.add_row("variables", f"{len(result['variables'])} of {result['n_variables']}: {shown}", style=None)
    table.add_row("criteria", f"BIC {result['bic']:.1f}  ICL {result['icl']:.1f}  AIC {result['aic']:.1f}")
    ended = "converged" if result["converged"] else f"not converged ({result['stop_reason']})"
    table.add_row("iterations", f"{result['n_iter']}, {ended}")
    if result["scores"]:
        table.add_row(
            "known classes", f"accuracy {result['scores']['accuracy']:.3f}  ARI {result['scores']['ari']:.3f}"
        )
    console.print(table, markup=False)
    click.echo(f"report: {Path(result['folder']) / 'report.html'}")


# -- commands ------------------------------------------------------------------------------------------------------


@main.command()
@_table_options
@click.option("-k", "--clusters", type=click.IntRange(2), required=True, help="Number of groups.")
@click.option("--sparsity", type=click.FloatRange(0, 1, min_open=True), default=0.1, show_default=True,
              help="Share of the l1 norm; 1 is dense.")  # fmt: skip
@click.option("--model", type=click.Choice(("auto", *MODELS)), default="auto", show_default=True)
@_fit_options
@friendly
def fit(data, id_column, label_column, drop, clusters, sparsity, model, scale, method, n_init, seed, jobs, output,
        as_json, quiet):  # fmt: skip
    """Fit one model to the table DATA and write groups, variables, criteria, model file and report."""
    from .._utils.atomic import output_folder

    quiet_warnings()
    with output_folder(output):  # fail before the work if the folder cannot be written
        pass
    table, X, scaler = _read(data, id_column, label_column, drop, scale)
    one = _estimator(method, n_clusters=clusters, sparsity=sparsity, model=model, n_init=n_init, random_state=seed,
                     n_jobs=jobs).fit(X)  # fmt: skip
    result = _write(output, one, one, table, X, scaler, _scores(table.labels, one))
    _show(result, table.notes, as_json, quiet)


@main.command()
@_table_options
@click.option(
    "-k", "--clusters", callback=cluster_range, default="2:8", show_default=True, help="Numbers of groups to try."
)
@click.option("--models", default="all", show_default=True, help="Models to try, separated by commas.")
@click.option("--criterion", type=click.Choice(["bic", "icl", "aic"]), default="bic", show_default=True)
@click.option("--joint", is_flag=True, help="Follow the sparsity path of every model.")
@click.option("--checkpoint", type=click.Path(path_type=Path), help="Folder to keep finished fits in.")
@_fit_options
@friendly
def search(data, id_column, label_column, drop, clusters, models, criterion, joint, checkpoint, scale, method, n_init,
           seed, jobs, output, as_json, quiet):  # fmt: skip
    """Choose the number of groups, the model and the sparsity for the table DATA."""
    from .._utils.atomic import output_folder
    from ..model_selection.search import ModelSearch

    quiet_warnings()
    with output_folder(output):
        pass
    table, X, scaler = _read(data, id_column, label_column, drop, scale)
    found = ModelSearch(
        _estimator(method, n_init=n_init, random_state=seed),
        n_clusters=clusters, models="all" if models == "all" else models.split(","), criterion=criterion, joint=joint,
        n_jobs=jobs, checkpoint=checkpoint, progress=False if quiet or as_json else "auto",
    ).fit(X)  # fmt: skip
    best = found.best_estimator_
    result = _write(output, found, best, table, X, scaler, _scores(table.labels, best))
    _show(result, table.notes, as_json, quiet)


def _matched(model, table, where):
    """The table's columns in the model's order."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return table.X.to_numpy()
    missing = [str(n) for n in names if n not in table.X.columns]
    if missing:
        shown = ", ".join(map(repr, missing[:5])) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise InputError(f"{where}: the model needs columns that are not there: {shown}")
    return table.X[list(names)]


@main.command()
@click.argument("model_file", metavar="MODEL", type=click.Path(path_type=Path))
@_table_options
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("labels.csv"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-q", "--quiet", is_flag=True)
@friendly
def predict(model_file, data, id_column, label_column, drop, output, as_json, quiet):
    """Put the rows of DATA into the groups of a MODEL file. Columns are matched by name, in any order."""
    import numpy as np

    from .._utils.atomic import atomic_file
    from ..persistence import load
    from ..reports.summary import labels_table
    from ..tables.reading import read_table

    model = load(model_file)
    names = getattr(model, "feature_names_in_", None)
    table = read_table(data, id_column=id_column, label_column=label_column, drop=drop, only=names)
    labels = labels_table(model, _matched(model, table, data), table.ids)
    with atomic_file(output) as file:
        labels.to_csv(file, index=False)
    sizes = np.bincount(labels["cluster"] - 1).tolist()  # groups are counted from 1 in files
    if as_json:
        click.echo(json.dumps({"rows": len(labels), "sizes": sizes, "file": str(output)}))
    elif not quiet:
        click.echo(f"{len(labels)} rows in groups of {', '.join(map(str, sizes))}: {output}")


@main.command("report")
@click.argument("model_file", metavar="MODEL", type=click.Path(path_type=Path))
@_table_options
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True)
@friendly
def report_command(model_file, data, id_column, label_column, drop, output):
    """Write the report page of a MODEL file and the table DATA."""
    from ..persistence import load
    from ..reports import report
    from ..tables.reading import read_table

    model = load(model_file)
    table = read_table(data, id_column=id_column, label_column=label_column, drop=drop,
                       only=getattr(model, "feature_names_in_", None))  # fmt: skip
    X = _matched(model, table, data)
    if hasattr(model, "steps"):
        X = model[:-1].transform(X)
        table.notes.append("columns were standardised as in the model file")
        model = model[-1]
    report(model, X, output, ids=table.ids, labels=table.labels, notes=table.notes)
    click.echo(f"report: {output}")


@main.command()
@_table_options
@click.option("-k", "--clusters", type=click.IntRange(2), required=True, help="Number of groups.")
@click.option("--methods", default="all", show_default=True, help="Methods to compare, separated by commas.")
@click.option("--scale/--no-scale", default=True, show_default=True, help="Standardise the columns first.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File for the table (CSV).")
@friendly
def compare(data, id_column, label_column, drop, clusters, methods, scale, output):
    """Fit several methods to the table DATA and put their results side by side."""
    from ..model_selection.comparison import compare as run

    quiet_warnings()
    table, X, _ = _read(data, id_column, label_column, drop, scale)
    found = run(X, table.labels, "all" if methods == "all" else methods.split(","), clusters)
    click.echo(found.table.round(3).to_string(index=False, na_rep=""))
    if output is not None:
        found.table.to_csv(output, index=False)


@main.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("out"), show_default=True)
@friendly
def demo(output):
    """Cluster the built-in wines: prints the variables, writes a picture and the report."""
    from ..demo import run

    run(output)


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell):
    """Print the completion script of a SHELL: eval "$(fisherem completion bash)"."""
    from click.shell_completion import get_completion_class

    make = get_completion_class(shell)
    assert make is not None
    click.echo(make(main, {}, "fisherem", "_FISHEREM_COMPLETE").source())


if __name__ == "__main__":
    sys.exit(main())

"""The commands that use a model file: `predict` new rows, write the `report` again, test the variables."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .choices import TableCommand
from .common import InputError, StoppedError, friendly, quiet_warnings
from .data import open_for
from .folders import check_file
from .options import SEED, group_names_option, json_option, memory_option, output_option, quiet_option, table_options
from .results import sizes_in_words

__all__ = ["predict", "report", "significance"]

# Maximum number of variables listed in the terminal.
_MOST = 12


def _of_a_model(default: str, what: str):
    """The arguments of a command that reads a MODEL file and a table and writes one file."""

    def decorate(command):
        model = click.argument("model_file", metavar="MODEL", type=click.Path(path_type=Path))
        return model(table_options(memory_option(output_option(what, default)(command))))

    return decorate


@click.command(cls=TableCommand)
@_of_a_model("labels.csv", "File for the groups of the rows (CSV).")
@click.option("--noise-label", is_flag=True, help="Assign rows that lie outside all groups to cluster -1.")
@click.option("--contributions", type=click.Path(path_type=Path), metavar="FILE",
              help="Also write why each row is in its cluster (CSV): what every variable adds to the log-odds against "
              "the next most probable cluster, and the smallest change that would move the row.")  # fmt: skip
@group_names_option
@json_option
@quiet_option
@friendly
def predict(model_file, source, memory, output, noise_label, contributions, group_names, as_json, quiet):
    """Assign new rows to the groups of a fitted model.

    The columns of DATA are matched by name, in any order.
    """
    import numpy as np

    from .._utils.atomic import atomic_file
    from .._utils.spreadsheets import write_csv
    from ..estimators.naming import names_of_groups
    from ..estimators.outlying import outside, tells_outliers
    from ..persistence import load
    from ..reports.words.summary import contributions_table, labels_table, outside_words

    check_file(output)
    if contributions is not None:
        check_file(contributions)
        if contributions.resolve() == output.resolve():
            raise InputError(f"--contributions and -o both name {output}: give two files")
    model = load(model_file)
    table, X, estimator = open_for(model, source, memory, from_selected=True)
    _name(estimator, group_names)
    why = None if contributions is None else _why(estimator, X)
    tells = tells_outliers(estimator)
    if noise_label and not tells:
        raise InputError("--noise-label needs a Fisher-EM model or a mixture of factor models, and all of its columns")
    labels = labels_table(estimator, X, table.ids)
    far = outside(labels["tail_probability"]) if tells else np.zeros(len(labels), bool)
    if noise_label:
        labels.loc[far, "cluster"] = -1
        if "group" in labels:
            labels.loc[far, "group"] = ""
    with atomic_file(output) as file:
        write_csv(table.annotated(labels), file)
    if why is not None:
        with atomic_file(contributions) as file:
            write_csv(contributions_table(why, table.ids), file)
    n_clusters = len(getattr(estimator, "weights_", ()))
    inside = labels["cluster"][labels["cluster"] > 0]
    sizes = np.bincount(inside - 1, minlength=n_clusters).tolist()  # files count groups from 1
    if as_json:
        found = {"rows": len(labels), "sizes": sizes, "outside": int(far.sum()) if tells else None}
        click.echo(json.dumps(found | {"file": str(output)}))
    elif not quiet:
        for note in table.notes:
            if "--missing" in note:
                click.echo(f"note: {note}", err=True)
        called = names_of_groups(estimator) if hasattr(estimator, "group_names_") else None
        groups = f"groups of sizes {', '.join(map(str, sizes))}" if called is None else sizes_in_words(sizes, called)
        click.echo(f"{len(labels)} rows in {groups}: {output}")
        if said := outside_words(int(far.sum()), len(labels)):
            click.echo(said)


def _why(estimator, X):
    """The `Contributions` of the rows; an error for models that have none."""
    if not hasattr(estimator, "contributions"):
        raise InputError(
            f"--contributions needs a Fisher-EM model or a mixture of factor models; the file holds a fitted "
            f"{type(estimator).__name__}"
        )
    return estimator.contributions(X)


@click.command(cls=TableCommand)
@_of_a_model("report.html", "File for the page.")
@group_names_option
@click.option("--significance", "p_values", type=click.Path(path_type=Path), metavar="FILE",
              help="Output of `fisherem significance` for these rows (CSV): p- and q-values for the "
              "page.")  # fmt: skip
@click.option("--markers", type=click.Path(path_type=Path), metavar="FILE",
              help="Also write the markers of each group (CSV).")  # fmt: skip
@click.option("--palette", metavar="COLOURS", help="Colours of the groups, separated by commas, or the name of a "
              "matplotlib colormap.")  # fmt: skip
@click.option("--subgroups", metavar="GROUPS", help="Also split these groups, each by its own variables: numbers or "
              "names, separated by commas, or all.")  # fmt: skip
@friendly
def report(model_file, source, memory, output, group_names, p_values, markers, palette, subgroups):
    """Write the report page of a fitted model and a table."""
    from .._utils.atomic import atomic_file
    from .._utils.spreadsheets import write_csv
    from ..persistence import load
    from ..plots.style import colours_of
    from ..reports import report as write

    check_file(output)
    if markers is not None:
        check_file(markers)
        if markers.resolve() == output.resolve():
            raise InputError(f"--markers and -o both name {output}: give two files")
    colours = [one.strip() for one in palette.split(",")] if palette and "," in palette else palette
    if colours is not None:
        colours_of(colours, 1)  # fail early if they are invalid
    found = None if p_values is None else _p_values(p_values)
    model = load(model_file)
    table, X, estimator = open_for(model, source, memory)
    if hasattr(model, "encoding_"):  # the page counts the variables of the table
        estimator, X = model, table.X
    _name(estimator, group_names)
    shown = table.annotation[list(source.annotate)] if source.annotate else None
    about = {"notes": table.notes, "significance": found, "annotate": shown, "palette": colours}
    if subgroups is not None:
        about["subgroups"] = _split(estimator, X, subgroups)
    write(estimator, X, output, ids=table.ids, labels=table.labels, **about)
    if markers is not None:
        with atomic_file(markers) as file:
            write_csv(estimator.markers(X, significance=found), file)
    click.echo(f"report: {output}")


def _split(estimator, X, groups: str):
    """The splits of the groups named in `groups`."""
    if groups == "all":
        return groups
    if not hasattr(estimator, "subcluster"):
        raise InputError(f"--subgroups: the groups of a fitted {type(estimator).__name__} cannot be split")
    wanted = [one.strip() for one in groups.split(",")]
    return [estimator.subcluster(X, int(one) if one.isascii() and one.isdigit() else one) for one in wanted]


def _p_values(path: Path):
    """The frame in a file of `fisherem significance`."""
    import pandas as pd

    from .._utils.spreadsheets import unmarked

    try:
        found = pd.read_csv(path)
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a CSV file of fisherem significance ({error})") from None
    if not {"variable", "p", "q"} <= set(found):
        raise InputError(f"{path}: not a file of fisherem significance: it lacks the columns variable, p and q")
    found["variable"] = [unmarked(str(name)) for name in found["variable"]]
    return found


def _name(estimator, names) -> None:
    """Name the groups of a model as given by --group-names, if it is used."""
    if names is None:
        return
    if not hasattr(estimator, "name_groups"):
        raise InputError(
            f"--group-names needs a Fisher-EM model or a mixture of factor models; the file holds a fitted "
            f"{type(estimator).__name__}"
        )
    estimator.name_groups(names)


@click.command(cls=TableCommand)
@_of_a_model("significance.csv", "File for the p-values (CSV).")
@click.option("--draws", type=click.IntRange(1), default=99, show_default=True, help="Number of simulated tables.")
@click.option("--pairs", is_flag=True, help="Compare each pair of groups instead of all groups at once.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the tables and of their fits.")
@click.option("--jobs", type=int, default=None, help="Cores to use (all by default).")
@click.option("--checkpoint", type=click.Path(path_type=Path),
              help="File for finished draws (.npz), to resume after an interruption.")  # fmt: skip
@json_option
@quiet_option
@friendly
def significance(model_file, source, memory, output, draws, pairs, seed, jobs, checkpoint, as_json, quiet):
    """Test which variables differ between the groups.

    MODEL must have been fitted to DATA. The fit is repeated on simulated tables with one group, so that the
    p-values are valid although the groups were found in the same rows.
    """
    from .._utils.atomic import atomic_file
    from .._utils.spreadsheets import write_csv
    from ..persistence import load
    from ..search.significance import significance as run

    quiet_warnings()
    check_file(output)
    if checkpoint is not None:
        _check_checkpoint(checkpoint, output)
    model = load(model_file)
    table, rows, estimator = open_for(model, source, memory)
    X = table.X if hasattr(model, "feature_names_in_") else table.X.to_numpy()
    if table.covariates is not None:
        model, X = estimator, rows
    found = _resumable(
        run, model, X, draws, pairs=pairs, random_state=seed, n_jobs=jobs, checkpoint=checkpoint,
        progress=False if quiet or as_json else "auto",
    )  # fmt: skip
    with atomic_file(output) as file:
        write_csv(found, file)
    if as_json:
        click.echo(json.dumps({"draws": draws, "results": found.to_dict("records"), "file": str(output)}))
    elif not quiet:
        _show_significance(found, estimator, draws, output)


def _resumable(run, *arguments, checkpoint, **keywords):
    """The result of `run`; after Ctrl-C, an error that says how to resume."""
    try:
        return run(*arguments, checkpoint=checkpoint, **keywords)
    except KeyboardInterrupt:
        if checkpoint is None:
            raise StoppedError("interrupted: nothing was kept (--checkpoint FILE keeps finished draws)") from None
        raise StoppedError(
            f"interrupted: finished draws are in {checkpoint}, and the same command resumes from there"
        ) from None


def _check_checkpoint(checkpoint: Path, output: Path) -> None:
    """Fail early if the checkpoint cannot be written, or is an input or the output."""
    check_file(checkpoint)
    if checkpoint.resolve() == output.resolve():
        raise InputError(f"{checkpoint} is both --checkpoint and -o: give two files")


def _show_significance(found, estimator, draws: int, output: Path) -> None:
    from .._utils.wording import count, group_names_of

    small = found[found["q"] < 0.05].sort_values("p", kind="stable")
    tested = count(len(found), "difference" if "group" in found else "variable")
    said = f"q < 0.05 for {len(small)} of {tested}"
    if "group" not in found:
        said += f": {_q_values(small)}" if len(small) else ""
    else:  # groups are numbered from 1 in this frame
        known = getattr(estimator, "group_names_", None)
        called = group_names_of(known, int(found["other"].max()) if known is None else len(known))
        for (one, other), part in small.groupby(["group", "other"]):
            said += f"\n{called[one - 1]} and {called[other - 1]}: {_q_values(part)}"
    click.echo(f"{said}\n{count(draws, 'table')} of one group: {output}")


def _q_values(rows) -> str:
    from .._utils.wording import listed

    return listed([f"{row.variable} {row.q:.2g}" for row in rows.itertuples()], _MOST, quoted=False)

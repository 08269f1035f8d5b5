"""The commands that fit: `fit` one model, `search` among many."""

from __future__ import annotations

from pathlib import Path

import click

from .choices import GROUPS, SHARE, Model, NameList, Parsed, Registered, TableCommand, names_at
from .common import CLUSTER_RANGE, InputError, cluster_range, friendly, quiet_warnings
from .data import estimator_scale, less_covariates, open_data, scaled
from .folders import check_results
from .options import DENSE, fit_options, group_names_option, noise_option, table_options, transformation_option
from .results import finish

__all__ = ["fit", "search"]


stability_option = click.option(
    "--stability", "n_refits", type=click.IntRange(2), metavar="N",
    help="Refit to N random halves of the rows and report how often each row's group and each variable are found "
    "again; 20 is a good start.",
)  # fmt: skip


def _stability(model, table, X, n_refits: int | None, seed: int, jobs: int | None, silent: bool):
    """Stability of the fit on random halves of the rows; None if it was not requested."""
    if n_refits is None:
        return None
    if len(model.weights_) == 1:
        table.notes.append("--stability was skipped: there is only one group")
        return None
    from ..search.stability import stability

    return stability(
        model, X, n_subsamples=n_refits, fitted=model, random_state=seed, n_jobs=jobs,
        progress=False if silent else "auto",
    )  # fmt: skip


def _estimator(method: str, **parameters):
    from ..estimators import FisherEM, SparseFisherEM

    if method == DENSE:
        parameters.pop("sparsity", None)
        return FisherEM(**parameters)
    return SparseFisherEM(method=method, **parameters)


@click.command(cls=TableCommand)
@table_options
@click.option("-k", "--clusters", type=GROUPS, default="auto", show_default=True,
              help="Number of groups; auto chooses it first, like search.")  # fmt: skip
@click.option("--sparsity", type=SHARE, default="auto", show_default=True,
              help="auto selects the variables; a share of the l1 norm (1: dense) is used with --method.")  # fmt: skip
@click.option("--model", type=Model("model.dlm:MODELS", words=("auto",)), default="auto", show_default=True,
              help="Model; auto chooses among those with a noise variance common to all groups.")  # fmt: skip
@noise_option
@transformation_option
@stability_option
@group_names_option
@fit_options
@friendly
def fit(source, clusters, sparsity, model, noise_factors, transformation, n_refits, group_names, scale, method, n_init,
        seed, jobs, memory, output, force, as_json, quiet):  # fmt: skip
    """Cluster a table and select the variables.

    Writes groups, variables, criteria, a model file and a report page. Without -k, the number of groups is chosen
    first, as by `fisherem search`.
    """
    quiet_warnings()
    _check_names(group_names, clusters)
    check_results(output, names_at("reports.writers:WRITERS"), force=force, ask=not (quiet or as_json))
    table = open_data(source, memory, quiet=quiet, weighted=n_refits is None)
    X, scaler = scaled(table, scale, transformation)
    estimator = _estimator(method, sparsity=sparsity, model=model, noise_factors=noise_factors,
                           scale=estimator_scale(scale, scaler), transformation=transformation, n_init=n_init,
                           random_state=seed, n_jobs=jobs, memory=memory)  # fmt: skip
    if clusters == "auto":
        found = _number_chosen(estimator, table, X, jobs, quiet, as_json)
        best = found.best_estimator_
    else:
        found = estimator.set_params(n_clusters=clusters)
        found = best = found.fit(X, sample_weight=table.weights, covariates=table.covariates)
        best.name_groups(group_names)
    interrupted = found is not best and found.interrupted_
    saved = best
    found, best, X = less_covariates(found, table, X)
    sure = _stability(best, table, X, None if interrupted else n_refits, seed, jobs, quiet or as_json)
    finish(output, found, best, table, X, scaler, as_json, quiet, sure, source.annotate, saved)


def _check_names(names: list[str] | None, clusters) -> None:
    """Fail early if the number of names is not the number of groups."""
    if names is None:
        return
    from .._utils.wording import group_names_of

    if clusters == "auto":
        raise InputError("--group-names needs -k: the number of groups must be fixed before they are named")
    group_names_of(names, clusters)


def _number_chosen(estimator, table, X, jobs: int | None, quiet: bool, as_json: bool):
    """Search for the number of groups, after a note that says so."""
    from ..search.model_search import ModelSearch

    said = "no -k was given: the number of groups is chosen first, as `fisherem search` does (-k 3 fixes it)"
    table.notes.append(said)
    if not quiet:
        click.echo(f"note: {said}", err=True)
    return ModelSearch(estimator, n_jobs=jobs, progress=False if quiet or as_json else "auto").fit(
        X, sample_weight=table.weights, covariates=table.covariates
    )


@click.command(cls=TableCommand)
@table_options
@click.option("-k", "--clusters", type=Parsed("NUMBERS", cluster_range, CLUSTER_RANGE), default="auto",
              show_default=True,
              help="Numbers of groups to try, such as 2:8; "
              "auto tries more groups as long as the evidence supports them.")  # fmt: skip
@click.option("--criterion", type=Registered("model.criteria:CRITERIA", words=("auto", "verdict")), default="auto",
              show_default=True,
              help="verdict combines several rules and may find a single group or be undecided; a criterion compares "
              "models and sparsities, as in the paper. auto is verdict, or bic with --models or --joint.")  # fmt: skip
@click.option("--models", type=NameList("model.dlm:MODELS"), default=None,
              help="Models to compare by a criterion, separated by commas.")  # fmt: skip
@click.option("--joint", is_flag=True, help="Follow the sparsity path of every model.")
@click.option(
    "--checkpoint", type=click.Path(path_type=Path), help="Folder for finished fits, to resume an interrupted search."
)
@transformation_option
@stability_option
@fit_options
@friendly
def search(source, clusters, models, criterion, joint, checkpoint, transformation, n_refits, scale, method,
           n_init, seed, jobs, memory, output, force, as_json, quiet):  # fmt: skip
    """Find the number of groups, and how certain it is.

    Prints a verdict (clear, leaning or not decided) with its reasons, and writes the files of `fisherem fit` for that
    number of groups.
    """
    from ..search.model_search import ModelSearch

    quiet_warnings()
    check_results(output, names_at("reports.writers:WRITERS"), force=force, ask=not (quiet or as_json))
    table = open_data(source, memory, quiet=quiet, weighted=n_refits is None)
    X, scaler = scaled(table, scale, transformation)
    found = ModelSearch(
        _estimator(method, n_init=n_init, random_state=seed, memory=memory, transformation=transformation,
                   scale=estimator_scale(scale, scaler)),
        n_clusters=clusters, models=models, criterion=criterion, joint=joint, n_jobs=jobs,
        checkpoint=checkpoint, progress=False if quiet or as_json else "auto",
    ).fit(X, sample_weight=table.weights, covariates=table.covariates)  # fmt: skip
    saved = found.best_estimator_
    found, best, X = less_covariates(found, table, X)
    sure = _stability(best, table, X, None if found.interrupted_ else n_refits, seed, jobs, quiet or as_json)
    finish(output, found, best, table, X, scaler, as_json, quiet, sure, source.annotate, saved)

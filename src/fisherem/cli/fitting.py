"""The commands that fit: `fit` one model, `search` among many."""

from __future__ import annotations

from pathlib import Path

import click

from .choices import Groups, Model, NameList, Registered, Share, names_at
from .common import cluster_range, friendly, quiet_warnings
from .data import open_data, scaled
from .folders import check_results
from .options import DENSE, fit_options, noise_option, table_options, transformation_option
from .results import finish

__all__ = ["fit", "search"]


def _clusters(ctx, param, value):
    """Numbers of groups, or "auto"."""
    return value if value == "auto" else cluster_range(ctx, param, value)


stability_option = click.option(
    "--stability", "n_refits", type=click.IntRange(2), metavar="N",
    help="Fit N times more, to random halves of the rows, and say how often each row's group and each variable came "
    "back; 20 is a start.",
)  # fmt: skip


def _stability(model, table, X, n_refits: int | None, seed: int, jobs: int | None, silent: bool):
    """What comes back on other rows, with the number of groups of the fit; None where it was not asked for."""
    if n_refits is None:
        return None
    if len(model.weights_) == 1:
        table.notes.append("--stability was left out: a single group always comes back")
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


@click.command()
@table_options
@click.option("-k", "--clusters", type=Groups(), default="auto", show_default=True,
              help="Number of groups; auto chooses it first, as search does.")  # fmt: skip
@click.option("--sparsity", type=Share(), default="auto", show_default=True,
              help="auto chooses the variables; a share of the l1 norm uses --method, 1 is dense.")  # fmt: skip
@click.option("--model", type=Model("model.dlm:MODELS", words=("auto",)), default="auto", show_default=True,
              help="Model; auto chooses among those with a common noise.")  # fmt: skip
@noise_option
@transformation_option
@stability_option
@fit_options
@friendly
def fit(source, clusters, sparsity, model, noise_factors, transformation, n_refits, scale, method, n_init,
        seed, jobs, memory, output, force, as_json, quiet):  # fmt: skip
    """Fit one model to the table DATA and write groups, variables, criteria, model file and report.

    Without -k the number of groups is chosen first.
    """
    quiet_warnings()
    check_results(output, names_at("reports.writers:WRITERS"), force=force, ask=not (quiet or as_json))
    table = open_data(source, memory, quiet=quiet)
    X, scaler = scaled(table, scale)
    estimator = _estimator(method, sparsity=sparsity, model=model, noise_factors=noise_factors,
                           scale="auto" if scale is None else "none", transformation=transformation, n_init=n_init,
                           random_state=seed, n_jobs=jobs, memory=memory)  # fmt: skip
    if clusters == "auto":
        found = _number_chosen(estimator, table, X, jobs, quiet, as_json)
        best = found.best_estimator_
    else:
        found = best = estimator.set_params(n_clusters=clusters).fit(X)
    interrupted = found is not best and found.interrupted_
    sure = _stability(best, table, X, None if interrupted else n_refits, seed, jobs, quiet or as_json)
    finish(output, found, best, table, X, scaler, as_json, quiet, sure)


def _number_chosen(estimator, table, X, jobs: int | None, quiet: bool, as_json: bool):
    """The search for the number of groups that nobody has given, which is said before it begins."""
    from ..search.model_search import ModelSearch

    said = "no -k was given: the number of groups is chosen first, as `fisherem search` does (-k 3 fixes it)"
    table.notes.append(said)
    if not quiet:
        click.echo(f"note: {said}", err=True)
    return ModelSearch(estimator, n_jobs=jobs, progress=False if quiet or as_json else "auto").fit(X)


@click.command()
@table_options
@click.option("-k", "--clusters", callback=_clusters, default="auto", show_default=True,
              help="Numbers of groups to try, such as 2:8; auto goes on while the evidence asks for more.")  # fmt: skip
@click.option("--criterion", type=Registered("model.criteria:CRITERIA", words=("auto", "verdict")), default="auto",
              show_default=True,
              help="verdict weighs many rules, and may say one group or not decided; a criterion searches models and "
              "sparsities, as the paper does. auto is verdict, or bic with --models or --joint.")  # fmt: skip
@click.option("--models", type=NameList("model.dlm:MODELS"), default=None,
              help="Models to compare by a criterion, separated by commas.")  # fmt: skip
@click.option("--fewest", is_flag=True, help="Take the fewest variables that are nearly as good as the best list.")
@click.option("--joint", is_flag=True, help="Follow the sparsity path of every model.")
@click.option("--checkpoint", type=click.Path(path_type=Path), help="Folder to keep finished fits in.")
@transformation_option
@stability_option
@fit_options
@friendly
def search(source, clusters, models, criterion, fewest, joint, checkpoint, transformation, n_refits, scale, method,
           n_init, seed, jobs, memory, output, force, as_json, quiet):  # fmt: skip
    """Choose the number of groups for the table DATA, and say how sure that is."""
    from ..search.model_search import ModelSearch

    quiet_warnings()
    check_results(output, names_at("reports.writers:WRITERS"), force=force, ask=not (quiet or as_json))
    table = open_data(source, memory, quiet=quiet)
    X, scaler = scaled(table, scale)
    found = ModelSearch(
        _estimator(method, n_init=n_init, random_state=seed, memory=memory, transformation=transformation,
                   scale="auto" if scale is None else "none"),
        n_clusters=clusters, models=models, criterion=criterion, joint=joint, fewest_variables=fewest, n_jobs=jobs,
        checkpoint=checkpoint, progress=False if quiet or as_json else "auto",
    ).fit(X)  # fmt: skip
    best = found.best_estimator_
    # an interrupted search writes what it has, and no more
    sure = _stability(best, table, X, None if found.interrupted_ else n_refits, seed, jobs, quiet or as_json)
    finish(output, found, best, table, X, scaler, as_json, quiet, sure)

"""What comes out of a command: files in a folder, a summary in the terminal or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click

from .common import StoppedError

__all__ = ["check_file", "check_folder", "finish", "print_summary", "scores_of"]

# Variables that the terminal lists: two or three lines of names.
_MOST_VARIABLES = 12


def check_folder(folder: Path, names: Iterable[str] = ()) -> None:
    """Fail before the work if the folder, or one of the files in it that are to be written, cannot be written to."""
    from .._utils.atomic import check_targets, output_folder

    with output_folder(folder):
        check_targets(folder, names)


def check_file(path: Path) -> None:
    """Fail before the work if a file cannot be written: its folder is made, and what stands there must be a file."""
    check_folder(path.parent, [path.name])


def finish(folder: Path, fitted, model, table, X, scaler, as_json: bool, quiet: bool) -> None:
    """Write all files of a fit and print its summary. `fitted` is the estimator or the search, `model` the best fit."""
    from ..reports.summary import summary
    from ..reports.writers import write_all

    write_all(folder, fitted, model, table, X, scaler)
    result = summary(model, table.names, folder, scores_of(table.labels, model))
    verdict = None if fitted is model else getattr(fitted, "verdict_", None)
    if verdict is not None:
        result["verdict"] = {
            "n_clusters": verdict.n_clusters, "degree": verdict.degree, "runners_up": list(verdict.runners_up),
            "text": verdict.text,
        }  # fmt: skip
    result["interrupted"] = bool(getattr(fitted, "interrupted_", False)) if fitted is not model else False
    if as_json:
        click.echo(json.dumps(result))
    elif not quiet:
        print_summary(result, table.notes)
    if result["interrupted"]:
        raise StoppedError(f"interrupted: the files in {folder} rest on the fits that were done")


def scores_of(labels, model) -> dict[str, float] | None:
    """Accuracy and adjusted Rand index against known classes (n), if there are any; rows without one do not count."""
    if labels is None:
        return None
    import numpy as np
    import pandas as pd
    from sklearn.metrics import adjusted_rand_score

    from ..model_selection.scoring import accuracy

    known = np.asarray(pd.notna(labels))
    if not known.any():
        return None
    truth, found = np.asarray(labels, object)[known].astype(str), model.labels_[known]
    return {"accuracy": accuracy(truth, found), "ari": float(adjusted_rand_score(truth, found))}


def print_summary(result: dict, notes: list[str]) -> None:
    """The summary of a fit as a small table, after the notes on how the data were read."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for note in notes:
        console.print(note, style="dim", markup=False)
    if "verdict" in result:
        first, *rest = result["verdict"]["text"].splitlines()
        console.print(first, style="bold", markup=False)
        for line in rest:
            console.print(f"  {line}", markup=False)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, text in _lines(result):
        table.add_row(name, text)
    console.print(table, markup=False)
    click.echo(f"report: {Path(result['folder']) / 'report.html'}")


def _share(sparsity) -> str:
    """ "auto", "0.000784", or one per axis."""
    if isinstance(sparsity, list):
        return ", ".join(map(_share, sparsity))
    return sparsity if isinstance(sparsity, str) else f"{sparsity:.3g}"


def _roles(counts: dict[str, int]) -> str:
    """ "5 selected, 8 redundant, 260 noise (roles.csv says which and why)"."""
    return ", ".join(f"{count} {role}" for role, count in counts.items() if count) + " (roles.csv says which and why)"


def _lines(result: dict) -> list[tuple[str, str]]:
    from rich.markup import escape

    from .._utils.wording import listed
    from ..model.criteria import CRITERIA

    variables = listed(result["variables"], _MOST_VARIABLES, quoted=False)
    criteria = [f"{c.label} {result[name]:.1f}" for name, c in CRITERIA.items() if result.get(name) is not None]
    ended = "converged" if result["converged"] else f"not converged ({result['stop_reason']})"
    lines = [
        ("groups", f"{result['n_clusters']} of sizes {', '.join(map(str, result['sizes']))}"),
        *([("search", "interrupted: the choice rests on the fits that were done")] if result["interrupted"] else []),
        ("model", f"{result['model']}, {result['method']}, sparsity {_share(result['sparsity'])}"),
        *([("", result["model_choice"])] if result["model_choice"] else []),
        ("noise", result["noise_choice"]),
        *([("scaling", result["scale_choice"])] if result["scale_choice"] else []),
        ("variables", f"{len(result['variables'])} of {result['n_variables']}: {variables}"),
        *([("roles", _roles(result["roles"]))] if result["roles"] else []),
        ("criteria", "  ".join(criteria)),
        ("iterations", f"{result['n_iter']}, {ended}"),
    ]
    if result["scores"]:
        scores = result["scores"]
        lines.append(("known classes", f"accuracy {scores['accuracy']:.3f}  ARI {scores['ari']:.3f}"))
    return [(name, escape(text)) for name, text in lines]

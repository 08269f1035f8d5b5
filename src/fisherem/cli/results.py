"""The output of a command: files in a folder, a summary in the terminal or as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .._utils.wording import listed
from .common import StoppedError
from .folders import record_run

__all__ = ["finish", "print_summary", "scores_of", "sizes_in_words", "verdict_record"]

# Maximum number of variables listed in the terminal: two or three lines of names.
_MOST_VARIABLES = 12
# Maximum number of rows listed: those that are assigned to their group least often.
_MOST_SHAKY = 8


def finish(
    folder: Path, fitted, model, table, X, scaler, as_json: bool, quiet: bool, stability=None, annotate=(), saved=None
) -> None:
    """Write all files of a fit and print its summary. `fitted` is the estimator or the search, `model` the best fit.

    With covariates, X are the rows without their effects and `saved` is the model to write to the model file.
    """
    from ..estimators.outlying import outside
    from ..reports.content.stability import stability_record
    from ..reports.words.summary import summary
    from ..reports.writers import write_all

    write_all(folder, fitted, model, table, X, scaler, stability, annotate, saved=saved)
    record_run(folder)
    result = summary(model, table.names, folder, scores_of(table.labels, model), scaler is not None)
    result |= {} if fitted is model else verdict_record(fitted)
    result["certainty"] = _certainty(model, X)
    result["outside"] = int(outside(model.outlyingness(X)).sum())
    result["n_rows"] = X.shape[0]
    result["stability"] = None if stability is None else stability_record(stability, table.ids)
    result["interrupted"] = bool(getattr(fitted, "interrupted_", False)) if fitted is not model else False
    if as_json:
        click.echo(json.dumps(result))
    elif not quiet:
        print_summary(result, table.notes)
    if result["interrupted"]:
        raise StoppedError(f"interrupted: the files in {folder} are based on the completed fits")


def verdict_record(search) -> dict[str, dict]:
    """{"verdict": ...} of a search as plain values; empty if a criterion made the choice."""
    verdict = getattr(search, "verdict_", None)
    if verdict is None:
        return {}
    return {"verdict": {
        "n_clusters": verdict.n_clusters, "confidence": verdict.confidence, "runners_up": list(verdict.runners_up),
        "text": verdict.text,
    }}  # fmt: skip


def _certainty(model, X) -> dict:
    """Whether the posteriors tell how certain the groups of the rows are ("saturated" if not), and why."""
    import numpy as np

    from ..reports.words.certainty import certainty

    mean = float(np.asarray(model.predict_proba(X)).max(axis=1).mean())
    found = certainty(mean, len(model.weights_), *X.shape)
    return {"mean_posterior": found.mean, "saturated": found.saturated, "text": found.text}


def scores_of(labels, model) -> dict[str, float] | None:
    """Accuracy and adjusted Rand index against known classes (n), without rows of unknown class; None if all are."""
    if labels is None:
        return None
    import numpy as np
    import pandas as pd
    from sklearn.metrics import adjusted_rand_score

    from ..search.scoring import accuracy

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
    """ "5 selected, 8 redundant, 260 no evidence (roles.csv says which and why)"."""
    return ", ".join(f"{count} {role}" for role, count in counts.items() if count) + " (roles.csv says which and why)"


def _how_sure(result: dict) -> list[tuple[str, str]]:
    """How reproducible groups and variables are on other rows, or a note that posteriors do not tell."""
    from .._utils.wording import count

    found = result["stability"]
    if found is None:
        if not result["certainty"]["saturated"]:
            return []
        remedy = "Use --stability 20 to check which groups and variables are found again on other rows."
        return [("how sure", f"{result['certainty']['text']} {remedy}")]
    refits = f"{count(found['n_refits'], 'refit')} on {found['fraction']:.0%} of the rows"
    again = f"assigned to their group again in {found['rows']:.0%} of {refits}"
    rows = f"{again} (adjusted Rand index {found['agreement']:.2f})"
    if found["n_shaky"]:
        names = listed(found["shaky_rows"], _MOST_SHAKY, quoted=False)
        rows += f"; {found['n_shaky']} in fewer than {found['threshold']:.0%}: {names}"
    lines = [("rows", rows)]
    if len(found["variables"]) < result["n_variables"]:
        shares = sorted(found["variables"].items(), key=lambda item: -item[1])
        texts = [f"{name} {share:.0%}" for name, share in shares]
        lines.append(("selected again", listed(texts, _MOST_VARIABLES, quoted=False)))
    return lines


def sizes_in_words(sizes: list[int], names: list[str]) -> str:
    """ "3 of sizes 59, 71, 48", or with the names of the groups if they were given."""
    from .._utils.wording import group_names_of

    if names == group_names_of(None, len(names)):
        return f"{len(sizes)} of sizes {', '.join(map(str, sizes))}"
    return ", ".join(f"{name} with {size}" for name, size in zip(names, sizes, strict=True))


def _lines(result: dict) -> list[tuple[str, str]]:
    from rich.markup import escape

    from ..model.criteria import CRITERIA
    from ..reports.words.summary import outside_words

    variables = listed(result["variables"], _MOST_VARIABLES, quoted=False)
    criteria = [f"{c.label} {result[name]:.1f}" for name, c in CRITERIA.items() if result.get(name) is not None]
    ended = "converged" if result["converged"] else f"not converged ({result['stop_reason']})"
    lines = [
        ("groups", sizes_in_words(result["sizes"], result["group_names"])),
        *([("search", "interrupted: the choice is based on the completed fits")] if result["interrupted"] else []),
        ("model", f"{result['model']}, {result['method']}, sparsity {_share(result['sparsity'])}"),
        *([("", result["model_choice"])] if result["model_choice"] else []),
        ("noise", result["noise_choice"]),
        *([("scaling", result["scale_choice"])] if result["scale_choice"] else []),
        *([("covariates", result["covariates"])] if result["covariates"] else []),
        ("variables", f"{len(result['variables'])} of {result['n_variables']}: {variables}"),
        *([("roles", _roles(result["roles"]))] if result["roles"] else []),
        ("criteria", "  ".join(criteria)),
        ("iterations", f"{result['n_iter']}, {ended}"),
    ]
    lines += _how_sure(result)
    if said := outside_words(result["outside"], result["n_rows"]):
        lines.append(("outside", said))
    if result["scores"]:
        scores = result["scores"]
        lines.append(("known classes", f"accuracy {scores['accuracy']:.3f}  ARI {scores['ari']:.3f}"))
    return [(name, escape(text)) for name, text in lines]

"""A demonstration on built-in data: cluster Italian wines and select the measurements that define the groups."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

__all__ = ["main", "run"]


def run(folder: Path) -> Path:
    """Fit the wines, print what was found and write the picture and the report to `folder`; returns the page's path."""
    import matplotlib

    matplotlib.use("Agg")
    from . import datasets
    from .estimators import SparseFisherEM
    from .plots import ProjectionDisplay
    from .reports import report

    X, _ = datasets.load("wine", as_frame=True)
    X = (X - X.mean()) / X.std()
    model = SparseFisherEM(3, random_state=0).fit(X)
    _show(model, X.columns)
    path = folder / "demo-subspace.png"
    folder.mkdir(parents=True, exist_ok=True)
    display = ProjectionDisplay.from_estimator(model, X).plot()
    display.ax_.set_title("Three groups of wines in the plane that separates them")
    display.ax_.figure.savefig(path, dpi=120)
    page = report(
        model,
        X,
        folder / "report.html",
        title="178 Italian wines",
        notes=["columns were standardised to mean 0, variance 1"],
    )
    print(f"\nPicture: {path}\nReport : {page}")
    return page


def _show(model, names) -> None:
    """Print what was found: the groups, the model, the criteria, and the variables with their loadings and means."""
    from ._utils.wording import group_name
    from .model.criteria import CRITERIA
    from .reports.content.criteria import criterion_values
    from .reports.words.summary import model_words

    sizes = ", ".join(f"{group_name(k)} with {size}" for k, size in enumerate(np.bincount(model.labels_)))
    criteria = "   ".join(f"{CRITERIA[name].label} {value:.1f}" for name, value in criterion_values(model).items())
    print("178 Italian wines, 13 measurements (standardised). The fit is not told which cultivar a wine is.\n")
    print(f"Groups    : {sizes} wines")
    print(f"Model     : {model.model_}, {model_words(model)}")
    print(f"Converged : {'yes' if model.converged_ else 'no'}, {model.n_iter_} iterations ({model.stop_reason_})")
    print(f"Criteria  : {criteria}   (larger is better)")
    order = f"means of {group_name(0)} to {group_name(len(model.means_) - 1)}, in standard deviations"
    print(f"\nVariables that make the groups: {model.support_.sum()} of {len(model.support_)} ({order})")
    for j in np.flatnonzero(model.support_):
        loadings = "  ".join(f"{v:+.3f}" for v in model.loadings_[j])
        means = "  ".join(f"{v:+.2f}" for v in model.group_means_[:, j])
        print(f"  {names[j]:<30} loadings {loadings}   means {means}")
    redundant = list(model.roles_["variable"][model.roles_["role"] == "redundant"])
    if redundant:
        print(f"Redundant given these {model.support_.sum()}: {', '.join(redundant)}")


def main() -> None:
    """The command line of `python -m fisherem.demo`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("out"), help="folder for the picture and the report")
    run(parser.parse_args().output)


if __name__ == "__main__":
    main()

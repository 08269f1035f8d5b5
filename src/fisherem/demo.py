"""The main job on built-in data: cluster the Italian wines and say which measurements make the groups."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

__all__ = ["main", "run"]


def run(folder: Path) -> Path:
    """Fit, print, write the picture and the report; returns the report's path."""
    import matplotlib

    matplotlib.use("Agg")
    from . import datasets
    from .estimators import SparseFisherEM
    from .plots import ProjectionDisplay
    from .reports import report
    from .reports.summary import model_words

    X, _ = datasets.load("wine", as_frame=True)
    X = (X - X.mean()) / X.std()
    model = SparseFisherEM(3, sparsity=0.2, random_state=0).fit(X)
    print("178 Italian wines, 13 measurements (standardised); nobody says which cultivar a wine is.\n")
    print(f"Groups    : {len(model.weights_)} with {', '.join(map(str, np.bincount(model.labels_)))} wines")
    print(f"Model     : {model.model_}, {model_words(model)}")
    print(f"Converged : {model.converged_} after {model.n_iter_} iterations ({model.stop_reason_})")
    print(f"Criteria  : BIC {model.bic_:.1f}   ICL {model.icl_:.1f}   AIC {model.aic_:.1f}   (larger is better)")
    print(f"\nVariables that make the groups: {model.support_.sum()} of {len(model.support_)}")
    for j in np.flatnonzero(model.support_):
        loadings = "  ".join(f"{v:+.3f}" for v in model.loadings_[j])
        means = "  ".join(f"{v:+.2f}" for v in model.means_[:, j])
        print(f"  {X.columns[j]:<30} loadings {loadings}   group means {means}")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("out"), help="folder for the picture and the report")
    run(parser.parse_args().output)


if __name__ == "__main__":
    main()

"""The paper's figures on real data, as PNG: means and selections of usps358, projections, criterion paths."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .._utils.atomic import atomic_file
from ..estimators import SparseFisherEM
from ..plots.projection import ProjectionDisplay
from ..plots.search import PathDisplay
from ..plots.selection import SelectionDisplay
from ..search.model_search import ModelSearch
from ..search.scoring import best_matching, contingency
from .jobs import Job
from .paper import DATA, SPARSE
from .plan import DEFAULT, ExperimentPlan, rivals, selecting
from .protocols import prepared
from .table3 import available, default_job, fixed_job, rival_job

__all__ = ["draw", "jobs"]

_DIGITS = "usps358"
_PIXELS = (16, 16)
_SHOWN = ("iris", "wine", _DIGITS)
# The most flexible model with a common noise. With one noise per group all variables affect the posteriors, whatever
# the path selects.
_PATH_MODEL = "DkB"


def jobs(plan: ExperimentPlan) -> list[Job]:
    """The jobs of Table 3 that the figures use: groups and selections on usps358."""
    if available(plan).get(_DIGITS, "not in this plan"):
        return []
    return [
        *(rival_job(plan, _DIGITS, method) for method in rivals()),
        *(fixed_job(plan, _DIGITS, method) for method in SPARSE),
        default_job(plan, _DIGITS, DEFAULT),
    ]


def draw(plan: ExperimentPlan, records: dict[Job, dict], folder: Path, bar) -> dict[str, str]:
    """Write the pictures to the folder; returns file name -> caption."""
    import matplotlib

    matplotlib.use("Agg")
    tasks: list[tuple[str, str, Callable]] = []
    names = [name for name, reason in available(plan).items() if not reason and name in _SHOWN]
    for name in names:
        tasks.append(
            (
                f"projection-{name}.png",
                f"{name} in its discriminative subspace, coloured by group; crosses are rows whose group does not "
                "match their known class.",
                _projection(plan, name),
            )
        )
        what = (
            f"{name}: the criteria and the loadings along the sparsity path (two-step, model {_PATH_MODEL}). With the "
            "means inside the axes the two criteria are the same."
        )
        tasks.append((f"path-{name}.png", what, _path(plan, name)))
    if _DIGITS in names:
        tasks += [
            (
                "usps358-means.png",
                "Means of the digits 3, 5 and 8 by the true labels, and by the groups of each method (matched with the "
                "digits; in brackets the accuracy).",
                _means(plan, records),
            ),
            (
                "usps358-selections.png",
                "Pixels that each method selects on usps358: the lighter, the more weight; in brackets their number. "
                "The sparse versions have a share of 0.1.",
                _selections(plan, records),
            ),
        ]
    bar.add(len(tasks))
    captions = {}
    for file, caption, make in tasks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            figure = make()
        if figure is not None:
            _save(figure, folder / file)
            captions[file] = caption
        bar.step(file)
    return captions


def _save(figure, path: Path) -> None:
    import matplotlib.pyplot as plt

    with atomic_file(path) as file:
        figure.savefig(file, dpi=90, format="png")
    plt.close(figure)


def _matched(labels: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The class matched with each row's group, as in the accuracy; -1 for a group without one."""
    classes, index = np.unique(y, return_inverse=True)
    table = dict(zip(*best_matching(contingency(labels, index)), strict=True))
    return np.array([classes[table[k]] if k in table else -1 for k in labels])


def _projection(plan: ExperimentPlan, name: str):
    def make():
        X, y = prepared(name, as_frame=True)
        model = SparseFisherEM(DATA[name].n_clusters, random_state=plan.seed).fit(X)
        display = ProjectionDisplay.from_estimator(model, X).plot()
        wrong = _matched(model.labels_, y) != y
        at = model.transform(X[wrong])
        if at.shape[1] > 1:
            display.ax_.scatter(at[:, 0], at[:, 1], marker="x", s=26, c="black", lw=0.9)
        display.ax_.set_title(f"{name}: {model.support_.sum()} of {X.shape[1]} variables")
        return display.ax_.figure

    return make


def _path(plan: ExperimentPlan, name: str):
    def make():
        X, _ = prepared(name, as_frame=True)
        search = ModelSearch(
            SparseFisherEM(random_state=plan.seed), n_clusters=[DATA[name].n_clusters], models=[_PATH_MODEL],
            axis_weights=None, n_jobs=1, progress=False,
        ).fit(X)  # fmt: skip
        display = PathDisplay.from_search(search).plot()
        return display.axes_[0].figure

    return make


def _means(plan: ExperimentPlan, records: dict[Job, dict]):
    def make():
        import matplotlib.pyplot as plt

        X, y = prepared(_DIGITS)
        shown = {"true labels": y}
        for job in jobs(plan):
            record = records.get(job, {})
            if "labels" in record:
                name = f"{job.arguments[1]}\n({record['accuracy']:.3f})"
                shown[name] = _matched(np.array(record["labels"]), y)
        figure, axes = plt.subplots(
            3, len(shown), figsize=(1.35 * len(shown), 4.4), layout="constrained", squeeze=False
        )
        for column, (name, labels) in zip(axes.T, shown.items(), strict=True):
            column[0].set_title(name, fontsize=8)
            for ax, c in zip(column, np.unique(y), strict=True):
                ax.set_axis_off()
                if (labels == c).any():
                    ax.imshow(X[labels == c].mean(axis=0).reshape(_PIXELS), cmap="gray_r")
        return figure

    return make


def _selections(plan: ExperimentPlan, records: dict[Job, dict]):
    def make():
        chosen = {job.arguments[1]: records.get(job, {}).get("importance") for job in jobs(plan)}
        chosen = {method: v for method, v in chosen.items() if v is not None and method in selecting()}
        if not chosen:
            return None
        display = SelectionDisplay(np.array(list(chosen.values())), list(chosen), [], _PIXELS).plot()
        return np.ravel(display.ax_)[0].figure

    return make

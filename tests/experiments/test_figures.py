"""The figures of usps358: which methods they show, and what of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fisherem.experiments import figures
from fisherem.experiments.plan import QUICK

PLAN = replace(QUICK, data=("usps358",))


class Bar:
    def add(self, count):
        pass

    def step(self, note):
        pass


@pytest.fixture
def digits(monkeypatch, tmp_path):
    """The table usps358 has three classes of 16 x 16 pixels: each has its own bright row."""
    y = np.repeat([1, 2, 3], 20)
    X = np.random.default_rng(0).normal(size=(60, 256))
    for c in (1, 2, 3):
        X[y == c, 16 * c : 16 * c + 16] += 5
    (tmp_path / "tables").mkdir()
    pd.DataFrame(X).assign(digit=y).to_csv(tmp_path / "tables" / "usps358.csv.gz", index=False)
    monkeypatch.setenv("FISHEREM_DATA", str(tmp_path))
    return X, y


def test_group_means_of_every_method_that_has_groups(digits):
    X, y = digits
    jobs = figures.jobs(PLAN)
    assert [job.arguments[1] for job in jobs] == [
        "k-means", "sparse k-means", "Clustvarsel", "Selvarclust", "sparseFEM-1", "sparseFEM-2", "sparseFEM-3",
        "fisherem default",
    ]  # fmt: skip
    swapped = [{1: 2, 2: 0, 3: 1}[c] for c in y]  # groups carry other numbers than classes
    records = {job: {"labels": swapped, "accuracy": 1.0} for job in jobs if job.arguments[1] != "Clustvarsel"}
    figure = figures._means(PLAN, records)()
    axes = np.array(figure.axes).reshape(3, 8)
    titles = [ax.get_title().split("\n")[0] for ax in axes[0]]
    assert titles == ["true labels", *(j.arguments[1] for j in jobs if j.arguments[1] != "Clustvarsel")]
    for row, c in zip(axes, (1, 2, 3), strict=True):
        for ax in row:  # matched with the classes: all show the same digit
            np.testing.assert_allclose(ax.images[0].get_array(), X[y == c].mean(axis=0).reshape(16, 16))


def test_selections_leave_out_what_does_not_select(digits):
    records = {job: {"importance": [1.0] * 256} for job in figures.jobs(PLAN)[:4]}
    titles = [ax.get_title() for ax in figures._selections(PLAN, records)().axes if ax.get_title()]
    assert [title.split(" (")[0] for title in titles] == ["sparse k-means", "Clustvarsel", "Selvarclust"]
    assert figures._selections(PLAN, {})() is None


def test_a_method_that_failed_leaves_no_column(digits, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "_projection", lambda plan, name: lambda: None)
    monkeypatch.setattr(figures, "_path", lambda plan, name: lambda: None)
    captions = figures.draw(PLAN, {job: {"failed": "not finished"} for job in figures.jobs(PLAN)}, tmp_path, Bar())
    assert list(captions) == ["usps358-means.png"]
    assert (tmp_path / "usps358-means.png").stat().st_size > 1000

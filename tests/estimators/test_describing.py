"""summary() and plot(): a fit in a few lines and in a picture."""

import matplotlib

matplotlib.use("Agg")

import warnings
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fisherem import FisherEM, ModelSearch, SparseFisherEM, datasets
from fisherem.estimators.describing import Summary, warnings_of
from fisherem.plots import CriterionDisplay, ProjectionDisplay, VerdictDisplay


@pytest.fixture(scope="module")
def wine():
    X, _ = datasets.load("wine", as_frame=True)
    return (X - X.mean()) / X.std()


@pytest.fixture(scope="module")
def model(wine):
    return SparseFisherEM(3, random_state=0).fit(wine)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_groups_sizes_and_variables(model, wine):
    said = str(model.summary())
    m = int(model.support_.sum())
    assert said.splitlines()[0] == f"SparseFisherEM: 3 groups of 178 rows, made by {m} of 13 variables"
    for k, size in enumerate(np.bincount(model.labels_)):
        assert f"group {k + 1} with {size} rows" in said
    named = said.split(f"{m} of 13: ")[1].splitlines()[0].split(", ")
    assert set(named) == set(wine.columns[model.support_])
    sizes = np.linalg.norm(model.loadings_, axis=1)[[wine.columns.get_loc(name) for name in named]]
    assert (np.diff(sizes) <= 0).all()
    assert repr(model.summary()) == said
    assert not model.summary().warnings
    assert len(said.splitlines()) <= 8
    assert "all 13" in str(FisherEM(3, n_init=1, random_state=0).fit(wine).summary())
    with pytest.raises(NotFittedError):
        SparseFisherEM().summary()


class Texts(HTMLParser):
    """The texts of a page, and whether its tags are closed."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.open = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_html_says_the_same_and_is_safe(model):
    summary = model.summary()
    page = Texts(summary._repr_html_())
    assert not page.open
    assert page.texts == [summary.title, *(text for line in summary.lines for text in line)]
    odd = Summary("<b>", [("a", "x < y & z")], ["<script>"])._repr_html_()
    assert "&lt;script&gt;" in odd
    assert "x &lt; y &amp; z" in odd


def test_what_to_keep_in_mind(wine):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        short = FisherEM(3, max_iter=1, n_init=1, random_state=0).fit(wine)
    assert short.summary().warnings == ["not converged after 1 iteration (max_iter)"]
    X = np.random.default_rng(0).normal(size=(12, 30))
    X[:6, :3] += 8
    wide = FisherEM(2, n_init=1, random_state=0).fit(X)
    assert any("fewer rows (12) than variables (30)" in text for text in wide.summary().warnings)
    assert "  ! fewer rows" in str(wide.summary())
    wide.weights_ = np.array([0.5, 0.5, 0.0])
    assert any("group 3 has no rows: try fewer groups" in text for text in warnings_of(wide))


def test_plot_draws_the_plane_with_and_without_rows(model, wine):
    with_rows = model.plot(wine)
    assert isinstance(with_rows, ProjectionDisplay)
    np.testing.assert_array_equal(with_rows.labels, model.labels_)
    bare = model.plot()
    assert bare.points.shape == (0, 2)
    np.testing.assert_array_equal(bare.sizes, np.bincount(model.labels_))
    legend = [text.get_text() for text in bare.ax_.get_legend().get_texts()]
    assert legend == [f"group {k + 1} ({size})" for k, size in enumerate(bare.sizes)]
    _, ax = plt.subplots()
    assert model.plot(wine, axes=(1, 0), ax=ax).ax_ is ax
    two = FisherEM(2, n_init=1, random_state=0).fit(wine)
    assert two.plot().points.shape == (0, 1)
    assert len(two.plot(wine).ax_.lines) == 2  # the spans of 95% under the strips


def test_a_search_says_its_verdict(wine):
    pipe = make_pipeline(StandardScaler(), SparseFisherEM(n_init=1, random_state=0))
    rows = wine.iloc[::2]
    search = ModelSearch(pipe, n_clusters=[3], n_splits=2, n_jobs=1, progress=False).fit(rows)
    said = search.summary()
    assert f"({search.verdict_.confidence})" in said.title
    assert search.verdict_.headline in str(said)
    assert any(name in str(said) for name in wine.columns)  # through the scaler
    assert set(search.verdict_.cautions) <= set(said.warnings)
    display = search.plot()
    assert isinstance(display, VerdictDisplay)
    assert display.numbers.tolist() == search.results_["n_clusters"].tolist()
    assert display.gain[0] == 0
    assert display.chosen == search.verdict_.n_clusters
    assert display.figure_.get_suptitle() == search.verdict_.headline
    np.testing.assert_array_equal(display.axes_[0].lines[0].get_ydata(), display.agreement)


def test_a_search_by_a_criterion_says_what_was_chosen(wine):
    grid = ModelSearch(FisherEM(n_init=1, random_state=0), n_clusters=[2, 3], models=["AkB"], n_jobs=1, progress=False)
    grid.fit(wine)
    said = grid.summary()
    assert "chosen by BIC" in said.title
    assert f"n_clusters {grid.best_params_['n_clusters']}" in str(said)
    assert "best of 2 fits" in str(said)
    assert isinstance(grid.plot(), CriterionDisplay)
    with pytest.raises(ValueError, match="no verdict"):
        VerdictDisplay.from_search(grid)
    grid.interrupted_ = True
    assert "interrupted" in grid.summary().warnings[0]


def test_tables_without_names():
    X = pd.DataFrame(datasets.load("iris")[0]).to_numpy()
    assert "x3" in str(SparseFisherEM(3, random_state=0).fit(X).summary())

"""The page's content against the model it is about."""

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import fisherem
from fisherem import FisherEM, ModelSearch, SparseFisherEM, Stability, explain
from fisherem.model.criteria import CRITERIA, Criterion
from fisherem.reports.content import rows
from fisherem.reports.content.stability import VariableBack
from fisherem.reports.page.data import tables
from fisherem.reports.page.table import render
from fisherem.reports.page.table_content import build
from fisherem.reports.words.summary import criteria_table, labels_table, summary, variables_table
from tests.naive import accuracy

from .reading import Reader, data_of


def test_points_are_the_models(three, wines):
    X, y = wines
    content = build(three, X, labels=y)
    posteriors = three.predict_proba(X)
    points = content.points
    assert not points.sampled
    assert points.ids == list(X.index)
    np.testing.assert_allclose(points.coordinates, X.to_numpy() @ three.loadings_)
    np.testing.assert_array_equal(points.groups, three.labels_)
    ordered = np.sort(posteriors, axis=1)
    np.testing.assert_allclose(points.posteriors, ordered[:, -1])
    np.testing.assert_allclose(points.second_posteriors, ordered[:, -2])
    np.testing.assert_allclose(posteriors[np.arange(len(X)), points.seconds], ordered[:, -2])
    assert points.classes == [str(c) for c in y]
    data = data_of(render(content))
    np.testing.assert_allclose(np.array(data["axes"]).T, points.coordinates, atol=1e-4)
    np.testing.assert_allclose(data["covariances"], three.covariances_, rtol=1e-5, atol=1e-12)


def test_groups_and_doubts(three, wines):
    X, _ = wines
    content = build(three, X)
    largest = three.predict_proba(X).max(axis=1)
    assert content.groups.counts.tolist() == np.bincount(three.labels_).tolist()
    for k in range(3):
        assert content.groups.confidence[k] == pytest.approx(largest[three.labels_ == k].mean())
        assert content.groups.doubtful[k] == (largest[three.labels_ == k] < 0.9).sum()
    assert content.n_doubts == (largest < 0.9).sum() == len(content.doubts)
    assert {d.id for d in content.doubts} == set(X.index[largest < 0.9])
    assert [d.posterior for d in content.doubts] == sorted(largest[largest < 0.9])


def test_doubts_are_limited_and_counted():
    posteriors = np.full((1000, 2), 0.5)
    posteriors[:400] = [0.95, 0.05]
    found, total = rows.doubts(posteriors, range(1000), None)
    assert (len(found), total) == (200, 600)
    assert found[0].id == "400"


def test_agreement_with_classes(three, wines):
    X, y = wines
    known = pd.Series([f"class {c}" for c in y], dtype=object)
    known[:5] = None
    found = build(three, X, labels=known).agreement
    assert found.rand == pytest.approx(adjusted_rand_score(y[5:], three.labels_[5:]))
    assert (found.n_scored, found.n_missing) == (173, 5)
    crossed = pd.crosstab(three.labels_[5:], y[5:]).to_numpy()
    np.testing.assert_array_equal(found.table, crossed)
    assert found.accuracy == pytest.approx(accuracy(y[5:], three.labels_[5:]))
    assert found.accuracy == pytest.approx(crossed.max(axis=1).sum() / 173)  # well separated: the largest cells match


def test_classes_stand_in_natural_order():
    posteriors = np.eye(2)[[0, 1, 0, 1]]
    assert rows.agreement(posteriors, ["10", "9", "b", None]).classes == ["9", "10", "b"]


def test_variables_and_profile(three, wines):
    X, _ = wines
    content = build(three, X)
    names = [v.name for v in content.variables]
    assert sorted(names) == sorted(X.columns[three.support_])
    sizes = np.linalg.norm(three.loadings_, axis=1)
    assert [v.size for v in content.variables] == sorted(sizes[three.support_], reverse=True)
    first = content.variables[0]
    np.testing.assert_array_equal(first.loadings, three.loadings_[X.columns.get_loc(first.name)])
    for k in range(3):
        expected = X.loc[three.labels_ == k, first.name].quantile([0.05, 0.25, 0.5, 0.75, 0.95])
        np.testing.assert_allclose(first.quantiles[k], expected)
    z = (three.group_means_ - X.mean().to_numpy()) / X.std(ddof=0).to_numpy()
    np.testing.assert_allclose(content.profile.values, z)
    np.testing.assert_array_equal(content.profile.selected, three.support_)


def test_facts_and_criteria(three, wines):
    content = build(three, wines[0], notes="columns were standardised")
    facts = dict(content.facts)
    assert facts["Groups K"] == "3"
    assert facts["Axes d"] == str(three.loadings_.shape[1])
    assert facts["Iterations"] == str(three.n_iter_)
    assert facts["Converged"].startswith("yes" if three.converged_ else "no")
    assert f"fisherem {fisherem.__version__}" in facts["Versions"]
    shown = {name: float(value.replace(",", "").replace("−", "-")) for name, value, *_ in content.criteria}
    assert shown["BIC"] == pytest.approx(three.bic_, abs=0.06)
    assert shown["AIC"] == pytest.approx(three.aic_, abs=0.06)
    assert content.notes == ["columns were standardised"]


def test_a_registered_criterion_shows_up(three, wines, tmp_path):
    X, _ = wines
    model = copy.copy(three)
    model.caic_ = -1234.5
    caic = Criterion(
        "caic", "CAIC", "BIC less half of the parameters", lambda ll, m, n, e: ll - m / 2 * (np.log(n) + 1)
    )
    with CRITERIA.having("caic", caic):
        text = Reader(render(build(model, X))).all_text
        assert "CAIC −1,234.5 BIC less half of the parameters" in text
        assert criteria_table(model).loc[0, "caic"] == -1234.5
        assert summary(model, X.columns, tmp_path, None)["caic"] == -1234.5
        # a fit from before it was registered has no value of it
        assert "CAIC" not in Reader(render(build(three, X))).all_text
        assert "caic" not in criteria_table(three)
    assert "CAIC" not in Reader(render(build(model, X))).all_text


def test_the_criterion_of_the_search_stands_at_the_top(search, wines):
    X, _ = wines
    assert build(search, X).headline.label == "BIC"
    other = copy.copy(search)
    other.criterion_ = "icl"
    content = build(other, X)
    assert content.headline == next(row for row in content.criteria if row.label == "ICL")
    assert "ICL against the number of groups" in Reader(render(content)).all_text
    assert content.search.path.label == "ICL of the selection"


def test_files_count_groups_from_1(three, wines):
    X, _ = wines
    labels = labels_table(three, X, X.index)
    np.testing.assert_array_equal(labels["cluster"], three.labels_ + 1)
    table = variables_table(three, X.columns)
    assert list(table.columns) == ["name", "loading1", "loading2", "selected", "mean1", "mean2", "mean3"]
    np.testing.assert_array_equal(table["mean1"], three.group_means_[0])


def test_a_search_says_how_it_chose(search, wines):
    X, _ = wines
    content = build(search, X)
    found = content.search
    dense = search.results_[search.results_["method"] == "dense"]
    for row in dense.itertuples():
        assert found.values.loc[row.model, row.n_clusters] == row.bic
    top = dense.loc[dense["bic"].idxmax()]
    assert found.best_dense == (top["n_clusters"], top["model"])
    assert search.best_params_["n_clusters"] == content.K
    sparse = search.results_[search.results_["method"] != "dense"]
    mine = sparse[sparse["n_clusters"] == content.K]
    line = found.path.lines["equal"]
    assert [s for s, _, _ in line] == [1, 0.3, 0.1]
    assert sorted(c for _, c, _ in line) == sorted(mine["selection_bic"])
    assert found.path.chosen == search.best_params_["sparsity"]
    best = search.results_.loc[search.best_index_]
    assert (found.path.value, found.path.n_selected) == (best["selection_bic"], best["n_selected"])
    text = Reader(render(content)).all_text
    assert "4 fits were compared by BIC (larger is better): K from 2 to 3, 2 models." in text
    assert "Along the sparsity path" in text


def test_the_path_draws_selected_variables_with_the_values_of_the_table(search, wines):
    X, _ = wines
    content = build(search, X)
    path, table = content.search.path, {v.index: v for v in content.variables}
    head, *lines = tables(content)["path"]
    assert head == ["axis weights", "sparsity", path.label, "variables", *(one.name for one in path.sizes)]
    assert len(lines) == sum(map(len, path.lines.values()))
    chosen = [line for line in lines if line[:2] == [path.weighting, path.chosen]]
    assert [line[2:4] for line in chosen] == [[path.value, path.n_selected]]
    at = path.shares.index(path.chosen)
    np.testing.assert_allclose(chosen[0][4:], [one.values[at] for one in path.sizes], rtol=1e-3)
    at_choice = path.shares.index(path.chosen)
    assert [curve.index for curve in path.sizes] == [v.index for v in content.variables[: len(path.sizes)]]
    for curve in path.sizes:
        assert search.support_[curve.index]
        assert curve.name == X.columns[curve.index]
        assert curve.values[at_choice] == pytest.approx(table[curve.index].size)
    text = Reader(render(content)).all_text
    value = f"{path.value:,.1f}".replace("-", "−")
    assert f"The dotted line marks the chosen sparsity, {path.chosen:.3g}: {path.n_selected} variables" in text
    assert f"BIC of the selection {value}." in text


def test_a_sparsity_that_was_given_is_no_path(wines):
    X, _ = wines
    grid = {"n_clusters": [3], "models": ["AB"], "sparsities": [0.3], "axis_weights": None, "criterion": "bic"}
    search = ModelSearch(SparseFisherEM(random_state=0, n_init=1), n_jobs=1, **grid).fit(X)
    content = build(search, X)
    assert content.search.path is None
    assert "The sparse fits have the sparsity 0.3, which was given." in content.search.sentence
    text = Reader(render(content)).all_text
    assert "path" not in text.replace("X, path", "")


def test_a_dense_search_has_no_path(wines):
    X, _ = wines
    search = ModelSearch(FisherEM(random_state=0, n_init=1), n_clusters=[3], models=["AB"], n_jobs=1).fit(X)
    content = build(search, X)
    assert content.search.path is None
    assert content.search.sentence.startswith("One fit was judged by BIC")
    assert "Along the sparsity path" not in Reader(render(content)).all_text


def test_failed_fits_are_told(search, wines):
    spoilt = copy.copy(search)
    spoilt.results_ = search.results_.copy()
    spoilt.results_.loc[0, ["bic", "log_likelihood"]] = np.nan
    spoilt.results_.loc[0, "stop_reason"] = "a <b>group</b> was lost"
    content = build(spoilt, wines[0])
    assert content.search.failures == {"a <b>group</b> was lost": 1}
    assert "a <b>group</b> was lost" in Reader(render(content)).all_text


def test_stability(three, wines):
    X, _ = wines
    p = X.shape[1]
    frequencies = np.linspace(0, 1, p)
    result = Stability(
        frequencies, three.support_, list(X.columns), np.array([3, 3]), np.array([0.8, 0.6]), np.array([0.5]), ["lost"]
    )
    found = build(three, X, stability=result).stability
    assert found.rows[0] == VariableBack(12, X.columns[-1], 1.0, bool(three.support_[-1]), True)
    assert [row.frequency for row in found.rows] == sorted(frequencies, reverse=True)
    assert (found.agreement, found.pairwise, found.n_refits) == (pytest.approx(0.7), 0.5, 2)
    assert found.failures == {"lost": 1}
    assert found.back is None  # rows were not counted
    assert "Stability on other rows" in Reader(render(build(three, X, stability=result))).all_text
    result.frequencies = frequencies[:4]
    with pytest.raises(ValueError, match="stability covers 4 variables, but X has 13"):
        build(three, X, stability=result)
    with pytest.raises(TypeError, match=r"fisherem\.stability"):
        build(three, X, stability=0.7)


@pytest.mark.parametrize("which", ["three", "search"])
def test_the_python_code_runs_and_gives_the_same_groups(which, wines, request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it saves a model file
    X, _ = wines
    model = request.getfixturevalue(which)
    scope = {"X": X, "X_new": X}
    exec(build(model, X).usage, scope)
    np.testing.assert_array_equal(scope["groups"], model.predict(X))


def test_the_code_of_given_groups_explains_them_again(wines, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = wines
    found = explain(X, y)
    content = build(found.model, X, given=found.labels)
    scope = {"X": X, "X_new": X, "labels": y}
    exec(content.usage, scope)
    np.testing.assert_array_equal(scope["groups"], found.placed)
    facts = dict(content.facts)
    assert facts["Method"].startswith("explain: the groups were given")
    assert not {"Converged", "Iterations", "Discriminant"} & set(facts)
    assert "for the given groups" in facts["Sparsity"]


def test_code_leaves_out_what_cannot_be_written(wines):
    X, y = wines
    model = FisherEM(3, init=y, random_state=np.random.RandomState(0), model="AB").fit(X)
    assert "model = FisherEM(n_clusters=3, model='AB', init=..., random_state=...)" in build(model, X).usage

"""The verdict of whole searches: tables with known groups, and tables with none."""

import numpy as np
import pytest
from sklearn.datasets import make_circles, make_moons

from fisherem import FisherEM, ModelSearch, SparseFisherEM, datasets
from fisherem.policy.number_of_groups.rules import all_rules
from fisherem.policy.number_of_groups.wording import NEXT
from tests.naive import accuracy

# -- on tables ---------------------------------------------------------------------------------------------------------


def searched(X, estimator=None, **options):
    estimator = estimator or SparseFisherEM(random_state=0)
    return ModelSearch(estimator, **{"n_splits": 2, "n_jobs": 1} | options).fit(X)


@pytest.fixture(scope="module")
def wine_search(wine):
    return searched(wine[0])


def test_wine_has_three_cultivars_and_few_variables(wine, wine_search):
    verdict = wine_search.verdict_
    assert verdict.n_clusters == 3
    assert verdict.confidence in ("clear", "leaning")
    assert wine_search.support_.sum() <= 8
    assert accuracy(wine[1], wine_search.labels_) > 0.95
    assert wine_search.best_params_ == {"n_clusters": 3}
    assert "3 groups" in str(verdict)
    np.testing.assert_array_equal(wine_search.predict(wine[0]), wine_search.labels_)


def test_wine_takes_few_fits(wine_search):
    evidence = wine_search.evidence_
    assert len(evidence.candidates) == 4
    assert {K: len(halves.splits) for K, halves in evidence.halves.items()} == {3: 2}  # no others could be chosen
    assert np.isnan(evidence.one_group)  # nor were tables of one group needed


def test_a_number_that_is_found_and_one_that_is_given_have_the_same_groups(wine, wine_search):
    given = SparseFisherEM(3, random_state=0).fit(wine[0])
    np.testing.assert_array_equal(wine_search.labels_, given.labels_)
    np.testing.assert_array_equal(wine_search.support_, given.support_)


def test_results_have_a_row_per_number_and_a_column_per_rule(wine_search):
    results = wine_search.results_
    assert results["n_clusters"].tolist() == [1, 2, 3, 4]
    assert set(all_rules()) <= set(results.columns)
    assert results.loc[0, "score_gain"] == 0
    assert results.loc[wine_search.best_index_, "n_clusters"] == 3
    assert wine_search.best_score_ == results.loc[2, "score_gain"]
    table = wine_search.verdict_.rules.set_index("rule")
    np.testing.assert_allclose(results["score_gain"], table.loc["score_gain", [1, 2, 3, 4]].astype(float))


def test_groups_that_single_columns_show_are_found():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 6)), np.arange(200) % 2
    X[:, 0] += 10 * y
    one = searched(X)
    assert one.verdict_.n_clusters == 2
    assert one.verdict_.confidence != "not decided"
    assert accuracy(y, one.labels_) == 1
    grid = rng.normal(size=(240, 6))
    grid[:, :2] += 8 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[np.arange(240) % 4]
    assert searched(grid).verdict_.n_clusters == 4


def test_simulation_of_the_paper():
    X, y = datasets.simulate(300, 2.5, p=10, random_state=0)
    search = searched(X)
    assert search.verdict_.n_clusters == 3
    np.testing.assert_array_equal(np.flatnonzero(search.support_), np.arange(5))
    assert accuracy(y, search.labels_) > 0.9


@pytest.mark.parametrize("kind", ["spherical", "correlated", "skewed"])
def test_pure_noise_is_one_group(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 6))
    if kind == "correlated":
        X = 0.8 * X + 0.6 * rng.normal(size=(150, 1))
    if kind == "skewed":
        X = np.exp(0.7 * X)
    search = searched(X, FisherEM(init="ward", random_state=0), n_clusters=[2, 3])
    assert search.verdict_.n_clusters == 1
    assert search.verdict_.headline.startswith("One group")
    assert not search.support_.any()
    assert (search.labels_ == 0).all()


def three(n=300, shares=(1 / 3, 1 / 3, 1 / 3), tails=False):
    """Three groups on five of ten columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, size=(n, 10)) if tails else rng.normal(size=(n, 10))
    y = rng.choice(3, size=n, p=shares)
    X[:, :5] += 2 * np.array([[1, 1, 1, 1, 1], [-1, -1, -1, -1, -1], [1, -1, 1, -1, 1]])[y]
    return X


def of_two_spreads():
    return np.random.default_rng(0).normal(size=(300, 5)) * np.where(np.arange(300) % 2, 1, 4)[:, None]


@pytest.mark.parametrize(
    ("X", "numbers", "confidences"),
    [
        (three(tails=True), {3}, {"clear", "leaning"}),
        (three(400, (0.6, 0.35, 0.05)), {3}, {"clear", "leaning"}),
        (of_two_spreads(), {1}, {"not decided"}),
        (make_circles(300, noise=0.06, factor=0.4, random_state=0)[0], {1, 4, 5}, {"not decided"}),
        # cuts of a crescent are apart, so its pieces are counted, but never clearly
        (make_moons(300, noise=0.08, random_state=0)[0], {2, 3, 4}, {"leaning", "not decided"}),
    ],
    ids=["heavy tails", "a group of 5%", "groups that differ in spread alone", "rings", "moons"],
)
def test_groups_that_are_not_gaussian_are_found_or_never_clear(X, numbers, confidences):
    verdict = searched(X).verdict_
    assert verdict.n_clusters in numbers
    assert verdict.confidence in confidences


def test_the_summary_of_an_undecided_search_says_what_to_do_next():
    search = searched(of_two_spreads(), FisherEM(init="ward", random_state=0))
    assert search.verdict_.confidence == "not decided"
    assert NEXT in str(search.summary())


def test_many_yes_and_no_columns_show_their_groups():
    rng, y = np.random.default_rng(0), np.arange(300) % 3
    chance = np.where(rng.random((3, 60)) < 0.5, 0.2, 0.8)
    for groups in (y, np.zeros(300, int)):
        verdict = searched((rng.random((300, 60)) < chance[groups]).astype(float)).verdict_
        assert (verdict.n_clusters, verdict.confidence) == (3 if groups.any() else 1, "leaning")


def test_yes_and_no_columns_are_not_decided():
    X = np.random.default_rng(0).integers(2, size=(80, 4)).astype(float)
    found = searched(X, FisherEM(init="ward", random_state=0), n_clusters=[2]).verdict_
    assert found.confidence == "not decided"
    assert NEXT in found.reasons

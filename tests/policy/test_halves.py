"""Agreement of halves: known groups and none, and what it decides where the judge cannot see the columns."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from fisherem import FisherEM, SparseFisherEM
from fisherem.core.data.problem import prepare
from fisherem.estimators.fitting import specification
from fisherem.policy.halves import OnOtherRows, agreements, fisher_em, kmeans, split_rows


def table(separation, n=200, p=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return 5 + rng.normal(size=(n, p)) + separation * np.eye(3, p)[y], y


def both(X, seed=0):
    problem = prepare(X, ridge="auto")
    spec = specification(FisherEM(3, random_state=0), *X.shape)
    return agreements(problem, 3, [kmeans, fisher_em(spec)], np.random.RandomState(seed))


def test_groups_that_are_apart_are_found_again_and_noise_is_not():
    assert min(both(table(8)[0])) == pytest.approx(1.0)
    assert max(both(table(0)[0])) < 0.5


def test_kmeans_on_halves_is_that_of_scikit_learn():
    X = table(2)[0]
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    expected = []
    for i, sides in enumerate(split_rows(len(X), 3, seed)):
        labels = [KMeans(3, n_init=5, random_state=seed + i).fit(X[rows]).predict(X) for rows in sides]
        expected.append(adjusted_rand_score(*labels))
    assert both(X)[0] == pytest.approx(np.mean(expected), abs=0.1)  # other random numbers, nearly the same optimum


def test_agreements_do_not_depend_on_the_offset_and_repeat():
    X = table(2)[0]
    assert both(X) == both(X)
    assert both(X + 1000.0) == pytest.approx(both(X), abs=0.02)


def answers(n=400, p=16, seed=0):
    """Yes/no answers of two groups."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return (rng.uniform(size=(n, p)) < np.where(y[:, None], 0.75, 0.3)).astype(float), y


def test_groups_of_kmeans_that_stay_are_given_back_by_few_variables():
    X, _ = answers()
    dense = FisherEM(2, random_state=0).fit(X)
    sparse = SparseFisherEM(2, random_state=0).fit(X)
    start = sparse.decisions_.set_index("decision").loc["start"]
    assert start["choice"].endswith("not moved")
    assert sparse.stop_reason_ == "groups kept"
    assert sparse.n_iter_ <= 2
    assert sparse.support_.sum() < X.shape[1]
    assert adjusted_rand_score(dense.labels_, sparse.labels_) >= 0.75
    np.testing.assert_array_equal(sparse.predict(X), sparse.labels_)


def test_with_fewer_rows_than_columns_in_a_half_kmeans_is_not_left():
    X, _ = answers(n=60, p=40)
    start = FisherEM(2, random_state=0).fit(X).decisions_.set_index("decision").loc["start"]
    assert (start["choice"], start["alternatives"]) == ("k-means on the columns, not moved", "")


def naive_rule(known, labels, new, share, rank=None):
    """The group whose mean is nearest in the metric of the covariance within the groups, row by row."""
    groups, sizes = np.unique(labels, return_counts=True)
    mean = known.mean(axis=0)
    means = [known[labels == k].mean(axis=0) - mean for k in groups]
    W = sum(np.outer(x - mean - means[k], x - mean - means[k]) for x, k in zip(known, labels, strict=True)) / len(known)
    ridge = share * np.trace(W) / (rank or len(W))
    inverse = np.linalg.inv(W + ridge * np.eye(len(W)))
    scores = [
        [
            np.log(size / len(known)) - 0.5 * (x - mean - m) @ inverse @ (x - mean - m)
            for m, size in zip(means, sizes, strict=True)
        ]
        for x in new
    ]
    return groups[np.argmax(scores, axis=1)]


@pytest.mark.parametrize("p", [6, 90])
def test_agreement_on_other_rows_is_that_of_a_naive_rule(p):
    rng = np.random.default_rng(p)
    labels = np.arange(80) % 3
    X = rng.normal(size=(80, p))
    X[:, :3] += 1.5 * np.eye(3)[labels]
    problem = prepare(X, ridge=0.01)
    share = problem.scatter.ridge / problem.scatter.mean_variance
    back = OnOtherRows(problem, labels, [np.arange(p)])
    expected = []
    for sides in split_rows(80, 3, 0):
        found = np.empty(80, int)
        for rows, others in (sides, sides[::-1]):
            found[others] = naive_rule(X[rows], labels[rows], X[others], share, 39 if p == 90 else None)
        expected.append(adjusted_rand_score(labels, found))
    assert back.agreement(np.arange(p)) == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("table", ["numbers", "counts"])
def test_the_agreement_does_not_depend_on_the_order_of_the_rows(table):
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    X = rng.normal(size=(60, 5)) + 1.2 * labels[:, None]
    if table == "counts":  # rows that are the same have the same label
        X = np.round(X)
        labels = (X.sum(axis=1) > 3).astype(int)
    X[:, 2] *= 1e9
    found = OnOtherRows(prepare(X, ridge="auto"), labels, [np.arange(5)], by_values=True).agreement(np.arange(5))
    assert found < 1
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(60)
        moved = OnOtherRows(prepare(X[order], ridge="auto"), labels[order], [np.arange(5)], by_values=True)
        assert moved.agreement(np.arange(5)) == pytest.approx(found, abs=1e-12)


def test_where_rows_are_the_means_of_their_groups_the_nearest_mean_is_taken():
    X = np.array([[0.0], [0.0], [3.0], [3.0], [3.0], [2500.0], [0.0]])
    labels = np.array([0, 0, 1, 1, 1, 1, 0])
    back = OnOtherRows(prepare(X, ridge=0.1), labels, [np.arange(1)])
    known, new = np.array([[1.0], [-2.0], [1.0]]), np.array([[2500.0], [-2.5], [0.0]])
    back.labels = np.array([1, 0, 1])
    found = back._nearest(np.arange(3), np.full(3, 1 / 3), known, new)
    np.testing.assert_array_equal(found, [1, 0, 1])
    assert not np.isnan(back._nearest(np.arange(3), np.full(3, 1 / 3), known[:, :0], new[:, :0])).any()


def test_lists_that_grow_are_summed_up_once():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(40, 120)), np.arange(40) % 2
    lists = [np.arange(30), np.arange(60), np.array([3, 70, 110, *range(80, 100)])]
    together = OnOtherRows(prepare(X, ridge="auto"), labels, lists)
    for support in lists:
        alone = OnOtherRows(prepare(X, ridge="auto"), labels, [support])
        assert together.agreement(support) == pytest.approx(alone.agreement(support))


def test_columns_that_follow_the_rows_do_not_give_groups_back():
    """Any labels can be separated on as many columns as rows, but not on other rows."""
    rng = np.random.default_rng(1)
    labels = np.arange(60) % 2
    X = rng.normal(size=(60, 400))
    X[:, 0] += 4 * labels
    back = OnOtherRows(prepare(X, ridge="auto"), labels, [np.arange(400)])
    assert back.agreement(np.arange(1)) > 0.8
    assert back.agreement(np.arange(400)) < 0.5

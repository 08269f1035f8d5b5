"""sparsity="auto": variables and groups found together. What never falls, what must not matter, what is recovered."""

import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from fisherem import FisherEM, SparseFisherEM, datasets
from fisherem.core.data.problem import prepare
from fisherem.estimators.fitting import specification
from fisherem.policy.alternation import Alternation, Climb, alternate, round_of
from fisherem.policy.default_fit import few_rows
from fisherem.policy.judge import Judge
from fisherem.policy.starts import other_starts, same_partition
from tests.naive import accuracy, criterion


def spec_of(Y, K=3):
    return specification(SparseFisherEM(K, sparsity=0.5, random_state=0), *Y.shape)


@cache
def noisy_triangle(n=150, p=30, seed=0):
    """Three groups that differ in the first four of p variables."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % 3)
    Y = rng.normal(size=(n, p))
    Y[:, :4] += 3 * np.array([[1, 0, 1, 0.5], [-1, 0.5, 0, 1], [0, -1, 0.5, -1]])[labels]
    return Y, labels


@cache
def fitted(**changes):
    return SparseFisherEM(3, random_state=0, **changes).fit(noisy_triangle()[0])


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
def test_the_criterion_never_falls_along_the_alternation(share):
    """From partitions that are more and more wrong; the values are those of the rows, labels and variables."""
    Y, labels = noisy_triangle()
    rng = np.random.default_rng(1)
    start = np.where(rng.random(len(Y)) < share, rng.integers(3, size=len(Y)), labels)
    steps = []

    class Recorded(Alternation):
        def take(self, found):
            steps.append(found)
            super().take(found)

    problem = prepare(Y, ridge="auto")
    found = Recorded(problem, spec_of(Y), start, 2).to_the_end()
    values = [criterion(Y, one.labels, one.support)[0] for one in steps]
    np.testing.assert_allclose([one.value for one in steps], values, atol=1e-3)
    kept = values if found is steps[-1] else values[:-1]
    assert (np.diff(kept) > 0).all()
    assert found.value == pytest.approx(max(values), abs=1e-3)
    assert found.rank == criterion(Y, found.labels, found.support)[1]
    assert set(found.support) >= {0, 1, 2, 3} or share == 0.6


def test_all_that_differ_has_the_redundant_variables_too():
    Y, labels = noisy_triangle()
    copies = Y[:, :2] + 0.3 * np.random.default_rng(2).normal(size=(len(Y), 2))
    doubled = np.column_stack([Y, copies])
    problem = prepare(doubled, ridge="auto")
    few = alternate(problem, spec_of(doubled), labels, 2)
    many = Climb(problem, spec_of(doubled), labels, 2).to_the_end()
    assert {0, 1, 2, 3, 30, 31} <= set(many.support)
    assert len(few.support) < len(many.support)
    assert few.value > many.value


@pytest.mark.parametrize("kind", [Alternation, Climb])
def test_rounds_of_several_are_those_of_each(kind):
    Y, labels = noisy_triangle()
    rng = np.random.default_rng(3)
    starts = [np.where(rng.random(len(Y)) < share, rng.integers(3, size=len(Y)), labels) for share in (0.1, 0.3, 0.5)]
    problem = prepare(Y, ridge="auto")
    together = [kind(problem, spec_of(Y), start, 2) for start in starts]
    while going := [one for one in together if not one.ended]:
        round_of(going)
    for start, one in zip(starts, together, strict=True):
        alone = kind(problem, spec_of(Y), start, 2).to_the_end()
        np.testing.assert_array_equal(one.best.support, alone.support)
        np.testing.assert_array_equal(one.best.labels, alone.labels)
        assert one.best.value == pytest.approx(alone.value)
        assert one.best.fit.log_likelihood == pytest.approx(alone.fit.log_likelihood)


def test_the_groups_and_their_variables_are_found():
    model, labels = fitted(), noisy_triangle()[1]
    assert list(np.flatnonzero(model.support_)) == [0, 1, 2, 3]
    assert accuracy(labels, model.labels_) > 0.98


def test_the_order_of_the_rows_does_not_matter():
    Y, _ = noisy_triangle()
    order = np.random.default_rng(4).permutation(len(Y))
    model = SparseFisherEM(3, random_state=0).fit(Y[order])
    np.testing.assert_array_equal(model.support_, fitted().support_)
    assert adjusted_rand_score(model.labels_, fitted().labels_[order]) == 1
    assert model.log_likelihood_ == pytest.approx(fitted().log_likelihood_, rel=1e-6)


def test_the_order_of_the_columns_does_not_matter():
    Y, _ = noisy_triangle()
    order = np.random.default_rng(4).permutation(Y.shape[1])
    model = SparseFisherEM(3, random_state=0).fit(Y[:, order])
    np.testing.assert_array_equal(model.support_, fitted().support_[order])
    assert adjusted_rand_score(model.labels_, fitted().labels_) == 1
    assert model.log_likelihood_ == pytest.approx(fitted().log_likelihood_, rel=1e-6)


def test_threads_change_no_bit():
    one, two = fitted(n_jobs=1), fitted(n_jobs=2)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.loadings_, two.loadings_)
    assert one.log_likelihood_ == two.log_likelihood_


def test_weights_are_repetitions():
    Y, _ = noisy_triangle()
    counts = np.random.default_rng(5).integers(1, 4, size=len(Y))
    weighted = SparseFisherEM(3, random_state=0).fit(Y, sample_weight=counts)
    repeated = SparseFisherEM(3, random_state=0).fit(np.repeat(Y, counts, axis=0))
    np.testing.assert_array_equal(weighted.support_, repeated.support_)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, counts), repeated.labels_)
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-7)


def test_rows_of_weight_0_do_not_count():
    Y, _ = noisy_triangle()
    outliers = np.vstack([Y, np.full((5, 30), 1e3)])
    model = SparseFisherEM(3, random_state=0).fit(outliers, sample_weight=np.r_[np.ones(len(Y)), np.zeros(5)])
    np.testing.assert_array_equal(model.support_, fitted().support_)
    assert adjusted_rand_score(model.labels_[: len(Y)], fitted().labels_) == 1


@pytest.mark.parametrize("p", [30, 300])
def test_constant_columns_are_never_selected(p):
    Y, labels = noisy_triangle(p=p)
    wider = np.column_stack([np.full(len(Y), 7.0), Y, np.zeros((len(Y), 2))])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "constant columns")
        model = SparseFisherEM(3, random_state=0).fit(wider)
    assert not model.support_[[0, -2, -1]].any()
    assert list(np.flatnonzero(model.support_)) == [1, 2, 3, 4]
    assert accuracy(labels, model.labels_) > 0.98


@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_units_of_the_whole_table_and_offsets_do_not_matter(factor):
    Y, _ = noisy_triangle()
    model = SparseFisherEM(3, random_state=0).fit(factor * (Y + 100))
    np.testing.assert_array_equal(model.support_, fitted().support_)
    assert adjusted_rand_score(model.labels_, fitted().labels_) == 1


@pytest.mark.parametrize("seed", [201, 202, 203])
def test_the_papers_simulation(seed):
    """Exactly the five variables that carry the groups; the Bayes error is 0.038."""
    X, y = datasets.simulate(300, mu=1.7, random_state=seed)
    model = SparseFisherEM(3, random_state=0).fit(X)
    assert list(np.flatnonzero(model.support_)) == [0, 1, 2, 3, 4]
    assert accuracy(y, model.labels_) >= 0.92


def with_permuted_columns(X, times, seed):
    """Columns added that are permuted copies of the table's own: every margin is real and carries nothing."""
    rng = np.random.default_rng(seed)
    return np.column_stack([X] + [rng.permuted(X, axis=0) for _ in range(times)])


@pytest.mark.parametrize("seed", [301, 302])
def test_wine_among_twenty_times_as_many_columns_of_noise(wine, seed):
    X, y = wine
    model = SparseFisherEM(3, random_state=seed).fit(with_permuted_columns(X, 20, seed))
    assert accuracy(y, model.labels_) >= 0.94
    assert model.support_[:13].sum() >= 0.9 * model.support_.sum()


def test_thirty_variables_of_two_thousand():
    rng = np.random.default_rng(401)
    labels = np.arange(60) % 3
    X = rng.normal(size=(60, 2000))
    X[:, :30] += 1.5 * rng.normal(size=(3, 30))[labels]
    model = SparseFisherEM(3, random_state=0).fit(X)
    assert accuracy(labels, model.labels_) == 1
    assert model.support_[:30].sum() >= 0.9 * model.support_.sum()


# -- large data --------------------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_is_small(treat_as_large):
    """Every table counts as large, samples of it too, as happens from some 700 columns on."""
    treat_as_large(100)


@pytest.mark.parametrize("kind", ["sampled", "given labels"])
def test_large_tables(nothing_is_small, kind):
    X, y = datasets.simulate(2500, mu=2.5, random_state=7)
    model = SparseFisherEM(3, init=y if kind == "given labels" else "kmeans", random_state=0).fit(X)
    assert list(np.flatnonzero(model.support_)) == [0, 1, 2, 3, 4]
    assert accuracy(y, model.labels_) > 0.98
    if kind == "given labels":  # groups keep their numbers
        assert (y == model.labels_).mean() > 0.98


def test_large_tables_with_more_columns_than_rows(nothing_is_small):
    """The variables are selected, not the coordinates of the row space."""
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    X = rng.normal(size=(60, 200))
    X[:, 100:110] += 3 * rng.normal(size=(3, 10))[labels]
    model = SparseFisherEM(3, random_state=0).fit(X)
    assert model.support_[100:110].sum() == model.support_.sum()
    assert accuracy(labels, model.labels_) == 1


# -- other starts ------------------------------------------------------------------------------------------------------


def behind_a_factor(labels, p=40, size=4.0, seed=6):
    """Groups that differ in six of p variables, the others with a common factor of the noise."""
    rng = np.random.default_rng(seed)
    n = len(labels)
    Y = rng.normal(size=(n, p)) + size * rng.normal(size=(n, 1)) * rng.normal(size=p)
    Y[:, :6] = rng.normal(size=(n, 6)) + 2.5 * rng.normal(size=(3, 6))[labels]
    return Y


def test_other_starts_find_what_a_common_factor_hides():
    """The first principal component is a factor of the noise, which k-means follows."""
    labels = np.arange(150) % 3
    Y = behind_a_factor(labels)
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    first = KMeans(3, n_init=10, random_state=0).fit(Y).labels_
    assert accuracy(labels, first) < 0.6
    problem = prepare(Y, ridge="auto")
    found = dict(other_starts(problem, Judge(problem), 3, np.random.RandomState(0)))
    assert max(accuracy(labels, one) for one in found.values()) > 0.9
    assert all(one.shape == (150,) for one in found.values())
    model = SparseFisherEM(3, random_state=0).fit(Y)
    assert accuracy(labels, model.labels_) > 0.95
    start = model.decisions_.set_index("decision").loc["start"]
    assert start["choice"] != "k-means on the columns"
    assert "k-means on the columns" in start["alternatives"]


def test_other_starts_of_many_rows_are_compared_on_some():
    """From a thousand rows on; the groups that are found there are fitted to all rows."""
    labels = np.arange(3000) % 3
    Y = behind_a_factor(labels, p=15)
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    problem = prepare(Y, ridge="auto")
    numbers, some = few_rows(problem, np.random.RandomState(0))
    assert len(numbers) == some.rows.n == 1000
    np.testing.assert_allclose(some.rows.take(np.arange(3)) + problem.centre, Y[numbers[:3]], atol=1e-9)
    assert few_rows(prepare(Y[:1000], ridge="auto"), np.random.RandomState(0))[1].rows.n == 1000
    model = FisherEM(3, random_state=0).fit(Y)
    assert accuracy(labels, model.labels_) > 0.9
    assert "sparse k-means" in model.decisions_.set_index("decision").at["start", "alternatives"]


def test_small_groups_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:100, 0] += 8
    X[-4:] += 25
    decisions = FisherEM(3, random_state=0).fit(X).decisions_.set_index("decision")
    assert decisions.at["small groups", "choice"].endswith("(4 rows)")
    assert "fewer than 10 rows" in decisions.at["small groups", "reason"]
    assert "small groups" not in FisherEM(3, random_state=0, min_size=4).fit(X).decisions_.set_index("decision").index


def test_k_means_is_kept_where_nothing_gains():
    """Two groups that differ a little in each of 64 columns: no few variables show them, and no gain is above 0."""
    rng = np.random.default_rng(0)
    labels = np.arange(1000) % 2
    X = rng.normal(size=(1000, 64)) + 0.45 * labels[:, None]
    for kind in (FisherEM, SparseFisherEM):
        model = kind(2, random_state=0).fit(X)
        assert accuracy(labels, model.labels_) > 0.9
        assert model.decisions_.set_index("decision").at["start", "choice"] == "k-means on the columns"


def test_partitions_are_the_same_up_to_their_numbers():
    labels = np.arange(90) % 3
    assert same_partition((labels + 1) % 3, [labels])
    assert not same_partition(np.random.default_rng(0).permutation(labels), [labels])
    assert not same_partition(labels, [])


# -- the variables -----------------------------------------------------------------------------------------------------


def test_a_selection_gives_the_groups_back():
    """Many weak variables carry the groups together: the few that C names make others, so more are kept."""
    rng = np.random.default_rng(3)
    labels = np.arange(80) % 3
    X = rng.normal(size=(80, 300))
    X[:, :60] += 0.9 * rng.normal(size=(3, 60))[labels]
    model = SparseFisherEM(3, random_state=0).fit(X)
    said = model.decisions_.set_index("decision").loc["variables"]
    assert accuracy(labels, model.labels_) > 0.9
    assert model.minimal_support_.sum() <= model.support_.sum()
    assert "agreement" in said["alternatives"]


def test_a_cold_start_is_refused_not_ignored():
    with pytest.raises(ValueError, match="start='cold' needs a number for sparsity"):
        SparseFisherEM(2, start="cold").fit(np.eye(6))

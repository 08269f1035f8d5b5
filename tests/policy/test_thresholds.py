"""One test for each threshold of the columns, the groups and large data: it holds on both sides of the threshold.

`test_thresholds_of_models` has those of models, variables and covariates, `test_thresholds_of_scenes` those of scenes.
"""

from dataclasses import fields
from importlib import import_module

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fisherem import FisherEM, SparseFisherEM
from fisherem.core.data.problem import prepare
from fisherem.estimators.fitting import specification
from fisherem.estimators.outlying import outside
from fisherem.policy import variables
from fisherem.policy.columns import spiked
from fisherem.policy.decisions import Decision
from fisherem.policy.default_fit import few_rows, sample_problem
from fisherem.policy.groups import Groups, _best, margin
from fisherem.policy.judge import Gain, Judge
from fisherem.policy.scaling import large_columns_text, scaling, share_a_unit
from fisherem.policy.scores import Scores
from fisherem.policy.starts import same_partition
from fisherem.policy.thresholds import THRESHOLDS, Thresholds
from fisherem.search.grid_runner import still_open
from fisherem.search.group_statistics import alike

from .holding import holds, of_sizes


def gain(per_row, rows=200.0, smallest=50.0):
    return Gain(per_row * rows, rows, np.zeros(1, int), smallest)


@holds("unit_spread")
def test_columns_share_a_unit_up_to_the_largest_of_as_many():
    assert scaling(of_sizes([1, 1, 2.05, 1]), "auto")[0] == "none"
    assert scaling(of_sizes([1, 1, 2.2, 1]), "auto")[0] == "standardise"
    assert (
        scaling(of_sizes([1, 1, 1, 0.01]), "auto")[0] == "none"
    )  # one that hardly varies takes nothing from the others
    assert scaling(of_sizes([1, 1, 2.05, 1]), "none") == ("none", Decision("scaling", "none", "", "as given"))


@holds("unit_quartiles")
def test_columns_share_a_unit_up_to_quartiles_four_times_apart():
    low, high = np.ones(30), np.full(30, 3.9)
    middle = np.full(1, 2.0)
    assert share_a_unit(np.concatenate([low, middle, high]))
    assert not share_a_unit(np.concatenate([low, middle, high * 4.1 / 3.9]))


@holds("dominates")
def test_columns_ten_times_the_median_are_named():
    assert large_columns_text(of_sizes([1, 1, 9.9, 1]), None) == ""
    assert "column 'x3'" in large_columns_text(of_sizes([1, 1, 10.1, 1]), None)


@holds("few_valued")
def test_columns_of_few_values_keep_them():
    rng = np.random.default_rng(0)
    counts = rng.poisson(75, size=4000).astype(float)  # spacing 1, variance 75: 1/900
    many = rng.poisson(92, size=4000).astype(float)  # 1/1104
    assert Scores.of(np.column_stack([counts, many])).kept.tolist() == [True, False]


@holds("spike")
def test_columns_in_which_a_quarter_of_the_rows_have_one_value_do_not_judge():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:48, 0] = X[:52, 1] = 0.0
    assert spiked(X).tolist() == [False, True, False]


def few_valued(values, columns, normal, n=600):
    """A judge of columns of as many equally frequent values as given, and of normal ones."""
    rng = np.random.default_rng(0)
    counts = [rng.permutation(np.arange(n) % values).astype(float) for _ in range(columns)]
    return Judge(prepare(np.column_stack([*counts, *rng.normal(size=(normal, n))]), ridge="auto"))


@holds("category")
def test_columns_of_up_to_seven_values_are_categories():
    assert not few_valued(7, 3, 2).sees_enough  # 1 / (7^2 - 1) = 0.0208
    assert few_valued(8, 3, 2).sees_enough  # 0.0159
    assert not few_valued(2, 3, 2).sees_enough
    assert few_valued(2, 2, 2).sees_enough


@holds("seen")
def test_the_judge_needs_half_of_the_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 9))
    X[:80, :5] = 0.0  # a frequent value, but many others
    assert Judge(prepare(X[:, 1:], ridge="auto")).sees_enough
    assert not Judge(prepare(X, ridge="auto")).sees_enough
    constant = np.column_stack([X[:, 1:], np.ones((200, 3))])  # columns without a difference do not count
    assert Judge(prepare(constant, ridge="auto")).sees_enough


def test_what_kmeans_finds_stays_where_columns_cannot_be_judged():
    rng = np.random.default_rng(3)
    y = np.arange(300) % 2
    answers = (rng.uniform(size=(300, 12)) < np.where(y[:, None], 0.8, 0.3)).astype(float)
    outlying = np.exp(2 * rng.normal(size=(300, 2)))
    X = np.column_stack([answers, outlying])
    model = FisherEM(2, random_state=0).fit(X)
    start = model.decisions_.set_index("decision").loc["start"]
    assert start["choice"] == "k-means on the columns, not moved"
    assert start["reason"].startswith("most columns are categories or have a frequent value")
    assert "agreement of halves" in start["alternatives"]
    assert adjusted_rand_score(y, model.labels_) > 0.6
    ink = np.maximum(rng.normal(size=(300, 12)) + np.where(y[:, None], 0.5, -0.8), 0.0)  # half of the values are 0
    reason = FisherEM(2, random_state=0).fit(ink).decisions_.set_index("decision").loc["start", "reason"]
    assert reason.startswith("most columns are categories or have a frequent value")


def moves(other, own, K=3, share=None, min_size="auto"):
    """Whether the groups of a gain are left for those of another."""
    share = THRESHOLDS.move if share is None else share
    first, second = (Groups(name, np.zeros(1), one) for name, one in (("own", own), ("other", other)))
    return _best(first, [second], K, min_size, share) is second


@holds("move")
def test_another_start_must_gain_clearly_more():
    least = 0.1 * np.log(3)
    assert not moves(gain(0.1 + 0.95 * least), gain(0.1))
    assert moves(gain(0.1 + 1.05 * least), gain(0.1))
    assert not moves(gain(0.95 * least), gain(-0.5))  # below 0 there is no opinion
    assert moves(gain(1.05 * least), gain(-0.5))
    assert not moves(gain(10.9), gain(10.0), 3)  # a share of a large gain
    assert moves(gain(11.1), gain(10.0), 3)


@holds("tie")
def test_differences_that_say_nothing():
    assert margin(gain(0.1), 3) == pytest.approx(0.05 * np.log(3) * 200)
    assert margin(gain(10.0), 3) == pytest.approx(0.05 * 10 * 200)


@holds("columns_per_row")
def test_with_four_columns_per_row_all_variables_are_judged_together():
    rng = np.random.default_rng(0)
    labels = np.arange(30) % 2
    X = rng.normal(size=(30, 121))
    X[:, :15] += 1.5 * labels[:, None]
    few = Judge(prepare(X[:, :119], ridge="auto")).gain(labels)
    all_that_differ = Judge(prepare(X, ridge="auto")).gain(labels)
    assert few.mixture is not None
    assert all_that_differ.mixture is None
    # by hand: n/2 log(t / w) of each variable, less its price
    t, w = X.var(axis=0), (X[labels == 0].var(axis=0) + X[labels == 1].var(axis=0)) / 2
    beyond = 15 * np.log(t / w) - np.log(30) / 2 - np.log(121)
    assert all_that_differ.value == pytest.approx(beyond[beyond > 0].sum(), rel=1e-6)


@holds("small_share")
def test_groups_of_less_than_a_twentieth_are_outliers():
    assert gain(1.0, 1000.0, 49.0).has_outliers("auto")
    assert not gain(1.0, 1000.0, 51.0).has_outliers("auto")
    assert not moves(gain(1.0, 1000.0, 49.0), gain(0.0, 1000.0, 300.0))
    assert moves(gain(1.0, 1000.0, 49.0), gain(0.0, 1000.0, 300.0), min_size=0.04)


@holds("small_rows")
def test_groups_of_fewer_than_ten_rows_are_outliers():
    assert gain(1.0, 100.0, 9.0).has_outliers("auto")
    assert not gain(1.0, 100.0, 10.0).has_outliers("auto")
    # a group that k-means has set apart as well is no reason against another partition
    assert moves(gain(1.0, 100.0, 9.0), gain(0.0, 100.0, 9.0))


@holds("same_partition")
def test_partitions_that_agree_are_one():
    labels = np.arange(400) % 2
    nearly, other = labels.copy(), labels.copy()
    nearly[:4] = 1 - nearly[:4]  # adjusted Rand index 0.96
    other[:6] = 1 - other[:6]  # 0.94
    assert same_partition(nearly, [labels])
    assert not same_partition(other, [labels])


@holds("same_again")
def test_the_fewest_are_enough_if_their_groups_agree(monkeypatch):
    problem, labels = of_sizes([1.0] * 3, 1000), np.arange(1000) % 2
    spec = specification(SparseFisherEM(2, random_state=0), 1000, 3)

    def fewest(wrong):
        class Found:
            support, n_variables = np.arange(1), 1
            labels = np.where(np.arange(1000) < wrong, 1 - np.arange(1000) % 2, np.arange(1000) % 2)

        return Found()

    for wrong, enough in ((25, True), (27, False)):  # adjusted Rand index 0.902 and 0.895
        monkeypatch.setattr(variables, "alternate", lambda *_, wrong=wrong: fewest(wrong))
        found = variables.variables_for(problem, spec, labels, 1, "AkB")
        agreements = [record["agreement"] for record in found.records]
        again = adjusted_rand_score(fewest(wrong).labels, labels)
        assert (agreements == [pytest.approx(again)]) == enough  # no other list was looked at


@holds("gives_back")
def test_a_list_is_enough_if_it_gives_the_groups_back_as_well_as_the_best():
    assert variables.enough([0.5, 0.879, 0.881, 0.9, 0.87]) == [2, 3]


@holds("alike")
def test_columns_are_alike_up_to_one_chance_in_a_hundred():
    def draws(first):  # 4,000 draws of two columns; of their 8,000 values, 399 are above the 5% point
        z = np.tile(np.linspace(0, 1, 4000), (2, 1)).T
        z[:first, 0] = z[: 399 - first, 1] = 2
        return z

    # the statistic is 2 (first - 199.5)^2 / (4000 * 0.0499 * 0.9501), chi-squared with p-values of 0.0118 and 0.0088
    assert alike(draws(224))
    assert not alike(draws(225))


@holds("undecided")
def test_numbers_of_groups_within_ten_of_the_best_stay_open():
    assert still_open({(2, "AB"): -9.9, (3, "AB"): 0.0, (4, "DB"): -10.1}) == [(2, "AB"), (3, "AB")]


@holds("outside")
def test_rows_as_far_as_one_in_a_thousand_are_outside():
    assert outside([0.00101, 0.00099]).tolist() == [False, True]


@holds("sample_rows", "sample_rows_per_variable")
def test_large_data_are_decided_on_eight_rows_per_variable():
    for p, size in ((2, 2000), (260, 2080)):
        problem = of_sizes([1.0] * p, 2100)
        assert sample_problem(problem, np.random.RandomState(0)).rows.n == size


@holds("few_rows", "few_rows_per_variable")
def test_starts_are_compared_on_four_rows_per_variable():
    for p, size in ((2, 1000), (260, 1040)):
        assert len(few_rows(of_sizes([1.0] * p, 1100), np.random.RandomState(0))[0]) == size


def test_every_threshold_is_held():
    for section in ("test_thresholds_of_models", "test_thresholds_of_scenes", "test_own_covariances"):
        import_module(f"tests.policy.{section}")
    assert set(holds) | {"number_of_groups"} == {field.name for field in fields(Thresholds)}
    assert Thresholds() == THRESHOLDS


@pytest.mark.parametrize("kind", [FisherEM, SparseFisherEM])
def test_decisions_are_recorded_in_their_order(kind, iris):
    table = kind(3, random_state=0).fit(iris[0]).decisions_
    assert list(table.columns) == ["decision", "choice", "alternatives", "reason"]
    wanted = ["scaling", "start", "variables"]
    assert [name for name in table["decision"] if name in wanted] == wanted[: 3 if kind is SparseFisherEM else 2]
    assert table["reason"].str.len().min() > 5

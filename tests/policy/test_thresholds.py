"""One test for each threshold of the policy: it holds on both sides of the threshold, so it fails when that moves."""

from dataclasses import fields

import numpy as np
import pytest

from fisherem import FisherEM, SparseFisherEM
from fisherem.core.data.problem import prepare
from fisherem.estimators.outlying import outside
from fisherem.policy import variables
from fisherem.policy.columns import spiked
from fisherem.policy.decisions import Decision
from fisherem.policy.groups import Groups, _best, margin
from fisherem.policy.judge import Gain, Judge
from fisherem.policy.scaling import large_columns_text, scaling, share_a_unit
from fisherem.policy.scores import Scores
from fisherem.policy.starts import same_partition
from fisherem.policy.thresholds import THRESHOLDS, Thresholds

HELD = {}


def holds(name):
    """Marks the test of a threshold."""

    def mark(test):
        HELD[name] = test
        return test

    return mark


def of_sizes(sizes, n=60):
    X = np.random.default_rng(0).normal(size=(n, len(sizes)))
    return prepare((X - X.mean(axis=0)) / X.std(axis=0) * sizes, ridge="auto")


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
    counts = rng.poisson(60, size=4000).astype(float)  # spacing 1, variance 60: 1/720
    many = rng.poisson(120, size=4000).astype(float)  # 1/1440
    assert Scores.of(np.column_stack([counts, many])).kept.tolist() == [True, False]


@holds("spike")
def test_columns_in_which_a_quarter_of_the_rows_have_one_value_do_not_judge():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:48, 0] = X[:52, 1] = 0.0
    assert spiked(X).tolist() == [False, True, False]


def moves(other, own, K=3, share=THRESHOLDS.move, min_size="auto"):
    """Whether the groups of a gain are left for those of another."""
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


@holds("gives_back")
def test_a_selection_is_enough_if_its_groups_agree():
    labels = np.arange(1000) % 2

    class Found:
        support = np.arange(3)

        def __init__(self, wrong):
            self.labels = np.where(np.arange(1000) < wrong, 1 - labels, labels)

    assert variables.Selection(labels).tried(Found(52))  # adjusted Rand index 0.803
    assert not variables.Selection(labels).tried(Found(54))  # 0.796


@holds("outside")
def test_rows_as_far_as_one_in_a_thousand_are_outside():
    assert outside([0.00101, 0.00099]).tolist() == [False, True]


def test_every_threshold_is_held():
    assert set(HELD) == {field.name for field in fields(Thresholds)}
    assert Thresholds() == THRESHOLDS


@pytest.mark.parametrize("kind", [FisherEM, SparseFisherEM])
def test_decisions_are_recorded_in_their_order(kind, iris):
    table = kind(3, random_state=0).fit(iris[0]).decisions_
    assert list(table.columns) == ["decision", "choice", "alternatives", "reason"]
    wanted = ["scaling", "start", "variables"]
    assert [name for name in table["decision"] if name in wanted] == wanted[: 3 if kind is SparseFisherEM else 2]
    assert table["reason"].str.len().min() > 5

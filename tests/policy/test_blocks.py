"""Categories as blocks of columns: gains, C(K, S), weights and latent classes against naive transcriptions."""

from dataclasses import replace

import numpy as np
import pytest

from fisherem.core.data.problem import prepare
from fisherem.policy.criterion import Partition, judge, price
from fisherem.policy.forward_backward import Selector, relevant, select
from fisherem.policy.latent_classes import ClassJudge, LatentClasses
from fisherem.policy.scaling import RAW, STANDARDISE, divisors
from fisherem.policy.variables import roles_table
from fisherem.rows.variables import Blocks

BLOCKS = Blocks.of_widths([1, 3, 2, 1, 4])
NAMES = ["number", "three", "two", "noise", "four"]


def table(seed=0, n=200):
    """(rows, labels): two groups that a number and two categories tell apart; a number and a category are noise."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(2, size=n)
    three = np.where(rng.uniform(size=n) < 0.7, labels, rng.randint(3, size=n))
    two = np.where(rng.uniform(size=n) < 0.8, labels, rng.randint(2, size=n))
    parts = [
        (2.0 * labels + rng.normal(size=n))[:, None], np.eye(3)[three], np.eye(2)[two], rng.normal(size=(n, 1)),
        np.eye(4)[rng.randint(4, size=n)],
    ]  # fmt: skip
    return np.hstack(parts), labels


def problem(rows, blocks=BLOCKS):
    return replace(prepare(rows, ridge=1e-3, n_jobs=1), blocks=blocks)


def matrices(partition):
    """T and W of all columns, with what the spacing of values adds to the variances."""
    total = np.column_stack([partition.scatter.column(j) for j in range(len(partition.H))])
    same = BLOCKS.variable[:, None] == BLOCKS.variable
    total = total * (1 + same * partition.floors)
    return total, total - partition.H @ partition.H.T


def log_det(matrix, columns, given):
    both = [*given, *columns]
    whole = np.linalg.slogdet(matrix[np.ix_(both, both)])[1]
    return whole - (np.linalg.slogdet(matrix[np.ix_(given, given)])[1] if given else 0.0)


@pytest.mark.parametrize("chosen", [[], [1], [0, 4], [2, 1]])
def test_gains_are_those_of_determinants(chosen):
    rows, labels = table()
    partition = Partition.of_labels(problem(rows), labels, 2)
    selector = Selector(partition, np.eye(2))
    selector.reset(chosen)
    total, within = matrices(partition)
    free = [[int(j) for j in BLOCKS.free(columns)] for columns in BLOCKS.members]
    given = [j for v in chosen for j in free[v]]
    gains = selector.conditional_gains()
    for v in range(5):
        if v in chosen:
            continue
        expected = partition.n / 2 * (log_det(total, free[v], given) - log_det(within, free[v], given))
        assert gains[v] == pytest.approx(expected, rel=1e-6, abs=1e-8)
        if not chosen:
            assert selector.alone[v] == pytest.approx(expected, rel=1e-6, abs=1e-8)
    losses = selector.losses() if chosen else []
    for v, loss in zip(chosen, losses, strict=True):
        others = [j for other in chosen if other != v for j in free[other]]
        expected = partition.n / 2 * (log_det(total, free[v], others) - log_det(within, free[v], others))
        assert loss == pytest.approx(expected, rel=1e-4)


def test_leaving_out_a_block_is_as_if_it_had_not_been_added():
    rows, labels = table()
    selector = Selector(Partition.of_labels(problem(rows), labels, 2), np.eye(2))
    selector.reset([0, 1, 2])
    selector.drop(1)
    kept = selector.conditional_gains()
    selector.reset([0, 2])
    np.testing.assert_allclose(kept, selector.conditional_gains())


def test_c_counts_a_category_once_and_its_columns_but_one():
    rows, labels = table()
    partition = Partition.of_labels(problem(rows), labels, 2)
    support = BLOCKS.columns_of([0, 1])
    total, within = matrices(partition)
    columns, n = [0, 1, 2], partition.n
    explained = n / 2 * (log_det(total, columns, []) - log_det(within, columns, []))
    sizes = np.bincount(labels)
    expected = explained - price(n, 5, 1, 0) - price(n, 5, 1, 1, 2) + sizes @ np.log(sizes / n) - np.log(n)
    assert judge(partition, support).value == pytest.approx(expected, rel=1e-6)
    assert price(n, 5, 1, 1, 2) == pytest.approx(price(n, 5, 1, 1) + np.log(n) / 2)


def test_which_indicator_is_left_out_does_not_matter():
    rows, labels = table()
    turned = rows.copy()
    turned[:, 1:4] = rows[:, [3, 1, 2]]
    values = [judge(Partition.of_labels(problem(X), labels, 2), np.arange(4)).value for X in (rows, turned)]
    assert values[0] == pytest.approx(values[1])


def test_blocks_are_selected_as_a_whole():
    rows, labels = table()
    partition = Partition.of_labels(problem(rows), labels, 2)
    np.testing.assert_array_equal(select(partition, np.zeros(0, int), 1), [0, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(relevant(partition, np.zeros(0, int), 1), [0, 1, 2, 3, 4, 5])


def test_one_row_of_roles_per_variable():
    rows, labels = table()
    partition = Partition.of_labels(problem(rows), labels, 2)
    roles = roles_table(partition, BLOCKS.columns_of([0, 1]), NAMES)
    assert list(roles["variable"]) == NAMES
    assert list(roles["role"]) == ["selected", "selected", "additional", "no evidence", "no evidence"]
    plain = np.column_stack([partition.scatter.column(j) for j in range(len(partition.H))])
    columns = BLOCKS.members[1]
    between = (partition.H[columns] ** 2).sum() / np.diagonal(plain)[columns].sum()
    assert roles["between_share"][1] == pytest.approx(between, rel=1e-6)

    def fisher(variables):
        chosen = [j for v in variables for j in BLOCKS.free(BLOCKS.members[v])]
        return np.trace(np.linalg.solve(plain[np.ix_(chosen, chosen)], partition.H[chosen] @ partition.H[chosen].T))

    whole = fisher([0, 1])
    assert roles["criterion_share"][1] == pytest.approx((whole - fisher([0])) / whole, rel=1e-5)
    assert roles["criterion_share"][2] == pytest.approx((fisher([0, 1, 2]) - whole) / whole, rel=1e-4)


def test_columns_without_blocks_are_as_before():
    _, labels = table()
    single = Blocks.of_widths([1] * 5)
    numbers = np.random.RandomState(1).normal(size=(200, 5)) + labels[:, None] * [2, 1, 0, 0, 0.5]
    with_blocks = Partition.of_labels(problem(numbers, single), labels, 2)
    without = replace(with_blocks, blocks=None)
    for support in (np.zeros(0, int), np.array([1, 3])):
        np.testing.assert_array_equal(select(with_blocks, support, 1), select(without, support, 1))
        np.testing.assert_array_equal(relevant(with_blocks, support, 1), relevant(without, support, 1))
    one, other = (roles_table(p, np.array([0, 4]), NAMES) for p in (with_blocks, without))
    assert list(one["role"]) == list(other["role"])
    np.testing.assert_allclose(one["conditional_gain"], other["conditional_gain"], rtol=1e-6)


def test_indicators_weigh_what_they_do_in_the_factor_analysis_of_mixed_data():
    rows, _ = table()
    rows[:, 0] *= 1000
    found = divisors(problem(rows), STANDARDISE)
    np.testing.assert_allclose(found[1:4], np.sqrt(rows[:, 1:4].mean(axis=0)))
    np.testing.assert_allclose(found[[0, 6]], rows[:, [0, 6]].std(axis=0))
    np.testing.assert_allclose(divisors(problem(rows), RAW)[[0, 6]], 1)
    scaled = rows / found
    variances = scaled.var(axis=0)
    np.testing.assert_allclose(variances[1:4], 1 - rows[:, 1:4].mean(axis=0))
    # all directions of a category have the variance of one standardised number
    values = np.linalg.eigvalsh(np.cov(scaled[:, 7:].T, bias=True))
    np.testing.assert_allclose(values, [0, 1, 1, 1], atol=1e-9)


# -- latent classes ----------------------------------------------------------------------------------------------------


def naive_gain(classes, labels, K):
    """An M-step from hard labels, the variables that pay, and the likelihood of the mixture less that of one class."""
    n, penalty = len(labels), (K - 1) / 2 * np.log(len(labels))
    member = [labels == k for k in range(K)]
    logs = np.tile(np.log([one.mean() for one in member]), (n, 1))
    one, parameters = 0.0, 0
    for j, z in enumerate(classes.numbers.T):
        means = [z[rows].mean() for rows in member]
        floor = classes._floors[j]
        all_of = np.mean(z**2) + floor
        within = np.mean((z - np.array(means)[labels]) ** 2) + floor
        if n / 2 * np.log(all_of / within) > penalty:
            for k in range(K):
                logs[:, k] += -0.5 * (z - means[k]) ** 2 / within - 0.5 * np.log(within)
            one += np.sum(-0.5 * z**2 / all_of - 0.5 * np.log(all_of))
            parameters += 1
    for D in classes.levels:
        shares = D.mean(axis=0)
        inside = np.array([(D[rows].sum(axis=0) + shares) / (rows.sum() + 1) for rows in member])
        explained = sum((D[rows] @ np.log(inside[k] / shares)).sum() for k, rows in enumerate(member))
        if explained > (D.shape[1] - 1) * penalty:
            logs += D @ np.log(inside).T
            one += (D @ np.log(shares)).sum()
            parameters += D.shape[1] - 1
    return np.log(np.exp(logs).sum(axis=1)).sum() - one - penalty * (parameters + 1)


def test_a_step_of_latent_classes():
    rows, labels = table()
    classes = LatentClasses(problem(rows))
    found = classes.settle(labels, 2, iterations=1)
    assert found.gain == pytest.approx(naive_gain(classes, labels, 2), rel=1e-9)
    np.testing.assert_array_equal(found.variables, [0, 1, 2])


def test_latent_classes_find_the_groups_and_their_variables():
    rows, labels = table()
    start = np.where(np.random.RandomState(3).uniform(size=len(labels)) < 0.3, 1 - labels, labels)
    found = LatentClasses(problem(rows)).settle(start, 2)
    assert max(np.mean(found.labels == labels), np.mean(found.labels != labels)) > 0.88
    np.testing.assert_array_equal(found.variables, [0, 1, 2])
    assert found.gain > 0


def test_a_weight_of_two_is_a_repeated_row():
    rows, labels = table(n=120)
    weights = np.random.RandomState(0).randint(1, 3, size=120)
    twice = np.repeat(np.arange(120), weights)
    one = ClassJudge(replace(prepare(rows, weights.astype(float), ridge=1e-3, n_jobs=1), blocks=BLOCKS)).gain(labels)
    other = ClassJudge(problem(rows[twice])).gain(labels[twice])
    assert one.value == pytest.approx(other.value, rel=1e-2)
    np.testing.assert_array_equal(one.support, other.support)


def test_noise_gains_nothing():
    rng = np.random.RandomState(0)
    levels = [np.eye(L)[rng.randint(L, size=200)] for L in (3, 2, 4)]
    rows = np.hstack([rng.normal(size=(200, 1)), *levels[:2], rng.normal(size=(200, 1)), levels[2]])
    judge_of = ClassJudge(problem(rows))
    for seed in range(5):
        assert judge_of.gain(np.random.RandomState(seed).randint(2, size=200)).value < 0

"""One group against two: the bootstrap refuses one group where there are two, and keeps it in noise of any kind."""

import numpy as np
import pytest

from fisherem.policy.number_of_groups.one_or_two import one_group_p_value


def p_value(values, seed=0):
    return one_group_p_value(values, np.ones(len(values)), seed)


def noise(kind, seed):
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(120, 8))
    return {
        "spherical": plain,
        "with a factor": 0.6 * plain + 0.8 * rng.normal(size=(120, 1)),
        "skewed": np.exp(plain),
    }[kind]


@pytest.mark.parametrize("kind", ["spherical", "with a factor", "skewed"])
def test_noise_is_one_group(kind):
    # a test of size 1/20 refuses one group of twenty by chance: of three it may refuse one
    assert sum(p_value(noise(kind, seed)) > 0.05 for seed in range(3)) >= 2


@pytest.mark.parametrize("n", [40, 200])
def test_two_groups_are_not_one(n):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(n, 10))
    values[: n // 2, :3] += 3
    assert p_value(values) == 0.05


def test_groups_behind_a_common_factor_are_seen():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(200, 10)) + 0.75 * rng.normal(size=(200, 1))
    values[:100, :4] += np.array([3.0, -3.0, 3.0, -3.0])
    assert p_value(values) == 0.05


def test_rows_of_weight_0_and_constant_columns_do_not_count():
    values = noise("spherical", 3)
    more = np.column_stack([np.vstack([values, 100 + values[:5]]), np.ones(125)])
    weights = np.append(np.ones(120), np.zeros(5))
    assert one_group_p_value(more, weights, 0) == p_value(values)


def test_a_seed_gives_the_same_value_and_too_few_rows_give_none():
    assert p_value(noise("skewed", 4), 7) == p_value(noise("skewed", 4), 7)
    assert np.isnan(p_value(np.random.default_rng(0).normal(size=(5, 3))))

"""The quick adjusted Rand index is scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fisherem.core.starts.partitions import adjusted_rand


@pytest.mark.parametrize("n", [1, 2, 3, 10, 200])
def test_it_is_the_adjusted_rand_index(n):
    rng = np.random.default_rng(n)
    for groups in (1, 2, 5):
        for others in (1, 3, 7):
            one, other = rng.integers(0, groups, n), rng.integers(0, others, n)
            assert adjusted_rand(one, other) == pytest.approx(adjusted_rand_score(one, other), abs=1e-12)


def test_the_same_partition_under_other_numbers_agrees_fully():
    labels = np.array([0, 0, 1, 2, 2, 1])
    assert adjusted_rand(labels, (labels + 1) % 3) == 1.0

"""Whether two fits are the same up to rounding."""

import numpy as np
import pytest


def same(one, other):
    assert one.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=1e-9)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_allclose(one.loadings_, other.loadings_, atol=1e-7)
    assert [one.n_iter_, one.n_parameters_] == [other.n_iter_, other.n_parameters_]

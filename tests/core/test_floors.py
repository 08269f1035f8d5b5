"""The floor of the covariances inside the axes."""

import warnings

import numpy as np

from fisherem.core.dlm.m_step import floored


def test_a_covariance_above_its_floor_stays_as_it_is():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(3, 5, 2))
    covariances = factors.transpose(0, 2, 1) @ factors
    covariances[1] *= 0.01
    raised, counts, _ = floored(covariances, 2 * np.linalg.eigvalsh(covariances[1])[0])
    assert counts.tolist() == [0, 1, 0]
    np.testing.assert_array_equal(raised[[0, 2]], covariances[[0, 2]])
    values, before = np.linalg.eigvalsh(raised[1]), np.linalg.eigvalsh(covariances[1])
    np.testing.assert_allclose(values, np.sort([2 * before[0], before[1]]))


def test_no_floor_is_missed():
    """1 / trace of the inverse bounds the smallest eigenvalue from below: just above the floor, and just below it."""
    covariances = np.array([np.diag([1.0, 1.0]), np.diag([0.6, 5.0])])
    assert floored(covariances, 0.59)[1].tolist() == [0, 0]
    assert floored(covariances, 0.61)[1].tolist() == [0, 1]


def test_the_smallest_variances_are_raised_without_a_warning():
    covariances = np.array([np.diag([1.0, 1e-320]), np.eye(2)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raised, counts, _ = floored(covariances, 1e-9)
    np.testing.assert_allclose(raised, [np.diag([1.0, 1e-9]), np.eye(2)])
    assert counts.tolist() == [1, 0]

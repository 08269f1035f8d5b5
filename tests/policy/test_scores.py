"""Sinh-arcsinh scores: against a naive transcription and another optimiser, and what they do to columns."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import kurtosis, skew

from fisherem.policy.columns import spacing_floors
from fisherem.policy.scores import Scores, moments, standardised

N = 250


def log_likelihood(x, xi, log_eta, epsilon, log_delta):
    """Of one group, row by row, with the prior on epsilon and log delta."""
    total = 0.0
    for value in x:
        u = (value - xi) / np.exp(log_eta)
        t = np.exp(log_delta) * np.arcsinh(u) - epsilon
        slope = log_delta - log_eta + np.log(np.cosh(t)) - 0.5 * np.log(1 + u * u)
        total += slope - 0.5 * np.sinh(t) ** 2
    return total - 0.5 * (epsilon**2 + log_delta**2)


def columns(seed=0):
    rng = np.random.default_rng(seed)
    two = rng.random(N) < 0.5
    return {
        "normal": rng.normal(size=N),
        "log-normal": np.exp(rng.normal(size=N)),
        "gamma": rng.gamma(1, size=N),
        "t3": rng.standard_t(3, size=N),
        "two groups": rng.normal(size=N) + 6 * two,
    }


@pytest.mark.parametrize("name", columns())
def test_parameters_maximise_the_likelihood_of_one_group(name):
    x = columns()[name][:200]  # as many rows as quantiles: nothing is left out
    found = Scores.of(x[:, None])
    theta = [found.location[0], np.log(found.scale[0]), found.skew[0], found.tail[0]]
    starts = [[np.median(x), np.log(x.std()), 0.0, tail] for tail in (0.0, 0.4, -0.4)]
    options = {"maxiter": 4000, "xatol": 1e-6, "fatol": 1e-8}
    best = max(
        -minimize(lambda t: -log_likelihood(x, *t), s, method="Nelder-Mead", options=options).fun
        for s in [*starts, theta]
    )
    assert log_likelihood(x, *theta) > best - (2 if name == "two groups" else 0.7)  # nats of 200 rows
    prior = 0.5 * (theta[2] ** 2 + theta[3] ** 2)
    plain = log_likelihood(x, *theta) + prior - 100 * np.log(2 * np.pi)
    np.testing.assert_allclose(found.log_likelihood(x[:, None], np.ones(200)), plain)


def test_more_steps_end_within_a_nat_of_the_maximum():
    X, ones = np.exp(np.random.default_rng(0).normal(size=(150, 100))), np.ones(150)
    best = Scores.of(X, steps=1000).log_likelihood(X, ones)
    assert (Scores.of(X, steps=100).log_likelihood(X, ones) > best - 1).all()
    assert (Scores.of(X).log_likelihood(X, ones) > best - 1).mean() > 0.7


def test_skew_and_tails_go_and_modes_stay():
    X = np.column_stack(list(columns().values()))
    Z = Scores.of(X).transform(X)
    assert (np.abs(skew(Z[:, 1:4])) < 0.3).all()
    assert (np.abs(kurtosis(Z[:, 1:4])) < 1.3).all()
    assert skew(X[:, 1]) > 2
    two = np.sort(Z[:, 4])
    middle = (two[N // 4] + two[3 * N // 4]) / 2
    assert np.mean(np.abs(two - middle) < 0.2 * two.std()) < 0.05  # hardly anything between the modes


def test_scores_do_not_depend_on_units_and_keep_the_order():
    x = columns()["log-normal"][:, None]
    one, other = Scores.of(x).transform(x), Scores.of(1000 * x + 5).transform(1000 * x + 5)
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(np.argsort(one[:, 0]), np.argsort(x[:, 0]))


def test_columns_whose_squares_are_too_small_for_floats():
    values = np.array([0.0] * 27 + [3.0, -2.0, 5.0])[:, None] * 2.0**-600
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(Scores.of(values).transform(values)).all()


def test_weights_are_repetitions():
    rng = np.random.default_rng(3)
    X = np.exp(rng.normal(size=(60, 3)))
    counts = rng.integers(1, 5, size=60)
    weighted, repeated = Scores.of(X, counts.astype(float)), Scores.of(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-10)


def test_rows_of_very_small_weights_have_scores():
    x = np.exp(np.random.default_rng(0).normal(size=(12, 2)))
    found = Scores.of(x, np.full(12, 1e-40)).transform(x)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(np.argsort(found, axis=0), np.argsort(x, axis=0))


def test_columns_of_few_values_and_constant_columns_are_not_transformed():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(2, size=N), rng.poisson(2, size=N), np.full(N, 3.0), rng.normal(size=N)]).astype(
        float
    )
    found = Scores.of(X)
    assert found.kept.tolist() == [True, True, True, False]
    np.testing.assert_array_equal(found.transform(X)[:, :3], X[:, :3])


def test_floors_are_the_variance_of_rounding():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(N) % 2, 10 * rng.integers(4, size=N), rng.normal(size=N)]).astype(float)
    floors = spacing_floors(X)
    assert floors[0] == pytest.approx(1 / 12 / 0.25)
    assert floors[1] == pytest.approx(100 / 12 / X[:, 1].var())
    assert floors[2] < 1e-4


def test_standardised_columns():
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(40, 3)) * [1, 5, 0] + [0, 100, 7], rng.random(40) + 0.1
    mean, variance = moments(standardised(X, w), w)
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    np.testing.assert_allclose(variance, [1, 1, 0], atol=1e-9)

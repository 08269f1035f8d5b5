"""The E-step with gaps and its statistics, against explicit sub-matrices; patterns from hypothesis."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fisherem.core.data.noise_metric import NoiseMetric
from fisherem.core.missing.completion import complete_first, complete_with
from fisherem.core.missing.expectation import Conditional, GapRows
from fisherem.core.missing.patterns import GapMixture, Patterns
from fisherem.tables.scaling import in_unit

from . import naive


def orthonormal(rng, p, d):
    return np.linalg.qr(rng.normal(size=(p, d)))[0]


def mixture(rng, p, d, m, K, full):
    """(proportions, means, axes, covariances, noises, metric), at random."""
    axes = orthonormal(rng, p, d)
    metric = NoiseMetric(orthonormal(rng, p, m), rng.uniform(0.2, 5, m)) if m else None
    along = axes if metric is None else metric.spread_along(axes)
    means = rng.normal(size=(K, p)) if full else rng.normal(size=p) + 2 * rng.normal(size=(K, d)) @ along.T
    roots = rng.normal(size=(K, d, d))
    sigmas = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(d)
    return rng.dirichlet(np.full(K, 5.0)), means, axes, sigmas, rng.uniform(0.1, 2, K), metric


def rows_with(rng, missing):
    X = rng.normal(size=missing.shape) * 2
    X[missing] = np.nan
    return X


@st.composite
def tables(draw):
    """(seed, bool n x p: any pattern of gaps, rows and columns without anything observed included)."""
    n, p = draw(st.integers(1, 12)), draw(st.integers(2, 6))
    mask = draw(st.lists(st.lists(st.booleans(), min_size=p, max_size=p), min_size=n, max_size=n))
    return draw(st.integers(0, 2**16)), np.array(mask)


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(1, 2), st.integers(0, 2), st.booleans())
def test_densities_and_moments_are_those_of_sub_matrices(drawn, d, m, full):
    seed, missing = drawn
    rng = np.random.default_rng(seed)
    n, p = missing.shape
    d = min(d, p - 1)
    parts = mixture(rng, p, d, min(m, p - 1), 3, full)
    X, w = rows_with(rng, missing), rng.uniform(0.5, 2, n)
    found = Conditional(GapRows.of(Patterns.of(~missing), X, np.zeros(p), w), GapMixture.of(*parts))
    log_joint, rows, spread = naive.conditionals(X, parts[0], parts[1], naive.covariances(*parts[2:]))
    T, density = naive.posteriors(log_joint)
    unsorted = found.rows.patterns.unsorted
    assert np.allclose(unsorted(found.log_density), density, atol=1e-9)
    assert np.allclose(unsorted(found.posteriors), T, atol=1e-9)
    wT = T * w
    assert np.allclose(found.sums(), np.einsum("kn,knp->kp", wT, rows), atol=1e-8)
    columns = rng.normal(size=(p, 2))
    first, second, norms = found.products(columns)
    e = rows - parts[0] @ parts[1]
    moments = np.einsum("kn,knp,knq->kpq", wT, e, e) + np.einsum("kn,knpq->kpq", wT, spread)
    assert np.allclose(first, np.einsum("kn,knp->kp", wT, e) @ columns, atol=1e-8)
    assert np.allclose(second, columns.T @ moments @ columns, atol=1e-7)
    assert np.allclose(norms, np.trace(moments, axis1=1, axis2=2), atol=1e-7)


def test_many_patterns_are_worked_on_in_chunks():
    rng = np.random.default_rng(3)
    missing = rng.random((60, 5)) < 0.4
    parts = mixture(rng, 5, 2, 1, 3, False)
    rows = GapRows.of(Patterns.of(~missing), rows_with(rng, missing), np.zeros(5), None)
    whole = Conditional(rows, GapMixture.of(*parts))
    few = replace(rows, patterns=replace(rows.patterns, at_once=200))
    pieces = Conditional(few, GapMixture.of(*parts))
    assert len(list(pieces.parts())) > 3
    assert np.allclose(pieces.log_density, whole.log_density, rtol=1e-12)
    for one, other in zip(pieces.products(parts[2]), whole.products(parts[2]), strict=True):
        assert np.allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("noise", [1e-8, 1e-11, 1e-14])
def test_rows_that_hardly_leave_the_axes_keep_their_digits(noise):
    """Of four columns one is the difference of two others, up to the noise; every row has at least three of them."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, -1, 0]]))[0]
    X = 100 * rng.normal(size=(30, 3)) @ axes.T + np.sqrt(noise) * rng.normal(size=(30, 4))
    missing = np.zeros(X.shape, bool)
    missing[20:, 2] = True  # the columns that depend on each other are all there
    mixed = GapMixture.of(np.ones(1), np.zeros((1, 4)), axes, 1e4 * np.eye(3)[None], np.array([noise]))
    rows = GapRows.of(Patterns.of(~missing), np.where(missing, np.nan, X), np.zeros(4), None)
    found = rows.patterns.unsorted(Conditional(rows, mixed).distances)[0]
    off = np.array([1.0, -1, 0, -1]) / np.sqrt(3)  # both kinds of rows lie off their axes in this direction
    seen = np.where(missing, 0.0, X)
    along = seen - np.outer(seen @ off, off)
    expected = (seen @ off) ** 2 / noise + (along**2).sum(axis=1) / 1e4
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-4)


def test_rows_of_one_pattern_are_looked_at_together():
    missing = np.zeros((200, 6), bool)
    missing[::2, 1] = missing[::3, 4] = True
    patterns = Patterns.of(~missing)
    assert len(patterns) == 4
    for g, observed in enumerate(patterns.observed):
        assert (missing[patterns.order[patterns.starts[g] : patterns.starts[g + 1]]] == (observed == 0)).all()


def test_completions_with_groups_know_the_groups_means():
    """With independent columns a missing cell gets the mean of its group, and one group that of all rows."""
    rng = np.random.default_rng(0)
    n, p = 3000, 4
    labels = rng.integers(2, size=n)
    X = np.array([[0.0, 0, 0, 0], [8, -6, 0, 4]])[labels] + rng.normal(size=(n, p))
    gaps = rng.random((n, p)) < 0.15
    X[gaps] = np.nan
    T = (labels == np.arange(2)[:, None]).astype(float)
    problem = complete_with(complete_first(X, None, rescale=in_unit, ridge=1e-3, n_jobs=1), T)
    Y = problem.given.everything()
    assert (Y[~gaps] == X[~gaps]).all()
    for k in range(2):
        assert np.allclose(Y[labels == k].mean(axis=0), np.nanmean(X[labels == k], axis=0), atol=0.03)
    within = problem.scatter.variances() - np.var(np.stack([np.nanmean(X[labels == k], axis=0) for k in range(2)]), 0)
    assert np.allclose(within, 1, atol=0.08)


def test_the_correction_adds_what_completed_cells_hide():
    """With independent columns nothing is known of a missing cell: the variances are those of the observed ones."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 3)) * [1.0, 10.0, 0.1]
    X[rng.random(X.shape) < 0.3] = np.nan
    problem = complete_first(X, None, rescale=in_unit, ridge=1e-3, n_jobs=1)
    assert np.allclose(problem.scatter.variances(), np.nanvar(X, axis=0), rtol=0.02)
    assert (problem.given.everything().var(axis=0) < 0.8 * np.nanvar(X, axis=0)).all()


@pytest.mark.parametrize("unit", [1e-180, 1e180])
def test_squares_out_of_reach_are_rescaled(unit):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    there = complete_first(X * unit, None, rescale=in_unit, ridge=1e-3, n_jobs=1)
    here = complete_first(X, None, rescale=in_unit, ridge=1e-3, n_jobs=1)
    assert np.allclose(there.given.everything() * there.unit / unit, here.given.everything(), rtol=1e-6)

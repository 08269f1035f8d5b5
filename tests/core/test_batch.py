"""F- and M-steps of several runs as stacks: those of each run alone."""

import numpy as np
import pytest

from fisherem import FisherEM
from fisherem.core.data.problem import prepare
from fisherem.core.dlm.family import DLMStep
from fisherem.core.dlm.m_step import floored
from fisherem.estimators.fitting import specification


def steps_of(problem, models, d=2, **changes):
    found = []
    for model in models:
        estimator = FisherEM(3, model=model, n_axes=d, random_state=0, noise_factors=0, **changes)
        found.append(specification(estimator, problem.rows.n, problem.p).family.begin(problem))
    return found


def asked_for(problem, steps):
    """What each run has before its F-step: the sums of a random partition."""
    rng = np.random.default_rng(0)
    states = [problem.start_states(rng.dirichlet(np.ones(3), size=problem.rows.n), 3) for _ in steps]
    return states, [problem.group_sums(own) for own in states]


@pytest.mark.parametrize("models", [["AkB"] * 3, ["AB", "DkBk", "AkjB", "DB"]])
def test_the_stack_gives_what_each_step_gives(wine, models):
    problem = prepare(wine[0], ridge=1e-2)
    steps, others = steps_of(problem, models), steps_of(problem, models)
    states, sums = asked_for(problem, steps)
    placings = DLMStep.several("place", steps, [(own,) for own in sums])
    assert placings is not None
    moments = [problem.rows.fold(type(p).kernel, own, p) for own, p in zip(states, placings, strict=True)]
    solutions = DLMStep.several("update", steps, list(zip(sums, placings, moments, strict=True)))
    for step, own, placing, moment, solution in zip(others, sums, placings, moments, solutions, strict=True):
        alone = step.place(own)
        np.testing.assert_allclose(placing.latent_means, alone.latent_means, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(placing.matrix, alone.matrix, rtol=1e-9, atol=1e-12)
        expected = step.update(own, alone, moment)
        assert solution.separation == pytest.approx(expected.separation)
        for name in ("proportions", "covariances", "noises", "whiteners", "constants"):
            np.testing.assert_allclose(
                getattr(solution.density, name), getattr(expected.density, name), rtol=1e-9, atol=1e-12
            )


@pytest.mark.parametrize("changes", [{"d": 1}, {"means": "full"}, {"discriminant": "orthonormal"}])
def test_what_no_stack_is_known_for_is_done_one_by_one(wine, changes):
    problem = prepare(wine[0], ridge=1e-2)
    steps = steps_of(problem, ["AkB"] * 2, **changes)
    _, sums = asked_for(problem, steps)
    assert DLMStep.several("place", steps, [(own,) for own in sums]) is None


def test_a_covariance_above_its_floor_stays_as_it_is():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(3, 5, 2))
    covariances = factors.transpose(0, 2, 1) @ factors
    raised, counts, _ = floored(covariances, np.array([1e-3, 2 * np.linalg.eigvalsh(covariances[1])[0], 1e-3]))
    assert counts.tolist() == [0, 1, 0]
    np.testing.assert_array_equal(raised[[0, 2]], covariances[[0, 2]])
    values, before = np.linalg.eigvalsh(raised[1]), np.linalg.eigvalsh(covariances[1])
    np.testing.assert_allclose(values, np.sort([2 * before[0], before[1]]))


def test_no_floor_is_missed():
    """1 / trace of the inverse bounds the smallest eigenvalue from below: just above the floor, and just below it."""
    covariances = np.array([np.diag([1.0, 1.0]), np.diag([0.6, 5.0])])
    assert floored(covariances, 0.59)[1].tolist() == [0, 0]
    assert floored(covariances, 0.61)[1].tolist() == [0, 1]

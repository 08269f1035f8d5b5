import numpy as np
import pytest

from fisherem.core.data.problem import prepare
from fisherem.core.dlm.family import DLMFamily
from fisherem.core.engine.loop import AitkenStop, FisherStop, Settings, Stop, StopKind, run
from fisherem.model.dlm import MODELS


def settings(**changes):
    return Settings(**{"max_iter": 100, "tol": 1e-6, "stopping": "aitken", **changes})


def family(discriminant="orthonormal", d=2):
    return DLMFamily(3, d, MODELS["DkBk"], discriminant, 1e-4)


def test_aitken_knows_the_limit_of_a_geometric_sequence():
    stop = AitkenStop(1e-6)
    values = [10 - 0.5**i for i in range(30)]
    stopped = next(i for i, v in enumerate(values) if stop(v, 0.0))
    assert stop.limit == pytest.approx(10)
    assert stopped == 3  # three values for an estimate, a fourth to confirm it


def test_aitken_does_not_stop_in_an_oscillation():
    stop = AitkenStop(1e-3)
    assert not any(stop((-1) ** i, 0.0) for i in range(50))


def test_fisher_stop_watches_the_criterion():
    stop = FisherStop(1e-3)
    assert [stop(0.0, f) for f in (1.0, 1.1, 1.1002)] == [False, False, True]


def test_history_has_a_record_per_iteration(groups):
    Y, T = groups
    problem = prepare(Y, ridge=1e-3)
    fit = run(problem, problem.start_states(T, 3), family(), settings())
    assert fit.converged
    assert str(fit.stop) == "aitken"
    assert [r["iteration"] for r in fit.history] == list(range(1, fit.n_iter + 1))
    assert fit.history[-1]["log_likelihood"] == fit.log_likelihood
    fisher = run(problem, problem.start_states(T, 3), family(), settings(stopping="fisher"))
    assert str(fisher.stop) == "fisher"
    values = [r["fisher"] for r in fisher.history]
    assert abs(values[-1] - values[-2]) < 1e-6


def test_an_empty_group_is_refilled_and_said_so():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    Y = rng.normal(size=(300, 5)) + 6 * rng.normal(size=(3, 5))[labels]
    problem = prepare(Y, ridge=1e-3)
    # group 2 is given next to nothing: one observation's worth, spread over all rows
    T = np.zeros((300, 3))
    T[np.arange(300), np.where(labels == 2, 1, labels)] = 1
    T[:, :2] *= 1 - 1.2 / 300
    T[:, 2] = 1.2 / 300
    fit = run(problem, problem.start_states(T, 3), family(), settings())
    sizes = problem.rows.gather(fit.states, "posteriors").sum(axis=1)
    events = [r["event"] for r in fit.history if r["event"]]
    assert sizes.min() > 1
    assert any("refilled" in e for e in events)


def test_a_start_with_an_empty_group_is_an_error(groups):
    Y, _ = groups
    problem = prepare(Y, ridge=1e-3)
    with pytest.raises(FloatingPointError, match="group 3"):
        run(problem, problem.start_states(np.arange(len(Y)) % 2, 3), family(), settings())


def test_a_cycle_is_detected_and_its_most_likely_iterate_returned(iris):
    """iris (raw) with svd axes never settles: a relaxation cycle of about eight iterations."""
    from fisherem import datasets

    Y, y = datasets.load("iris")
    problem = prepare(Y, ridge=1e-3)
    fit = run(problem, problem.start_states(y, 3), family("svd"), settings(max_iter=1000, tol=1e-4))
    assert fit.stop == Stop(StopKind.CYCLE)
    assert not fit.converged
    last = [r["log_likelihood"] for r in fit.history[-20:]]
    assert fit.log_likelihood == max(last)
    # the states belong to the iterate that is returned
    np.testing.assert_allclose(problem.rows.gather(fit.states, "log_density").sum(), fit.log_likelihood)


def test_max_iter_is_said(groups):
    Y, T = groups
    problem = prepare(Y, ridge=1e-3)
    fit = run(problem, problem.start_states(T, 3), family(), settings(max_iter=2))
    assert (str(fit.stop), fit.converged, fit.n_iter) == ("max_iter", False, 2)

"""Roles of variables against regressions by hand, and on data with known roles."""

import numpy as np
import pandas as pd
import pytest

from fisherem import SparseFisherEM, datasets
from fisherem.core.data.problem import prepare
from fisherem.policy.criterion import Partition
from fisherem.policy.variables import ROLES, roles_table


def residual(y, Z):
    """What least squares on Z (with a constant) leaves of y."""
    design = np.column_stack([np.ones(len(y)), Z])
    return y - design @ np.linalg.lstsq(design, y, rcond=None)[0]


@pytest.fixture(scope="module")
def known():
    """Two variables make three groups, two are linear in them, two differ on their own, three are noise."""
    rng = np.random.default_rng(5)
    y = np.arange(300) % 3
    S = 4 * np.array([[1.0, 0], [-1, 0], [0, 1.5]])[y] + rng.normal(size=(300, 2))
    U = S @ np.array([[0.6, 0.2], [0.1, -0.7]]) + 0.5 * rng.normal(size=(300, 2))
    extra = 3 * np.array([[0.0, 1], [1, 0], [0, -1]])[y] + rng.normal(size=(300, 2))
    X = np.column_stack([S, U, extra, rng.normal(size=(300, 3))])
    return X, y


def table_of(X, y, support, weights=None):
    problem = prepare(X, weights, ridge=1e-3)
    names = [f"v{j}" for j in range(X.shape[1])]
    return roles_table(Partition.of_labels(problem, y, int(y.max()) + 1), np.asarray(support), names)


def test_roles_of_known_variables(known):
    X, y = known
    roles = table_of(X, y, [0, 1])
    assert list(roles["role"]) == ["selected"] * 2 + ["redundant"] * 2 + ["additional"] * 2 + ["no evidence"] * 3
    assert roles["explained_by"][2].split(", ")[0] == "v0"
    assert roles["explained_by"][3].split(", ")[0] == "v1"
    assert (roles["explained_by"][[0, 1, 4, 5, 6, 7, 8]] == "").all()
    assert list(roles.columns) == [
        "role",
        "variable",
        "conditional_gain",
        "explained_by",
        "marginal_gain",
        "between_share",
        "criterion_share",
    ]
    assert set(ROLES) == set(roles["role"])


def test_gains_are_those_of_regressions(known):
    """n/2 log of the residual variance with one mean for all rows over that with a mean per group."""
    X, y = known
    roles = table_of(X, y, [0, 1])
    D = np.eye(3)[y]
    n = len(X)
    for j in (2, 4, 6):
        without, within = residual(X[:, j], X[:, :2]), residual(X[:, j], np.column_stack([X[:, :2], D[:, 1:]]))
        expected = n / 2 * np.log((without**2).sum() / (within**2).sum())
        assert roles["conditional_gain"][j] == pytest.approx(expected, rel=1e-6, abs=1e-6)
        alone = n / 2 * np.log(np.var(X[:, j]) / np.mean(residual(X[:, j], D[:, 1:]) ** 2))
        assert roles["marginal_gain"][j] == pytest.approx(alone, rel=1e-6)
        assert roles["between_share"][j] == pytest.approx(1 - np.exp(-2 * alone / n), rel=1e-6)
    for j, other in ((0, 1), (1, 0)):  # what leaving a selected one out loses is what adding it to the other gains
        rest = X[:, [other]]
        without, within = residual(X[:, j], rest), residual(X[:, j], np.column_stack([rest, D[:, 1:]]))
        assert roles["conditional_gain"][j] == pytest.approx(
            n / 2 * np.log((without**2).sum() / (within**2).sum()), rel=1e-6
        )


def test_shares_of_fishers_criterion_by_inverses(known):
    X, y = known
    roles = table_of(X, y, [0, 1])
    T = np.cov(X.T, bias=True)
    M = np.array([X[y == k].mean(axis=0) for k in range(3)])
    B = np.cov(M.T, bias=True)

    def fisher(S):
        return np.trace(np.linalg.solve(T[np.ix_(S, S)], B[np.ix_(S, S)]))

    whole = fisher([0, 1])
    for j in range(2, 9):
        assert roles["criterion_share"][j] == pytest.approx((fisher([0, 1, j]) - whole) / whole, rel=1e-6, abs=1e-9)
    assert roles["criterion_share"][0] == pytest.approx((whole - fisher([1])) / whole, rel=1e-6)


def test_units_weights_and_the_row_space_change_nothing(known):
    X, y = known
    plain = table_of(X, y, [0, 1])
    scaled = table_of(X * np.geomspace(1e-3, 1e3, 9) + 5, y, [0, 1])
    weights = np.random.default_rng(0).integers(1, 3, size=len(X))
    weighted = table_of(X, y, [0, 1], weights.astype(float))
    repeated = table_of(np.repeat(X, weights, axis=0), np.repeat(y, weights), [0, 1])
    wide, noise = X[::13], np.random.default_rng(1).normal(size=(24, 40))
    in_row_space = table_of(np.column_stack([wide, noise]), y[::13], [0, 1])
    for one, other in ((plain, scaled), (weighted, repeated)):
        assert list(one["role"]) == list(other["role"])
        numbers = ["conditional_gain", "marginal_gain", "between_share", "criterion_share"]
        np.testing.assert_allclose(one[numbers], other[numbers], rtol=1e-5, atol=1e-6)
    alone = [24 / 2 * np.log(np.var(c) / np.mean(residual(c, np.eye(3)[y[::13]][:, 1:]) ** 2)) for c in wide.T]
    np.testing.assert_allclose(in_row_space["marginal_gain"][:9], alone, rtol=1e-6)


def test_every_sparse_fit_has_roles_and_a_dense_one_has_none():
    X, _, truth = datasets.simulate_roles(400, random_state=0)
    model = SparseFisherEM(4, random_state=0).fit(X)
    assert (model.roles_["role"] == "selected").to_numpy().tolist() == model.support_.tolist()
    assert list(model.roles_["variable"][:2]) == ["x1", "x2"]
    # the groups are made by S; U is linear in S, W is independent of the groups
    assert set(model.roles_["role"][truth == "S"]) == {"selected"}
    assert "selected" not in set(model.roles_["role"][truth != "S"])
    assert set(model.roles_["role"][truth == "W"]) == {"no evidence"}
    numeric = SparseFisherEM(4, sparsity=0.3, random_state=0).fit(X)
    assert (numeric.roles_["role"] == "selected").to_numpy().tolist() == numeric.support_.tolist()


def test_constant_columns_are_noise(known):
    X, _ = known
    with pytest.warns(UserWarning, match="constant"):
        model = SparseFisherEM(3, random_state=0).fit(np.column_stack([X, np.full(len(X), 2.0)]))
    assert model.roles_["role"].iloc[-1] == "no evidence"
    assert model.roles_[["conditional_gain", "marginal_gain", "between_share", "criterion_share"]].iloc[-1].sum() == 0


def test_a_printed_table_shows_role_and_variable_first(wine):
    """pandas leaves out columns in the middle where a table is wider than a terminal."""
    with pd.option_context("display.width", 80, "display.max_columns", 0):
        lines = str(SparseFisherEM(3, random_state=0).fit(wine[0]).roles_).splitlines()
    assert lines[0].split()[:2] == ["role", "variable"]
    assert lines[1].split()[1] in ROLES

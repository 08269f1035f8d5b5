import numpy as np
import pytest

from fisherem import datasets


def test_simulation_is_that_of_section_4_1():
    X, y = datasets.simulate(60_000, 1.7, random_state=0)
    assert X.shape == (60_000, 25)
    np.testing.assert_allclose(np.bincount(y) / 60_000, 1 / 3, atol=0.01)
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(means[:, :5], np.repeat([[1.7], [-1.7], [0.0]], 5, axis=1), atol=0.05)
    np.testing.assert_allclose(means[:, 5:], 0, atol=0.05)
    np.testing.assert_allclose(X[y == 0].std(axis=0), 1, atol=0.05)
    again, _ = datasets.simulate(60_000, 1.7, random_state=0)
    np.testing.assert_array_equal(X, again)
    with pytest.raises(ValueError, match=r"p must be at least q \(30\)"):
        datasets.simulate(q=30)


@pytest.mark.parametrize(("mu", "error"), [(0.6, 0.335), (1.7, 0.038)])
def test_bayes_error_of_the_simulation(mu, error):
    X, y = datasets.simulate(200_000, mu, random_state=1)
    means = mu * np.array([1.0, -1.0, 0.0])[:, None] * (np.arange(25) < 5)
    nearest = (
        ((X[:, None, :] - means) ** 2).sum(axis=2).argmin(axis=1)
        if len(X) < 1000
        else np.argmin(-2 * X @ means.T + (means**2).sum(axis=1), axis=1)
    )
    assert np.mean(nearest != y) == pytest.approx(error, abs=0.004)


@pytest.mark.parametrize(("name", "shape", "groups"), [("iris", (150, 4), 3), ("wine", (178, 13), 3)])
def test_built_in_tables(name, shape, groups):
    X, y = datasets.load(name)
    assert X.shape == shape
    assert len(np.unique(y)) == groups
    frame, _ = datasets.load(name, as_frame=True)
    np.testing.assert_array_equal(frame.to_numpy(), X)


@pytest.mark.parametrize(
    ("name", "shape", "groups"),
    [
        ("wine27", (178, 27), 3),
        ("zoo", (101, 16), 7),
        ("glass", (214, 9), 6),
        ("satimage", (4435, 36), 6),
        ("usps358", (1756, 256), 3),
        ("colon", (62, 2000), 2),
        ("lymphoma", (62, 4026), 3),
    ],
)
def test_real_tables(real_table, name, shape, groups):
    X, y = real_table(name)
    assert X.shape == shape
    assert X.dtype == float
    assert len(np.unique(y)) == groups


def test_missing_tables_say_where_to_look(monkeypatch, tmp_path):
    monkeypatch.delenv("FISHEREM_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="set the environment variable FISHEREM_DATA"):
        datasets.load("zoo")
    monkeypatch.setenv("FISHEREM_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"no tables/zoo\.csv in it"):
        datasets.load("zoo")
    with pytest.raises(ValueError, match="unknown data set 'mnist'; choose one of iris, wine"):
        datasets.load("mnist")


def test_changs_groups_differ_outside_the_leading_principal_components():
    X, y = datasets.simulate_chang(40_000, random_state=0)
    v = 0.95 - 0.05 * np.arange(1, 16)
    assert y.mean() == pytest.approx(0.2, abs=0.01)
    np.testing.assert_allclose(X[y == 0].mean(axis=0), 0.5 * v, atol=0.03)
    np.testing.assert_allclose(X[y == 1].mean(axis=0), 1.5 * v, atol=0.05)
    within = np.cov(X[y == 0].T)
    assert within[0, 1] == pytest.approx(-0.13 * 0.81, abs=0.02)
    assert within[0, 14] == pytest.approx(0.13 * 0.45, abs=0.02)
    np.testing.assert_allclose(np.diag(within), 1, atol=0.03)
    # the difference of the groups lies along the first and the last component, which is Chang's point
    vectors = np.linalg.eigh(np.cov(X.T))[1]
    shares = (vectors.T @ (v / np.linalg.norm(v))) ** 2
    assert shares[[0, -1]].sum() > 0.95
    assert shares[0] > 0.08
    again, _ = datasets.simulate_chang(40_000, random_state=0)
    np.testing.assert_array_equal(again, X)


def test_rotated_groups_lie_in_their_plane():
    drawn = datasets.simulate_rotated(20_000, p=10, noise=0.25, random_state=1)
    np.testing.assert_allclose(np.bincount(drawn.y), [8000, 6000, 6000])
    np.testing.assert_allclose(drawn.loadings.T @ drawn.loadings, np.eye(2), atol=1e-12)
    inside = drawn.X @ drawn.loadings
    for k in range(3):
        np.testing.assert_allclose(inside[drawn.y == k].mean(axis=0), [2.5 * k, 0], atol=0.06)
        np.testing.assert_allclose(np.cov(inside[drawn.y == k].T), [[1.5, 0.75], [0.75, 0.45]], atol=0.1)
    outside = drawn.X - inside @ drawn.loadings.T
    assert (outside**2).sum(axis=1).mean() == pytest.approx(8 * 0.25, rel=0.02)
    with pytest.raises(ValueError, match="p must be a whole number at least 3"):
        datasets.simulate_rotated(p=2)


def test_decibels_are_those_of_the_latent_variance():
    loud = datasets.simulate_snr(4000, p=12, snr=10, random_state=0)
    rest = loud.X - loud.X @ loud.loadings @ loud.loadings.T
    assert 10 * np.log10(1.95 / ((rest**2).sum(axis=1).mean() / 10)) == pytest.approx(10, abs=0.2)

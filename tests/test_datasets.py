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
    with pytest.raises(ValueError, match="q must lie"):
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

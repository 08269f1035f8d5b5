import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from fisherem import FisherEM, SparseFisherEM, datasets
from fisherem.plots import ProjectionDisplay


@pytest.fixture
def fitted(wine):
    X, _ = wine
    return SparseFisherEM(3, random_state=0, sparsity=0.2).fit(X), X


def test_projection_holds_what_it_shows(fitted):
    model, X = fitted
    data = ProjectionDisplay.from_estimator(model, X, names=[f"v{j}" for j in range(13)])
    np.testing.assert_allclose(data.points, X @ model.loadings_)
    np.testing.assert_array_equal(data.labels, model.labels_)
    np.testing.assert_allclose(data.centres, model.latent_means_)
    assert sorted(data.names) == sorted(f"v{j}" for j in np.flatnonzero(model.support_))
    # every ellipse is a contour of its group's density
    for k in range(3):
        offset = data.ellipses[k] - data.centres[k]
        np.testing.assert_allclose(
            np.einsum("ai,ij,aj->a", offset, np.linalg.inv(model.covariances_[k]), offset), 5.991
        )


def test_axes_can_be_chosen(wine):
    model = FisherEM(4, model="AB", random_state=0).fit(wine[0])
    data = ProjectionDisplay.from_estimator(model, wine[0], axes=(2, 0))
    np.testing.assert_allclose(data.points, (wine[0] @ model.loadings_)[:, [2, 0]])
    for axes in ((0, 3), (1, 1), (-1, 0)):
        with pytest.raises(ValueError, match="axes must be two different numbers between 0 and 2"):
            ProjectionDisplay.from_estimator(model, wine[0], axes=axes)


def test_drawing(fitted, wine):
    model, X = fitted
    display = ProjectionDisplay.from_estimator(model, X).plot()
    assert "axis 1" in display.ax_.get_xlabel()
    assert len(display.ax_.collections) == 3
    one = ProjectionDisplay.from_estimator(FisherEM(2, random_state=0).fit(X), X).plot()
    assert one.points.shape == (178, 1)
    plt.close("all")


def test_a_model_of_one_group_has_nothing_to_show(wine):
    with pytest.raises(ValueError, match="no axes"):
        ProjectionDisplay.from_estimator(FisherEM(1).fit(wine[0]), wine[0])


def test_demo(tmp_path, capsys):
    from fisherem.demo import run

    path = run(tmp_path / "new")
    out = capsys.readouterr().out
    assert path.stat().st_size > 10_000
    X, _ = datasets.load("wine", as_frame=True)
    named = [c for c in X.columns if c in out]
    assert 2 <= len(named) <= 5
    assert "BIC" in out
    assert str(path) in out
    plt.close("all")

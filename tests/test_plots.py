import matplotlib

matplotlib.use("Agg")

from dataclasses import fields

import matplotlib.pyplot as plt
import numpy as np
import pytest

from fisherem import FisherEM, SparseFisherEM, datasets, plots
from fisherem.plots import MarkersDisplay, MergeDisplay, ProfilesDisplay, ProjectionDisplay, UncertaintyDisplay
from fisherem.plots.style import Display, colormap_of, colours_of, group_styles


@pytest.fixture
def fitted(wine):
    X, _ = wine
    return SparseFisherEM(3, random_state=0).fit(X), X


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
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == [f"group {k + 1} ({n})" for k, n in enumerate(np.bincount(model.labels_))]
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
    named = [c for c in X.columns if f"  {c} " in out]  # a line of its own, with loadings and means
    assert 2 <= len(named) <= 5
    assert "Redundant given these 5: ash, " in out
    assert "BIC" in out
    assert "group 1 with" in out
    assert "group 0" not in out
    assert str(path) in out
    plt.close("all")


@pytest.fixture(scope="module")
def searched():
    from fisherem import ModelSearch

    X, _ = datasets.simulate(200, 1.7, random_state=0)
    return ModelSearch(SparseFisherEM(random_state=0), n_clusters=[2, 3], models=["DB", "AkB"], n_init=1, n_jobs=1).fit(
        X
    )


def test_criterion_display(searched):
    from fisherem.plots import CriterionDisplay

    data = CriterionDisplay.from_search(searched)
    assert list(data.values.index) == [2, 3]
    assert set(data.values.columns) == {"DB", "AkB"}
    K, model = data.best
    dense = searched.results_[searched.results_["method"] == "dense"]
    assert data.values.loc[K, model] == dense["bic"].max()
    assert CriterionDisplay.from_search(searched, "icl").criterion == "icl"
    assert len(data.plot().ax_.lines) == 3
    plt.close("all")


def test_path_display(searched):
    from fisherem import ModelSearch
    from fisherem.plots import PathDisplay

    data = PathDisplay.from_search(searched)
    assert data.table["sparsity"].is_monotonic_increasing
    assert list(data.sizes.index) == sorted(data.table["sparsity"])
    np.testing.assert_array_equal((data.sizes > 0).sum(axis=1), data.table["n_selected"])
    assert list(data.sizes.columns) == [f"x{j + 1}" for j in range(25)]
    assert data.chosen == searched.best_params_["sparsity"]
    assert len(data.plot().axes_) == 3
    plt.close("all")
    with pytest.raises(ValueError, match="no path with axis_weights='none'"):
        PathDisplay.from_search(searched, "none")
    dense = ModelSearch(FisherEM(random_state=0), n_clusters=[2], models=["DB"], n_jobs=1, n_init=1)
    with pytest.raises(ValueError, match="no sparsity path"):
        PathDisplay.from_search(dense.fit(datasets.simulate(60, random_state=0)[0]))


def test_stability_display():
    from fisherem import Stability
    from fisherem.plots import StabilityDisplay

    result = Stability(
        np.array([0.2, 1.0, 0.8]), np.array([False, True, True]), ["a", "b", "c"], np.array([2, 2]), np.ones(2),
        np.array([0.5, 0.7]), [],
    )  # fmt: skip
    data = StabilityDisplay.from_stability(result, threshold=0.9, n_variables=2)
    assert list(data.table["variable"]) == ["b", "c"]
    assert data.bound == pytest.approx(4 / (0.8 * 3))
    assert "ARI between refits 0.60" in data.plot().ax_.get_title()
    plt.close("all")


def test_loadings_hold_the_selected_variables_largest_first(fitted):
    from fisherem.plots import LoadingsDisplay

    model, X = fitted
    data = LoadingsDisplay.from_estimator(model, names=[f"v{j}" for j in range(13)])
    assert sorted(data.names) == sorted(f"v{j}" for j in np.flatnonzero(model.support_))
    np.testing.assert_array_equal(data.loadings, model.loadings_[[int(n[1:]) for n in data.names]])
    assert (np.diff(np.linalg.norm(data.loadings, axis=1)) <= 0).all()
    assert (data.n_selected, data.n_variables) == (model.support_.sum(), 13)
    assert LoadingsDisplay.from_estimator(model, n_variables=2).loadings.shape == (2, 2)
    drawn = LoadingsDisplay.from_estimator(model, n_variables=2).plot().ax_
    assert len(drawn.patches) == 4
    assert "the 2 largest shown" in drawn.get_title()
    assert "178 rows in 3 groups, not checked on other rows" in drawn.get_title()
    with pytest.raises(ValueError, match="no axes"):
        LoadingsDisplay.from_estimator(FisherEM(1).fit(X))
    plt.close("all")


def test_many_axes_and_many_groups_are_images():
    """Bars and lines can be told apart for a few axes and groups only."""
    values = np.random.default_rng(0).normal(size=(41, 4))
    names = [f"a long name of variable number {j}" for j in range(41)]
    ax = plots.LoadingsDisplay(values[:, :3], names, 41, 41).plot().ax_
    assert (len(ax.patches), len(ax.images)) == (41 * 3, 0)
    ax = plots.LoadingsDisplay(values, names, 41, 41, about="8 rows").plot().ax_
    np.testing.assert_array_equal(ax.images[0].get_array(), values)
    assert (len(ax.patches), ax.get_title()) == (0, "41 of 41 variables selected\n8 rows")
    means, selected = np.random.default_rng(1).normal(size=(6, 41)), np.ones(41, bool)
    for K, p in ((5, 41), (6, 40)):
        ax = plots.ProfilesDisplay(means[:K, :p], selected[:p], names[:p], True).plot().ax_
        assert (len(ax.lines), len(ax.images)) == (K, 0)
    image = plots.ProfilesDisplay(means, selected, names, True, group_names=list("abcdef")).plot().ax_
    np.testing.assert_array_equal(image.images[0].get_array(), means)
    assert image.images[0].norm.vmin == -image.images[0].norm.vmax
    assert [text.get_text() for text in image.get_yticklabels()] == list("abcdef")
    plt.close("all")


def test_profiles_are_means_in_standard_deviations(fitted, wine):
    from fisherem.plots import ProfilesDisplay

    model, X = fitted
    plain = ProfilesDisplay.from_estimator(model)
    np.testing.assert_array_equal(plain.values, model.group_means_)
    np.testing.assert_array_equal(plain.selected, model.support_)
    moved = ProfilesDisplay.from_estimator(model, X)
    np.testing.assert_allclose(moved.values * X.std(axis=0) + X.mean(axis=0), model.group_means_)
    constant = np.column_stack([X, np.full(len(X), 7.3)])
    with pytest.warns(UserWarning, match="constant"):
        other = FisherEM(3, random_state=0, n_init=1).fit(constant)
    np.testing.assert_array_equal(ProfilesDisplay.from_estimator(other, constant).values[:, -1], 0)
    with pytest.raises(ValueError, match="13 columns"):
        ProfilesDisplay.from_estimator(model, X[:, :4])
    ax = moved.plot().ax_
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], moved.values)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(1, 14))
    assert moved.names[0] == "x1"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["group 1", "group 2", "group 3"]
    assert len(ax.patches) == model.support_.sum()
    plt.close("all")


def test_names_of_neighbouring_arrows_do_not_lie_on_each_other(wine):
    X, _ = wine
    model = SparseFisherEM(3, model="AB", random_state=0).fit(X)
    display = ProjectionDisplay.from_estimator(model, X)
    display.arrows = np.array([[0.1, 0.9], [0.1, 0.899], [0.1, 0.898], [-0.5, -0.5]])
    display.names = ["one", "two", "three", "four"]
    figure = display.plot().ax_.figure
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in display.ax_.texts if text.get_text() in display.names]
    assert len(boxes) == 4
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    # in the order of the arrows' tips, moved no further than needed
    assert boxes[0].y0 > boxes[1].y0 > boxes[2].y0


def lab(colour):
    """CIELAB coordinates of a colour, from the definitions of sRGB and the white D65."""
    from matplotlib.colors import to_rgb

    c = np.array(to_rgb(colour))
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ linear / [0.9505, 1.0, 1.089]
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_ten_groups_have_ten_colours_and_markers():
    from itertools import combinations

    from fisherem.plots.style import group_style

    rng = np.random.default_rng(0)
    truth = np.arange(300) % 10
    X = rng.normal(size=(300, 12)) + 6 * rng.normal(size=(10, 12))[truth]
    display = ProjectionDisplay.from_estimator(FisherEM(10, n_init=1, random_state=0).fit(X), X).plot()
    drawn = [(tuple(points.get_facecolor()[0][:3]), str(points.get_paths()[0].vertices.round(3).tolist()))
             for points in display.ax_.collections]  # fmt: skip
    assert len(drawn) == 10
    assert len({colour for colour, _ in drawn}) == 10
    assert len({marker for _, marker in drawn}) == 10
    # about 2 can just be seen; 25 are different colours to anyone who sees them side by side
    assert min(np.linalg.norm(lab(a) - lab(b)) for (a, _), (b, _) in combinations(drawn, 2)) > 25
    many = [group_style(k) for k in range(100)]
    assert len(set(many)) == 100
    display.ax_.figure.canvas.draw()
    beside = display.ax_.get_legend().get_window_extent()  # a legend of many groups hides no rows and is not cut off
    assert display.ax_.get_window_extent().x1 <= beside.x0 < beside.x1 <= display.ax_.figure.bbox.x1
    plt.close("all")


def test_points_in_the_ellipse_of_another_group_are_explained(wine):
    X, _ = wine
    model = FisherEM(3, model="AB", random_state=0, n_init=1).fit(X)
    display = ProjectionDisplay.from_estimator(model, X)
    offsets = display.points[:, None] - display.centres
    inside = np.einsum("nki,kij,nkj->nk", offsets, np.linalg.inv(model.covariances_), offsets) <= 5.991
    inside[np.arange(len(X)), display.labels] = False
    assert display.n_strangers == inside.any(axis=1).sum()
    display.n_strangers = 3
    assert (
        "3 rows lie in the ellipse of another group: where ellipses overlap, a row goes to the group that"
        in display.note
    )
    display.n_axes = 4
    assert display.note.endswith("the groups are also apart along 2 other axes.")
    assert any(text.get_text().startswith(display.note) for text in display.plot().ax_.texts)
    display.n_strangers = 0
    assert display.note == "Each ellipse holds 95% of its group in this plane."
    plt.close("all")


def test_a_display_is_one_line(fitted):
    """A notebook cell that ends in `model.plot(X)` prints its value below the picture."""
    model, X = fitted
    shown = repr(model.plot(X))
    assert shown.startswith("ProjectionDisplay(points=<178 x 2>, labels=<178>")
    assert str(model.plot(X)) == shown
    for name in plots.__all__:
        assert getattr(plots, name).__repr__ is Display.__repr__
    many = MergeDisplay(*range(len(fields(MergeDisplay))))
    assert "\n" not in repr(many)
    assert len(repr(model.plot(X))) <= 110
    plt.close("all")


GROUP_DISPLAYS = ["projection", "profiles", "loadings", "merge", "label map", "spectra", "selection"]


def _display(name, model, X):
    """A display of a fitted model by its name."""
    if name == "merge":
        return plots.MergeDisplay.from_estimator(model, X)
    if name == "label map":
        return plots.LabelMapDisplay.from_labels(np.arange(12).reshape(3, 4) % 3)
    if name == "spectra":
        return plots.SpectraDisplay.from_spectra(model.group_means_, model.support_)
    if name == "selection":
        return plots.SelectionDisplay.from_models({"a": model, "b": model, "c": model})
    if name == "projection":
        return ProjectionDisplay.from_estimator(model, X)
    kinds = {"profiles": plots.ProfilesDisplay, "loadings": plots.LoadingsDisplay}
    return kinds[name].from_estimator(model)


@pytest.mark.parametrize("name", GROUP_DISPLAYS)
def test_a_palette_gives_the_colours_of_every_display(fitted, name):
    from matplotlib.colors import to_rgba

    display = _display(name, *fitted)
    wanted = ["#123456", "#abcdef", "#fedcba"]
    display.plot(palette=wanted)
    ax = display.ax_
    drawn = {to_rgba(line.get_color()) for line in ax.lines}
    drawn |= {tuple(c) for collection in ax.collections for c in collection.get_facecolor()}
    drawn |= {patch.get_facecolor() for patch in ax.patches}
    drawn |= {
        (*map(float, pixel), 1.0) for image in ax.images for pixel in np.asarray(image.get_array()).reshape(-1, 3)
    }
    seen = {tuple(np.round(c[:3], 3)) for c in drawn}
    expected = [tuple(np.round(to_rgba(c)[:3], 3)) for c in wanted[: 2 if name == "loadings" else 3]]
    assert set(expected) <= seen
    plt.close("all")


def test_palettes_are_lists_of_colours_or_names_of_maps():
    assert colours_of(None, 3) == ["#0072B2", "#D55E00", "#009E73"]
    assert colours_of("tab10", 2) == ["#1f77b4", "#ff7f0e"]
    assert colours_of(["red", "#00ff00"], 3) == ["#ff0000", "#00ff00", "#ff0000"]
    assert len(set(colours_of("viridis", 12))) == 12
    for palette in ("no such map", ["red", "nonsense"], [], 3):
        with pytest.raises(ValueError, match="palette must be"):
            colours_of(palette, 3)


def test_scales_of_colours_are_colormaps_or_names_of_them():
    import matplotlib

    assert colormap_of(None, "gray").name == "gray"
    assert colormap_of("viridis", "gray").name == "viridis"
    assert colormap_of(matplotlib.colormaps["tab10"], "gray").name == "tab10"
    displays = (
        MarkersDisplay(np.ones((1, 2)), np.ones((1, 2)), ["a"], ["1", "2"]),
        UncertaintyDisplay.from_posteriors(np.full((3, 3, 2), 0.5)),
    )
    for palette in ("no such map", ["red"], 3):
        for display in displays:
            with pytest.raises(ValueError, match="palette must be the name of a matplotlib colormap here; got"):
                display.plot(palette=palette)
    plt.close("all")


def test_profiles_of_rows_with_gaps_and_in_any_unit(fitted):
    X = np.array(fitted[1], float)
    model, scaled = (FisherEM(3, n_init=1, random_state=0).fit(np.ldexp(X, e)) for e in (0, 700))
    expected = ProfilesDisplay.from_estimator(model, X).values
    np.testing.assert_allclose(ProfilesDisplay.from_estimator(scaled, np.ldexp(X, 700)).values, expected, atol=1e-9)
    X[0, 0] = np.nan
    found = ProfilesDisplay.from_estimator(model, X).values
    np.testing.assert_array_equal(found[:, 1:], expected[:, 1:])
    np.testing.assert_allclose(found[:, 0], expected[:, 0], atol=0.1)


@pytest.mark.parametrize("K", [2, 3, 8, 12])
def test_default_colours_and_markers_tell_twelve_groups_apart(K):
    assert len(set(group_styles(K))) == K
    assert len({colour for colour, _ in group_styles(K)}) == K


def test_axes_say_what_they_are_made_of(fitted):
    model, X = fitted
    display = ProjectionDisplay.from_estimator(model, X)
    shares = np.bincount(model.labels_) / len(model.labels_)

    def sizes(model, rows):
        """The loadings times the deviation of the groups' means, by loops."""
        found = np.zeros(model.loadings_.shape)
        for j in range(13):
            means = np.array([(rows[model.labels_ == k, j] / model.scales_[j]).mean() for k in range(3)])
            away = np.sqrt(sum(share * (mean - shares @ means) ** 2 for share, mean in zip(shares, means, strict=True)))
            found[j] = np.abs(model.loadings_[j]) * away
        return found

    terms = sizes(model, np.asarray(X))
    names = getattr(model, "feature_names_in_", [f"x{j + 1}" for j in range(13)])
    for j, called in enumerate(display.axis_names):
        first, second = np.argsort(-terms[:, j])[:2]
        assert called.startswith(f"axis {j + 1}: {names[first]}")
        assert called.endswith((f"{names[first]}", f", {names[second]}"))
    assert display.plot().ax_.get_xlabel() == display.axis_names[0]
    plt.close("all")


def test_pictures_say_what_was_not_checked(fitted):
    model, X = fitted
    texts = [text.get_text() for text in ProjectionDisplay.from_estimator(model, X).plot().ax_.texts]
    assert any("178 rows in 3 groups, not checked on other rows" in text for text in texts)
    assert "not checked on other rows" in plots.ProfilesDisplay.from_estimator(model).plot().ax_.get_title()
    plt.close("all")


def test_names_of_groups_are_used_by_displays(wine):
    model = SparseFisherEM(3, random_state=0, n_init=1).fit(wine[0]).name_groups(["a", "b", "c"])
    legend = ProjectionDisplay.from_estimator(model, wine[0]).plot().ax_.get_legend()
    assert [text.get_text()[0] for text in legend.get_texts()] == ["a", "b", "c"]
    ax = MergeDisplay.from_estimator(model, wine[0]).plot().ax_
    assert sorted(text.get_text() for text in ax.get_xticklabels()) == ["a", "b", "c"]
    legend = plots.ProfilesDisplay.from_estimator(model).plot(group_names=["x", "y", "z"]).ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["x", "y", "z"]
    plt.close("all")


def test_the_dot_plot_shows_the_table(fitted):
    model, X = fitted
    table = model.markers(X)
    display = plots.MarkersDisplay.from_markers(table, n_variables=2)
    wide = table.pivot(index="variable", columns="group", values=["effect", "share_beyond"])
    np.testing.assert_array_equal(display.effect, wide["effect"].loc[display.names])
    np.testing.assert_array_equal(display.share, wide["share_beyond"].loc[display.names])
    first = table[table["group"] == "group 1"]["variable"].iloc[:2]
    assert display.names[:2] == list(first)
    ax = display.plot().ax_
    dots = ax.collections[0]
    np.testing.assert_allclose(dots.get_sizes(), 130 * display.share.ravel())
    np.testing.assert_allclose(dots.get_array(), display.effect.ravel())
    assert (np.abs(display.effect).max(axis=1) > dots.norm.vmax).mean() <= 0.1  # the colours do not end early
    named = plots.MarkersDisplay.from_estimator(model, X, group_names=["x" * 40, "y", "z"]).plot().ax_
    assert [text.get_text() for text in named.get_xticklabels()] == ["x" * 14 + "…" + "x" * 13, "y", "z"]
    assert any("178 rows in 3 groups, not checked on other rows" in text.get_text() for text in named.texts)
    none = table.assign(effect=0.0)
    with pytest.raises(ValueError, match="no variable differs"):
        plots.MarkersDisplay.from_markers(none)
    plt.close("all")

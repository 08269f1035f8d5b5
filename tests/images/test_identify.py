"""Absorption features of the groups, and the library spectra that they look like."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from fisherem.cli import main
from fisherem.datasets import mars_like
from fisherem.images import Library, read_library, segment
from fisherem.images.continuum import continuum_removed, features
from fisherem.images.identify import feature_fit, identify, spectral_angle

from .files import write_envi

WAVES = np.linspace(0.5, 2.5, 201)


def shape(*dips, slope=0.0):
    """A made-up spectrum: a slope with Gaussian dips (centre, width, depth)."""
    values = 0.5 + slope * (WAVES - 1.5)
    for centre, width, depth in dips:
        values = values * (1 - depth * np.exp(-0.5 * ((WAVES - centre) / width) ** 2))
    return values


# generic shapes, as of a clay, a mafic rock, an ice and dust
SHAPES = {
    "clay": shape((1.4, 0.03, 0.2), (2.2, 0.04, 0.4)),
    "mafic": shape((1.0, 0.12, 0.3), (2.0, 0.2, 0.2), slope=-0.05),
    "ice": shape((1.5, 0.08, 0.5), (2.0, 0.08, 0.5), slope=-0.1),
    "dust": shape((0.86, 0.05, 0.1), slope=0.15),
}


def library():
    return Library(WAVES, "um", tuple(SHAPES), np.array(list(SHAPES.values())), "shapes.csv")


def naive_removed(x, y):
    """Every point divided by the highest chord over it: the definition of the upper hull."""
    out = []
    for i in range(len(x)):
        best = y[i]
        for a in range(i + 1):
            for b in range(i, len(x)):
                if b > a:
                    best = max(best, y[a] + (y[b] - y[a]) * (x[i] - x[a]) / (x[b] - x[a]))
        out.append(y[i] / best)
    return np.array(out)


def test_the_continuum_is_the_upper_hull():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.4, 2.5, 30))
    y = rng.uniform(0.1, 0.5, 30)
    expected = naive_removed(x, y)
    np.testing.assert_allclose(continuum_removed(x, y), expected, rtol=1e-12)
    turned = rng.permutation(30)
    np.testing.assert_allclose(continuum_removed(x[turned], y[turned]), expected[turned], rtol=1e-12)
    gaps = y.copy()
    gaps[[3, 17]] = np.nan
    kept = np.delete(np.arange(30), [3, 17])
    found = continuum_removed(x, gaps)
    np.testing.assert_allclose(found[kept], naive_removed(x[kept], y[kept]), rtol=1e-12)
    assert np.isnan(found[[3, 17]]).all()
    assert np.isnan(continuum_removed(x, -y)).all()
    assert np.isnan(continuum_removed(x[:2], y[:2])).all()


def test_features_have_the_positions_and_depths_of_the_dips():
    found = features(WAVES, continuum_removed(WAVES, shape((1.403, 0.03, 0.2), (2.198, 0.04, 0.4))))
    assert [f.position for f in found] == pytest.approx([2.198, 1.403], abs=1e-3)
    assert [f.depth for f in found] == pytest.approx([0.4, 0.2], abs=2e-3)
    assert all(f.left < f.position < f.right for f in found)
    x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 0.509, 0.549, 1.0])
    a, b, _ = np.polyfit(x[:3], y[:3], 2)
    assert features(x, y)[0].position == pytest.approx(-b / (2 * a), abs=1e-9)


def test_angle_and_fit_are_those_of_the_formula():
    a, b = SHAPES["clay"], SHAPES["ice"]
    naive = np.degrees(np.arccos(sum(a * b) / np.sqrt(sum(a * a) * sum(b * b))))
    assert spectral_angle(a, b) == pytest.approx(naive, rel=1e-9)
    assert spectral_angle(3 * a, a) == pytest.approx(0, abs=1e-5)
    total = area = 0.0
    for f in features(WAVES, continuum_removed(WAVES, b)):
        i = [j for j in range(201) if f.left <= WAVES[j] <= f.right]
        x = WAVES[i]
        own, known = (y[i] / (y[i][0] + (y[i][-1] - y[i][0]) * (x - x[0]) / (x[-1] - x[0])) for y in (a, b))
        size = sum((2 - known[j] - known[j + 1]) / 2 * (x[j + 1] - x[j]) for j in range(len(x) - 1))
        total += size * max(0, np.corrcoef(own, known)[0, 1]) ** 2
        area += size
    assert feature_fit(WAVES, a, b) == pytest.approx(total / area, rel=1e-9)
    assert feature_fit(WAVES, 0.3 * b, b) == pytest.approx(1)
    assert np.isnan(feature_fit(WAVES, a, 0.5 + 0.1 * WAVES))  # no feature to fit


def test_groups_are_named_with_a_runner_up():
    rng = np.random.default_rng(0)
    spectra = np.array([0.7 * SHAPES["ice"], 1.3 * SHAPES["clay"]]) + 0.001 * rng.normal(size=(2, 201))
    spectra[:, 40:45] = np.nan
    found = identify(spectra, 1000 * WAVES, "nm", library(), ["first", "second"])
    table = found.table()
    assert table["nearest"].tolist() == ["ice", "ice", "clay", "clay"]
    assert (table["runner_up"] != table["nearest"]).all()
    assert table["by"].tolist() == 2 * ["spectral angle", "feature fit"]
    angles = table[table["by"] == "spectral angle"]
    assert (angles["value"] < angles["runner_up_value"]).all()
    assert found.lines()[0].startswith("first is nearest to ice by spectral angle (")


def test_tables_and_sli_files_are_read(tmp_path):
    own = library()
    frame = pd.DataFrame({"wavelength (nm)": 1000 * WAVES[::-1]} | {k: v[::-1] for k, v in SHAPES.items()})
    frame.loc[3, "dust"] = np.nan
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = read_library(tmp_path / "a.csv")
    assert (found.names, found.units) == (tuple(SHAPES), "nm")
    np.testing.assert_allclose(found.wavelengths, 1000 * WAVES)
    np.testing.assert_allclose(found.spectra[:3], own.spectra[:3])
    assert np.isnan(found.spectra[3]).sum() == 1
    stored = own.spectra.astype(np.float32)
    path = write_envi(tmp_path / "b.hdr", stored[:, :, None], "bsq", wavelength=WAVES, spectra_names=list(SHAPES),
                      wavelength_units="Micrometers")  # fmt: skip
    (tmp_path / "b.img").rename(tmp_path / "b.sli")
    for name in (path, tmp_path / "b.sli"):
        found = read_library(name)
        assert (found.names, found.units) == (tuple(SHAPES), "um")
        np.testing.assert_allclose(found.spectra, stored)


@pytest.mark.parametrize(
    ("text", "message"),
    [("w\n1\n2\n", "a column per spectrum"), ("w,a\nx,1\n2,2\n3,3\n", "row 1 holds 'x'"),
     ("w,a\n1,1\n2,b\n3,3\n", "row 2 of 'a' must be a number"), ("w,a\n1,1\n1,2\n3,3\n", "different and ascending"),
     ("w,a\n1,1\n", "at least 3 wavelengths")],
)  # fmt: skip
def test_bad_libraries_are_refused(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_library(tmp_path / "a.csv")


def test_other_libraries_are_refused(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(ValueError, match=r"must be a \.csv table or an ENVI \.sli file"):
        read_library(tmp_path / "a.json")
    with pytest.raises(ValueError, match="has no spectrum that covers 50%"):
        identify(np.ones((1, 5)), np.arange(5.0) + 10, "um", library(), ["a"])
    with pytest.raises(ValueError, match="needs wavelengths, but the cube has none"):
        segment(np.random.default_rng(0).uniform(size=(8, 8, 12)), 2, library=library())


def test_the_command_names_the_groups(tmp_path):
    scene = mars_like(40, 32, 60, 3, seed=1, n_bad_bands=0)
    path = write_envi(tmp_path / "a.hdr", scene.cube.data, wavelength=scene.wavelengths, wavelength_units="um",
                      data_ignore_value=-9999)  # fmt: skip
    frame = pd.DataFrame({"wavelength_um": scene.wavelengths} | {f"class {k}": s for k, s in enumerate(scene.spectra)})
    frame.to_csv(tmp_path / "library.csv", index=False)
    more = ["--library", str(tmp_path / "library.csv"), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(main, ["segment", str(path), "-k", "3", *more, "--json"])
    assert result.exit_code == 0, result.output
    said = json.loads(result.output)
    angles = [row for row in said["library"] if row["by"] == "spectral angle"]
    assert sorted(row["nearest"] for row in angles) == ["class 0", "class 1", "class 2"]
    table = pd.read_csv(tmp_path / "out" / "library.csv")
    assert table["nearest"].tolist() == [row["nearest"] for row in said["library"]]
    listed = pd.read_csv(tmp_path / "out" / "features.csv")
    assert listed["depth"].min() >= 0.01
    assert listed["selected_bands"].notna().any()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Nearest library spectra" in page
    assert "Absorption features" in page
    assert (tmp_path / "out" / "continuum.png").stat().st_size > 0
    shown = CliRunner().invoke(main, ["segment", str(path), "--apply", str(tmp_path / "out" / "model.skops"), *more[:2],
                                      "-o", str(tmp_path / "next")])  # fmt: skip
    assert "group 1 is nearest to class" in shown.output
    missing = CliRunner().invoke(main, ["segment", str(path), "-k", "3", "--library", str(tmp_path / "none.csv")])
    assert missing.exit_code != 0
    assert "there is no file" in missing.output

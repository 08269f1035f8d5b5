"""`fisherem segment` as a user meets it."""

import json

import numpy as np
import pytest
import scipy.io
from click.testing import CliRunner

from fisherem.cli import main
from fisherem.datasets import mars_like
from fisherem.images import segment

from .files import write_envi, write_mat73


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["segment", *map(str, arguments)])
    assert result.exit_code == code, result.output + str(result.exception)
    return result.output


def test_a_cube_becomes_maps_bands_and_spectra(tmp_path):
    scene = mars_like(rows=40, cols=30, bands=60, n_classes=3, seed=0)
    data = scene.cube if isinstance(scene.cube, np.ndarray) else np.asarray(scene.cube.data)
    np.save(tmp_path / "scene.npy", data)
    out = tmp_path / "out"
    result = json.loads(run(tmp_path / "scene.npy", "-k", 3, "-o", out, "--json"))
    assert result["n_clusters"] == 3
    assert sorted(p.name for p in out.iterdir()) == [
        "agreement.tif", "bands.csv", "cleaning.txt", "colours.png", "continuum.png", "features.csv", "labels.hdr",
        "labels.img", "labels.png", "labels.tif",
        "labels.tif.aux.xml", "model.skops", "other.png", "posteriors.tif",
        "report.html", "spectra.csv", "spectra.png", "uncertainty.png", "uncertainty.tif",
    ]  # fmt: skip
    assert "the best other map differs" in result["normalisation"]  # other.png
    assert 0 < len(result["bands"]) < 60
    shown = run(tmp_path / "scene.npy", "-k", 3, "-o", out)
    assert "3 groups by" in shown
    assert f"report: {out / 'report.html'}" in shown


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """An ENVI file of 16 x 12 pixels, 16 bands and three classes."""
    scene = mars_like(rows=16, cols=12, bands=16, n_classes=3, seed=0, n_bad_bands=0)
    folder = tmp_path_factory.mktemp("small")
    return write_envi(folder / "scene.hdr", scene.cube.data, wavelength=scene.wavelengths, data_ignore_value=-9999)


@pytest.mark.parametrize("numbers", ["auto", "2:4"])
def test_an_open_number_of_groups_gets_a_verdict(small, tmp_path, numbers):
    out = tmp_path / "out"
    result = json.loads(run(small, "-k", numbers, "--sparsity", 1, "--normalise", "-o", out, "--json"))
    verdict = result["verdict"]
    assert result["n_clusters"] == verdict["n_clusters"] >= 1
    assert verdict["confidence"] in ("clear", "leaning", "not decided")
    page = (out / "report.html").read_text()
    assert verdict["text"].splitlines()[0] in page
    assert "How many groups" in page


def test_a_criterion_chooses_from_a_range(small, tmp_path):
    out = tmp_path / "out"
    result = json.loads(run(small, "-k", "2:4", "--criterion", "bic", "--normalise", "-o", out, "--json"))
    assert result["n_clusters"] in (2, 3, 4)
    assert "verdict" not in result
    assert "K from 2 to 4" in (out / "report.html").read_text()
    assert result["bands"][0].endswith("um")


def test_the_terminal_says_the_verdict_about_pixels(tmp_path):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).normal(5, 1, size=(10, 10, 3)))
    shown = run(tmp_path / "noise.npy", "-k", "2", "--no-normalise", "-o", tmp_path / "out")
    assert "group" in shown.splitlines()[1]  # a given number needs no verdict
    shown = run(tmp_path / "noise.npy", "-k", "2,3", "--no-normalise", "-o", tmp_path / "out")
    assert "one group" in shown
    assert "rows" not in shown.replace(str(tmp_path), "")


def break_header(path):
    path.write_text(path.read_text().replace("data type = 4", "data type = 99"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: p.with_suffix(".img").unlink(), "no data file beside it"),
        (lambda p: p.with_suffix(".img").write_bytes(b"short"), "shorter than its header says"),
        (break_header, "data type 99 is unknown"),
    ],
    ids=["no data", "short", "type"],
)
def test_bad_envi_files_are_one_line_and_exit_code_2(tmp_path, plain, damage, message):
    path = write_envi(tmp_path / "scene.hdr", plain[0])
    damage(path)
    out = run(path, "-k", 2, "-o", tmp_path / "out", code=2)
    assert message in out
    assert out.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [({"V": np.ones((9, 24))}, "holds no 3-D array; it has: V 9 x 24"),
     ({"a": np.ones((3, 4, 5)), "b": np.ones((4, 4, 5))}, "variable= among a 3 x 4 x 5, b 4 x 4 x 5")],
    ids=["none", "two"],
)  # fmt: skip
def test_bad_matlab_files_are_one_line_and_exit_code_2(tmp_path, arrays, message):
    scipy.io.savemat(tmp_path / "a.mat", arrays)
    write_mat73(tmp_path / "b.mat", **arrays)
    for name in ("a.mat", "b.mat"):
        out = run(tmp_path / name, "-k", 2, "-o", tmp_path / "out", code=2)
        assert message in out
        assert out.count("\n") == 1


def test_pixels_and_masks_that_cannot_be_used(tmp_path, plain):
    write_envi(tmp_path / "empty.hdr", np.full((4, 5, 6), -1.0, np.float32), data_ignore_value=-1)
    out = run(tmp_path / "empty.hdr", "-k", 2, "-o", tmp_path / "out", code=2)
    assert "all pixels are invalid" in out
    assert list((tmp_path / "out").iterdir()) == []
    write_envi(tmp_path / "a.hdr", plain[0])
    np.save(tmp_path / "mask.npy", np.ones((3, 3), bool))
    out = run(tmp_path / "a.hdr", "-k", 2, "--mask", tmp_path / "mask.npy", "-o", tmp_path / "out", code=2)
    assert "mask.npy, the mask, must have the cube's rows x columns (12, 9); got (3, 3)" in out
    assert "there is no file" in run(tmp_path / "a.hdr", "-k", 2, "--mask", tmp_path / "no.npy", code=2)
    (tmp_path / "text.npy").write_text("hello")
    for damaged in (("a.hdr", "--mask", tmp_path / "text.npy"), ("text.npy",)):
        out = run(tmp_path / damaged[0], "-k", 2, *damaged[1:], "-o", tmp_path / "out", code=2)
        assert "text.npy" in out


def test_bad_files_are_one_line_and_exit_code_2(tmp_path):
    assert "scene.hdr" in run(tmp_path / "scene.hdr", "-k", 3, "-o", tmp_path / "out", code=2)
    np.save(tmp_path / "flat.npy", np.zeros((4, 4)))
    out = run(tmp_path / "flat.npy", "-k", 3, "-o", tmp_path / "out", code=2)
    assert out.count("\n") == 1
    np.save(tmp_path / "cube.npy", np.random.default_rng(0).random((5, 5, 6)))
    assert "wavelengths" in run(tmp_path / "cube.npy", "-k", 2, "--bands", "0.5-1um", "-o", tmp_path / "out", code=2)
    assert "95x95" in run(tmp_path / "cube.npy", "-k", 2, "--shape", "a", code=2)
    assert "--spatial" in run(tmp_path / "cube.npy", "-k", 2, "--spatial", "much", code=2)


def test_shares_and_numbers_of_groups_that_make_no_sense(tmp_path, plain):
    np.save(tmp_path / "cube.npy", plain[0])
    for size in ("200%", "100%", "-1%"):
        assert "below 100%" in run(tmp_path / "cube.npy", "-k", 2, "--min-size", size, code=2)
    for number in (2.0, None, True):
        with pytest.raises(ValueError, match="n_clusters must be a whole number, several of them or 'auto'; got"):
            segment(plain[0], number)

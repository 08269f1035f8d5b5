"""A ground truth: every format, what does not count, the figures, and what is said when it does not fit."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.io
from click.testing import CliRunner
from PIL import Image
from sklearn.metrics import adjusted_rand_score

from fisherem.cli import main
from fisherem.images import Truth, read_truth, segment
from tests.naive import accuracy

from .files import write_envi, write_mat73, write_tif


@pytest.fixture(scope="module")
def codes():
    """12 x 9 class numbers 0 (no class), 3 and 7."""
    codes = np.full((12, 9), 3, np.uint8)
    codes[:, 5:] = 7
    codes[:2] = 0
    return codes


@pytest.fixture(scope="module")
def found(plain, codes):
    return segment(plain[0], 2, truth=codes)


def coloured(codes, alpha=False):
    colours = np.zeros((*codes.shape, 3), np.uint8)
    colours[codes == 3], colours[codes == 7] = (255, 0, 0), (0, 0, 255)
    if not alpha:
        return Image.fromarray(colours)
    colours[codes == 0] = (0, 255, 0)  # a colour of its own, but transparent
    return Image.fromarray(np.dstack([colours, np.where(codes > 0, 255, 0).astype(np.uint8)]))


def with_palette(codes):
    image = Image.fromarray(codes, "L")
    image.putpalette([17 * i % 256 for i in range(768)])
    return image


WRITTEN = {
    "grey.png": lambda path, codes: Image.fromarray(codes).save(path),
    "deep.png": lambda path, codes: Image.fromarray(codes.astype(np.uint16)).save(path),
    "palette.png": lambda path, codes: with_palette(codes).save(path),
    "colours.png": lambda path, codes: coloured(codes).save(path),
    "clear.png": lambda path, codes: coloured(codes, alpha=True).save(path),
    "a.tif": lambda path, codes: write_tif(path, codes[:, :, None]),
    "nodata.tif": lambda path, codes: write_tif(path, np.where(codes, codes, 99)[:, :, None].astype("i2"), nodata=99),
    "a.mat": lambda path, codes: scipy.io.savemat(path, {"gt": codes, "other": np.ones((3, 4))}),
    "b.mat": lambda path, codes: write_mat73(path, gt=codes.astype(float)),
    "a.npy": lambda path, codes: np.save(path, np.where(codes, codes, np.nan)),
    "minus.npy": lambda path, codes: np.save(path, np.where(codes, codes.astype(int), -1)),
    "a.hdr": lambda path, codes: write_envi(path, codes[:, :, None]),
}


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
@pytest.mark.filterwarnings("ignore:'mode' parameter is deprecated")
@pytest.mark.parametrize("name", WRITTEN)
def test_every_format_gives_the_same_classes(tmp_path, codes, name):
    WRITTEN[name](tmp_path / name, codes)
    truth = read_truth(tmp_path / name, (12, 9))
    first = truth.classes[5, 0]  # colours are sorted by their own numbers
    np.testing.assert_array_equal(truth.classes == -1, codes == 0)
    np.testing.assert_array_equal(truth.classes == first, codes == 3)
    expected = ["#0000ff", "#ff0000"] if name in ("colours.png", "clear.png") else ["3", "7"]
    assert truth.names == expected


def test_only_labelled_pixels_on_the_map_count(found, codes):
    labels = found.labels.copy()
    labels[2, :4] = 1 - labels[2, :4]  # four errors
    labels[3, :3] = -1  # left out
    compared = Truth(np.where(codes == 0, -1, (codes == 7).astype(int)), ["sand", "rock"]).compare(labels, 2)
    both = (codes > 0) & (labels >= 0)
    assert (compared.n_labelled, compared.n_compared) == (90, 87)
    assert compared.accuracy == accuracy(codes[both], labels[both]) == 83 / 87
    assert compared.rand == adjusted_rand_score(codes[both], labels[both])
    for c, code in enumerate((3, 7)):
        for k in range(2):
            assert compared.table[c, k] == ((codes == code) & (labels == k)).sum()
    assert sorted(compared.group) == [0, 1]
    assert "accuracy 0.954" in str(compared)
    assert "3 more with a class were left out of the map" in str(compared)


def test_more_classes_than_groups_leave_one_without_a_group(found, codes):
    three = codes.copy()
    three[2] = 9
    compared = segment(found.cube, 2, truth=three).comparison
    assert compared.names == ["3", "7", "9"]
    assert (compared.group == -1).tolist() == [False, False, True]
    assert compared.accuracy == pytest.approx(81 / 90)


def test_it_is_compared_and_never_used(found, plain):
    np.testing.assert_array_equal(found.labels, segment(plain[0], 2).labels)
    assert found.comparison.accuracy == 1
    table = found.truth_table()
    assert table["class"].tolist() == ["3", "7"]
    assert set(table["matched"]) == {"group 1", "group 2"}
    with pytest.raises(ValueError, match="no ground truth: give one"):
        segment(plain[0], 2).truth_table()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones((5, 9)), r"has 5 x 9 pixels, but the image has 12 x 9 \(rows x columns\): give the classes of"),
        (np.ones((9, 12)), r"has 9 x 12 pixels, but the image has 12 x 9 \(rows x columns\): transpose it"),
        (np.zeros((12, 9)), "has no pixel with a class: all are 0 or no-data"),
        (np.full((12, 9), 0.25), "must hold whole class numbers; it has 0.25: are these abundances"),
        (np.full((12, 9), "a"), "must hold a class number per pixel; it holds values of type <U1"),
    ],
    ids=["size", "transposed", "empty", "abundances", "text"],
)
def test_what_cannot_be_compared_is_said(plain, values, message):
    with pytest.raises(ValueError, match=f"the ground truth {message}"):
        segment(plain[0], 2, truth=values)


def test_a_picture_with_too_many_values_is_no_classes(tmp_path):
    np.save(tmp_path / "photo.npy", np.arange(1, 401).reshape(20, 20))
    with pytest.raises(ValueError, match=r"photo.npy has 400 different values, too many for classes"):
        read_truth(tmp_path / "photo.npy", (20, 20))


def test_classes_that_are_all_masked(plain, codes):
    mask = codes == 0
    with pytest.raises(ValueError, match="no pixel with a class is on the map"):
        segment(plain[0], 2, mask=mask, truth=codes, normalise=False, method=None)


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["segment", *map(str, arguments)])
    assert result.exit_code == code, result.output + str(result.exception)
    return result.output


@pytest.fixture
def cube(tmp_path, plain):
    np.save(tmp_path / "scene.npy", plain[0])
    return tmp_path / "scene.npy"


def test_the_command_compares(cube, codes, tmp_path):
    scipy.io.savemat(tmp_path / "gt.mat", {"gt": codes, "more": codes})
    out = tmp_path / "out"
    asked = (cube, "-k", 2, "-o", out, "--truth", tmp_path / "gt.mat")
    assert "holds several arrays of 12 x 9: name one of gt, more as the variable" in run(*asked, code=2)
    asked += ("--truth-variable", "gt")
    shown = run(*asked)
    assert "against 2 known classes: accuracy 1.000 after the best matching, adjusted Rand index 1.000, on 90" in shown
    result = json.loads(run(*asked, "--json"))
    assert result["truth"]["accuracy"] == result["truth"]["ari"] == 1
    assert np.sum(result["truth"]["table"]) == 90
    written = pd.read_csv(out / "truth.csv")
    assert written["class"].tolist() == [3, 7]
    assert "truth.csv" in result["files"]
    assert "Against the known classes" in (out / "report.html").read_text()


def test_the_command_names_file_shape_and_what_to_do(cube, codes, tmp_path):
    Image.fromarray(codes[:4]).save(tmp_path / "small.png")
    scipy.io.savemat(tmp_path / "gt.mat", {"A": np.ones((3, 108))})
    (tmp_path / "text.png").write_text("no picture")
    for name, words in {
        "small.png": ("small.png has 4 x 9 pixels, but the image has 12 x 9", "at the same size"),
        "gt.mat": ("gt.mat holds no array of the image's 12 x 9 (rows x columns); it has: A 3 x 108", "of that size"),
        "text.png": ("text.png cannot be read as a picture",),
        "no.png": ("there is no file",),
        "scene.jpg": ("one of .png",),
    }.items():
        if name == "scene.jpg":
            Image.fromarray(codes).save(tmp_path / name)
        said = run(cube, "-k", 2, "--truth", tmp_path / name, "-o", tmp_path / "out", code=2)
        assert said.count("\n") == 1
        for word in words:
            assert word in said
    Image.fromarray(codes).save(tmp_path / "gt.png")
    said = run(cube, "-k", 2, "--truth", tmp_path / "gt.png", "--truth-variable", "gt", code=2)
    assert "only .mat files have arrays to choose from" in said

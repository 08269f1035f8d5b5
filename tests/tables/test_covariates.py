"""Covariates read from what users give, and coded as numbers."""

import numpy as np
import pandas as pd
import pytest

from fisherem.tables.covariates import coded, coding_of, covariate_frame, described_coding

BATCH = ["a", "b", "a", "c", "a", "b", "c", "a", "b", "c", "a", "a"]


def read(covariates, weights=None, most_levels=20):
    frame = covariate_frame(covariates, len(BATCH))
    coding = coding_of(frame, weights, 2, most_levels)
    return coding, coded(coding, frame)


def test_levels_are_indicators_less_their_share():
    coding, Z = read(pd.Series(BATCH, name="batch"))
    expected = np.stack([np.array(BATCH) == "b", np.array(BATCH) == "c"], axis=1).astype(float)
    np.testing.assert_allclose(Z, expected - expected.mean(axis=0))  # a is the most frequent one
    assert described_coding(coding) == ["batch (3 levels)"]


@pytest.mark.parametrize("unit", [2.0**-1030, 1.0, 2.0**1015])
def test_numbers_are_the_same_in_any_unit(unit):
    """Also where their squares overflow, or are too small for a double."""
    size = np.random.default_rng(0).integers(-200, 200, 12) / 4
    np.testing.assert_allclose(read({"size": size * unit})[1], read({"size": size})[1], rtol=1e-12)


def test_numbers_are_standardised_by_the_weights():
    size, w = np.arange(12.0) ** 2, np.tile([1.0, 2.0, 0.0], 4)
    _, Z = read({"size": size}, w)
    mean = np.average(size, weights=w)
    np.testing.assert_allclose(Z[:, 0], (size - mean) / np.sqrt(np.average((size - mean) ** 2, weights=w)))


@pytest.mark.parametrize(
    ("given", "width"),
    [
        (np.tile([1, 2, 3], 4), 2),  # whole numbers are levels
        (np.tile([1.0, 2.0, 3.5], 4), 1),
        (np.tile([True, False], 6), 1),
        (pd.Categorical(BATCH), 2),
        (list(BATCH), 2),
        (np.stack([np.arange(12.0), np.tile([0.5, 1.7], 6)], axis=1), 2),
        (pd.DataFrame({"batch": BATCH, "size": np.arange(12) / 7}), 3),
    ],
)
def test_kinds(given, width):
    _, Z = read(given)
    assert Z.shape == (12, width)
    np.testing.assert_allclose(Z.sum(axis=0), 0, atol=1e-12)


def test_whole_numbers_of_many_values_are_numbers():
    coding, Z = read(np.arange(12), most_levels=11)
    assert Z.shape == (12, 1)
    assert described_coding(coding) == ["covariate (a number)"]


def test_levels_are_the_same_in_another_type():
    coding, Z = read(np.tile([1, 2, 3], 4))
    again = coded(coding, covariate_frame(np.tile([1.0, 2.0, 3.0], 4)))
    np.testing.assert_array_equal(Z, again)


def test_polars_frames_and_series():
    pl = pytest.importorskip("polars")
    _, Z = read(pd.Series(BATCH, name="batch"))
    for given in (pl.DataFrame({"batch": BATCH}), pl.Series("batch", BATCH)):
        np.testing.assert_array_equal(read(given)[1], Z)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (BATCH[:5], r"one row per row of X \(12\); got 5"),
        (["a"] * 12, "same value in every row"),
        ({"batch": BATCH, "copy": BATCH}, "'copy' follows from 'batch'"),
        ({"batch": [*BATCH[:-1], None]}, "'batch' has no finite value in row 11"),
        (np.array([np.nan, np.inf, *range(10)]), r"row 0 \(and 1 more\)"),
        ([f"s{i}" for i in range(12)], "is it an identifier"),
        (np.zeros((12, 2, 2)), "one or two dimensions"),
        (pd.DataFrame(index=range(12)), "no columns"),
    ],
)
def test_errors_name_what_is_wrong(given, message):
    with pytest.raises(ValueError, match=message):
        read(given)


def test_new_rows_need_known_levels_and_all_covariates():
    coding, _ = read({"batch": BATCH, "size": np.arange(12.0)})
    with pytest.raises(ValueError, match=r"'batch' is 'z' in row 1, a level that the fit has not seen"):
        coded(coding, covariate_frame({"batch": ["a", "z"], "size": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="lacks 'size'"):
        coded(coding, covariate_frame({"batch": ["a", "b"]}))
    with pytest.raises(ValueError, match="'size' was a number"):
        coded(coding, covariate_frame({"batch": ["a", "b"], "size": ["x", "y"]}))

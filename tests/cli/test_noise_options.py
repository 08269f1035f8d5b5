"""The options of `fisherem fit` for the noise and the scaling, as their users meet them."""

import json

import numpy as np
import pandas as pd
import pytest

from fisherem import FisherEM, SparseFisherEM, load
from tests.running import printed


@pytest.fixture(scope="module")
def rows():
    """Two groups on the first three of ten variables; the rest shares a factor; the columns differ in their units."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 10))
    X[:, 3:] = 0.7 * X[:, 3:] + 0.7 * rng.normal(size=(200, 1))
    X[:, :3] += 4.0 * (np.arange(200) % 2)[:, None]
    return pd.DataFrame(X * np.geomspace(1, 300, 10), columns=[f"v{j}" for j in range(10)])


@pytest.fixture
def table(rows, tmp_path):
    path = tmp_path / "table.csv"
    rows.to_csv(path, index=False)
    return path


def test_the_number_of_factors_is_chosen_and_told(table, tmp_path):
    words = " ".join(printed("fit", table, "-k", 2, "-o", tmp_path / "out", "--noise-factors", "auto").split())
    assert "noise 1 common factor, chosen by BIC (the fewest factors with nearly all of its gain) from 0 (BIC" in words
    assert "scaling columns standardised: the columns differ in unit" in words
    given = " ".join(printed("fit", table, "-k", 2, "-o", tmp_path / "given", "--scale").split())
    assert "scaling" not in given  # the note says that the columns were standardised
    criteria = pd.read_csv(tmp_path / "out" / "criteria.csv")
    assert criteria.loc[0, "noise_factors"] == 1


@pytest.mark.parametrize("given", [0, 2])
def test_a_number_of_factors_can_be_given(table, tmp_path, given):
    out = tmp_path / "out"
    found = json.loads(
        printed("fit", table, "-k", 2, "-o", out, "--method", "dense", "--noise-factors", given, "--json")
    )
    assert found["noise_factors"] == given
    assert load(out / "model.skops").noise_factors_ == given


@pytest.mark.parametrize("given", ["-1", "1.5", "many", ""])
def test_a_number_of_factors_that_is_none(table, given):
    message = printed("fit", table, "-k", 2, "--noise-factors", given, code=2)
    assert f"{given!r} is not a number of factors: give 0, 1, 2, ... or auto" in " ".join(message.split())


def test_the_command_scales_as_python_does(table, rows, tmp_path):
    out = tmp_path / "out"
    found = json.loads(printed("fit", table, "-k", 2, "-o", out, "--json"))
    direct = SparseFisherEM(2, random_state=0).fit(rows)
    assert found["scale"] == direct.scale_ == "standardise"
    assert found["bic"] == pytest.approx(direct.bic_)
    model = load(out / "model.skops")
    assert isinstance(model, FisherEM)  # no scaler before it: it takes raw rows
    np.testing.assert_array_equal(model.predict(rows), direct.labels_)
    criteria = pd.read_csv(out / "criteria.csv")
    assert criteria.loc[0, "scale"] == "standardise"


def test_skewed_columns_are_bent_if_asked(rows, tmp_path):
    path, out = tmp_path / "skewed.csv", tmp_path / "out"
    np.exp(rows / rows.std()).to_csv(path, index=False)
    words = " ".join(printed("fit", path, "-k", 2, "-o", out, "--transformation", "power").split())
    exponents = load(out / "model.skops").exponents_
    assert (exponents != 1).sum() > 5
    assert f"{(exponents != 1).sum()} skewed columns transformed by a power" in words

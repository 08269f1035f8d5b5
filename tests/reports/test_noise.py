"""What pages and summaries say about the noise and the scaling of a fit."""

import re

import numpy as np
import pytest

from fisherem import FisherEM, SparseFisherEM, load, report, save
from fisherem.reports.words.facts import facts
from fisherem.reports.words.summary import criteria_table, noise_words, scale_words, summary
from tests.deciding import decided


@pytest.fixture(scope="module")
def mixed():
    """(share) -> 300 rows: two groups on the first three of twelve variables, one factor of this share in the rest."""

    def make(share):
        rng = np.random.default_rng(3)
        y = np.arange(300) % 2
        X = rng.normal(size=(300, 12))
        X[:, 3:] = np.sqrt(1 - share) * X[:, 3:] + np.sqrt(share) * rng.normal(size=(300, 1))
        X[:, :3] += 4.0 * y[:, None]
        return X

    return make


def test_the_chosen_number_of_factors_is_reported_with_the_alternatives(mixed):
    model = FisherEM(2, scale="none", noise_factors="auto", random_state=0).fit(mixed(0.5))
    assert model.noise_factors_ == 1
    text = noise_words(model)
    row = decided(model, "noise")
    assert text == f"1 common factor, chosen by {row.reason} from {row.alternatives}"
    without, with_one = (float(re.search(rf"\b{m} \(BIC (-?[\d.]+)\)", text)[1]) for m in (0, 1))
    assert with_one > without
    assert with_one == pytest.approx(model.bic_, abs=0.06)
    assert dict(facts(model, 300, 12))["Noise"] == text


def test_zero_factors_are_reported(mixed):
    model = FisherEM(2, scale="none", noise_factors="auto", random_state=0).fit(mixed(0.0))
    assert model.noise_factors_ == 0
    assert re.fullmatch(r"no common factors, chosen by BIC .* from 0 \(BIC [-\d.]+\), 1, 2(, \d+)*", noise_words(model))


@pytest.mark.parametrize(
    ("given", "words"),
    [(0, "no common factors"), (2, "2 common factors, as given"), (11, "any covariance (11 factors), as given")],
)
def test_given_factors(mixed, given, words):
    model = FisherEM(2, scale="none", noise_factors=given, random_state=0).fit(mixed(0.5))
    assert noise_words(model) == words
    assert criteria_table(model)["noise_factors"][0] == given


def test_a_file_of_an_earlier_version_has_no_factors_and_no_scale(mixed, tmp_path):
    model = FisherEM(2, scale="none", noise_factors=0, random_state=0).fit(mixed(0.5))
    for name in ("noise_factors_", "scale_", "decisions_"):
        delattr(model, name)
    model = load(save(model, tmp_path / "old.skops"))
    assert noise_words(model) == "no common factors"
    assert scale_words(model) == ""
    assert "Scaling" not in dict(facts(model, 300, 12))


def test_the_scaling_is_reported_with_its_reason(mixed, tmp_path):
    X = mixed(0.0) * np.geomspace(1, 1000, 12)
    model = SparseFisherEM(2, scale="auto", random_state=0).fit(X)
    text = scale_words(model)
    assert model.scale_ == "standardise"
    assert text == f"columns standardised: {model.decisions_['reason'][0]}"
    assert "the columns differ in unit" in text
    shown = summary(model, [f"x{j}" for j in range(12)], tmp_path, None)
    assert (shown["scale"], shown["scale_choice"], shown["noise_choice"]) == ("standardise", text, noise_words(model))
    page = report(model, X, tmp_path / "report.html").read_text(encoding="utf-8")
    assert text in page
    assert noise_words(model) in page


def test_a_given_scaling_and_columns_that_are_alike(mixed):
    X = mixed(0.0)
    assert scale_words(FisherEM(2, scale="none", random_state=0).fit(X)) == ""
    assert scale_words(FisherEM(2, scale="standardise", random_state=0).fit(X)) == "columns standardised"
    alike = FisherEM(2, scale="auto", random_state=0).fit(X / X.std(axis=0))
    assert scale_words(alike).startswith("columns unchanged: the columns share a unit")

"""Table 1 in use: what the rows hold, and what the page says of them."""

from dataclasses import replace

import pytest

from fisherem.experiments import models, reading
from fisherem.experiments.plan import FULL, QUICK
from fisherem.model.dlm import MODELS, OTHER_MODELS

TINY = replace(QUICK, data=("iris", "wine"), models=("DkBk", "AB"))


def test_every_model_of_table_1_has_a_row():
    assert [name for name in models.names(FULL) if not name.startswith("Bayesian")] == [*MODELS, *OTHER_MODELS]
    assert {job.arguments[0] for job in models.jobs(FULL)} == set(FULL.data) - {"zoo raw"}
    assert all(job.seconds <= 120 for job in models.jobs(FULL))


def test_the_best_of_a_table_is_bold_and_said():
    records = {job: {"accuracy": 0.5, "bic": -10.0, "fit_seconds": 1.0} for job in models.jobs(TINY)}
    for job in records:
        if job.arguments[:2] == ("iris", "MFA"):
            records[job] = {"accuracy": 0.9, "bic": -20.0, "fit_seconds": 0.25}
        if job.arguments[:2] == ("iris", "AB"):
            records[job] = {"accuracy": 0.7, "bic": -5.0, "fit_seconds": 2.0}
        if job.arguments[:2] == ("wine", "MCFA"):
            records[job] = {"failed": "not finished within 10 s"}
    numbers = models.table(TINY, records)
    page = models.shown(numbers).set_index("model")
    assert page.loc["MFA", "iris"] == "**0.900** · -20 · 0.25 s"
    assert page.loc["AB", "iris"] == "0.700 · **-5** · 2 s"
    assert page.loc["MCFA", "wine"] == "no fit"
    said = reading.of_models(numbers)
    assert "iris: MFA is the most accurate (0.900); BIC prefers AB (accuracy 0.700)." in said


@pytest.mark.parametrize("model", ["AB", "Bayesian DkB", "Com-GMM", "MCUFSA"])
def test_one_cell(model):
    found = models.model_fit("iris", model, 1, 0)
    assert found["accuracy"] > 0.8
    assert -1000 < found["bic"] < -300
    assert found["fit_seconds"] > 0

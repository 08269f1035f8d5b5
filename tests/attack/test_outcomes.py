"""The classing itself: every outcome is told from the others."""

import json
import time
import warnings

import numpy as np
import pytest
from hypothesis import strategies as st

from fisherem.tables.errors import TableError

from .outcomes import Case, Outcome, Tally, attack, judge


def failing(error):
    def run():
        raise error

    return run


def wrong(result):
    assert result == 2


@pytest.mark.parametrize(
    ("case", "outcome"),
    [
        (Case(lambda: 1), Outcome.OK),
        (Case(lambda: 1, check=wrong), Outcome.WRONG),
        (Case(lambda: 1, valid=False), Outcome.WRONG),
        (Case(failing(ValueError("column 'a' is empty")), names=("'a'",)), Outcome.CLEAR),
        (Case(failing(TableError("t.csv: line 3")), names=("t.csv",)), Outcome.CLEAR),
        (Case(failing(ValueError("column 'a' is empty")), names=("'a'",), valid=True), Outcome.WRONG),
        (Case(failing(ValueError("it is empty")), names=("'a'",)), Outcome.UNCLEAR),
        (Case(failing(ValueError("could not convert string to float: 'a'")), names=("'a'",)), Outcome.UNCLEAR),
        (Case(failing(ValueError(""))), Outcome.UNCLEAR),
        (Case(lambda: np.float64(1e300) * 1e300), Outcome.UNCLEAR),
        (Case(lambda: warnings.warn("'a' is constant", UserWarning, stacklevel=1)), Outcome.OK),
        (Case(failing(KeyError("a"))), Outcome.TRACEBACK),
        (Case(failing(AttributeError("a"))), Outcome.TRACEBACK),
        (Case(lambda: json.loads("{")), Outcome.TRACEBACK),
        (Case(lambda: b"\xff".decode("ascii")), Outcome.TRACEBACK),
    ],
)
def test_every_outcome_is_told_from_the_others(case, outcome):
    assert judge(case).outcome is outcome


def _without_end():
    while True:
        pass


@pytest.mark.parametrize("case", [_without_end, lambda: time.sleep(5)])
def test_what_does_not_end_is_a_hang(case):
    assert judge(Case(case), limit=0.05).outcome is Outcome.HANG


def test_a_bad_case_fails_the_test_and_is_counted(monkeypatch):
    def case_of(number):
        return Case(failing(KeyError(number)) if number > 20 else lambda: number)

    monkeypatch.delenv("FISHEREM_ATTACK", raising=False)
    tally = Tally()
    with pytest.raises(AssertionError, match=r"(?s)traceback: .*KeyError: 21"):  # the smallest example
        attack("numbers", st.integers(0, 100), case_of, default=50, tally=tally)
    monkeypatch.setenv("FISHEREM_ATTACK", "60")
    monkeypatch.setenv("FISHEREM_ATTACK_SEED", "1")
    tally = Tally()
    with pytest.raises(AssertionError, match="bad outcomes of numbers"):
        attack("numbers", st.integers(0, 100), case_of, default=5, tally=tally)
    counts = tally.counts["numbers"]
    assert counts[Outcome.OK]
    assert len(tally.bad) == counts[Outcome.TRACEBACK] > 5
    assert "numbers" in tally.table().splitlines()[1]
    assert tally.table().splitlines()[-1].split()[-1] == str(sum(counts.values()))

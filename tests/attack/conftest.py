import os

import pytest

from .outcomes import TALLY


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """A hostile value that is taken for a folder makes it there, not in the project."""
    monkeypatch.chdir(tmp_path)


def pytest_terminal_summary(terminalreporter):
    """The table of outcomes and the bad cases, below the results of an attack that was asked for."""
    if os.environ.get("FISHEREM_ATTACK") and TALLY.counts:
        terminalreporter.write_line("")
        terminalreporter.write_line(TALLY.table())
        terminalreporter.write_line(TALLY.examples())

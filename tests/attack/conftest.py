import os

from .outcomes import TALLY


def pytest_terminal_summary(terminalreporter):
    """The table of outcomes and the bad cases, below the results of an attack that was asked for."""
    if os.environ.get("FISHEREM_ATTACK") and TALLY.counts:
        terminalreporter.write_line("")
        terminalreporter.write_line(TALLY.table())
        terminalreporter.write_line(TALLY.examples())

"""The command line as the tests run it: in this process, with the exit code checked."""

from __future__ import annotations

from click.testing import CliRunner

from fisherem.cli import main


def run(*arguments, code=0, **keywords):
    """The result of `fisherem` with these arguments; `keywords` are those of click's runner."""
    result = CliRunner().invoke(main, [str(one) for one in arguments], **keywords)
    assert result.exit_code == code, result.output + str(result.exception)
    return result


def printed(*arguments, code=0):
    """What `fisherem` prints with these arguments, in a terminal that is wide enough for its tables."""
    return run(*arguments, code=code, env={"COLUMNS": "300"}).output

"""Helpers for all commands: one-line errors with an exit code, one-line warnings, ranges of numbers."""

from __future__ import annotations

import functools
import sys
from itertools import islice

import click

__all__ = [
    "CLUSTER_RANGE", "FailedError", "InputError", "StoppedError", "cluster_range", "friendly", "plain_output",
    "quiet_warnings",
]  # fmt: skip

# Maximum number of candidates for the number of groups in one search, and the description of valid values.
_MOST_NUMBERS = 1000
CLUSTER_RANGE = f"a range like 2:8 or numbers like 2,3,5 (each at least 2, at most {_MOST_NUMBERS:,} of them), or auto"


class InputError(click.ClickException):
    """Bad input: one line, exit code 2."""

    exit_code = 2


class FailedError(click.ClickException):
    """The computation failed: one line, exit code 1."""

    exit_code = 1


class StoppedError(click.ClickException):
    """Interrupted by Ctrl-C: one line, exit code 130 as in shells."""

    exit_code = 130


def friendly(command):
    """Decorator: print errors as one line with an exit code; show the traceback only with --debug."""

    @functools.wraps(command)
    def run(*args, **keywords):
        if click.get_current_context().find_root().params.get("debug"):
            return command(*args, **keywords)
        try:
            return command(*args, **keywords)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
            raise InputError(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from None
        except (ValueError, TypeError) as error:
            from ..core.engine.multistart import FitError

            kind = FailedError if isinstance(error, FitError) else InputError
            raise kind(" ".join(str(error).split())) from None
        except MemoryError as error:
            raise FailedError(f"{_work(keywords)}: not enough memory ({error or 'the rows do not fit'})") from None
        except OSError as error:
            named = f"{error.filename}: {error.strerror}" if error.filename else f"{_work(keywords)}: {error}"
            raise FailedError(named) from None
        except Exception as error:  # unexpected errors: ask for a bug report
            if _is_shortage(error):
                why = " ".join(str(error).split())
                raise FailedError(f"{_work(keywords)}: not enough memory or processes ({why})") from None
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise FailedError(
                f"{_work(keywords)}: unexpected error ({what}). This is a bug in fisherem: please report it with "
                "the output of `fisherem --debug ...` for the same command"
            ) from None

    return run


def _is_shortage(error: Exception) -> bool:
    """Whether an error means that memory or processes have run out, whatever its type."""
    shortages = ("can't start new thread", "failed to map segment", "cannot allocate memory", "out of memory")
    ended = type(error).__name__ in ("BrokenProcessPool", "TerminatedWorkerError")  # killed by the system
    return ended or any(words in str(error).lower() for words in shortages)


def _work(keywords: dict) -> str:
    """The current command and its file, such as "fit iris.csv"."""
    given = [keywords[name] for name in ("model_file", "image") if keywords.get(name) is not None]
    given += [keywords["source"].data] if "source" in keywords else []
    return " ".join(map(str, [click.get_current_context().info_name, *given]))


def plain_output() -> None:
    """Replace characters that the terminal cannot encode by ?, so that printing a result cannot fail."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def cluster_range(text: str):
    """Convert "2:8" or "2,3,5" to a list of numbers of groups; "auto" is returned unchanged."""
    if text == "auto":
        return text
    first, colon, last = text.partition(":")
    numbers = list(islice(range(int(first), int(last) + 1), _MOST_NUMBERS + 1)) if colon else _numbers(text)
    if not 1 <= len(numbers) <= _MOST_NUMBERS or min(numbers) < 2:
        raise ValueError
    return numbers


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def quiet_warnings() -> None:
    """Show each warning once, as one line on standard error, without its location in the code.

    Messages of matplotlib about its font cache are not shown.
    """
    import logging
    import warnings

    shown: set[str] = set()

    def show(message, category, filename, lineno, file=None, line=None):
        if (text := str(message)) not in shown:  # several steps of a command may warn about the same table
            shown.add(text)
            click.echo(f"note: {text}", err=True)

    warnings.showwarning = show
    logging.getLogger("matplotlib").setLevel(logging.ERROR)

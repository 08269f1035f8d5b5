"""What the commands share: errors as one line with an exit code, warnings as one line, ranges of numbers."""

from __future__ import annotations

import functools
import sys

import click

__all__ = [
    "FailedError", "InputError", "StoppedError", "cluster_range", "friendly", "plain_output", "quiet_warnings",
]  # fmt: skip

# Numbers of groups that one search may try.
_MOST_NUMBERS = 1000


class InputError(click.ClickException):
    """Bad input: one line, exit code 2."""

    exit_code = 2


class FailedError(click.ClickException):
    """The computation failed: one line, exit code 1."""

    exit_code = 1


class StoppedError(click.ClickException):
    """Ctrl-C ended the work early: one line, and the exit code that shells use for it."""

    exit_code = 130


def friendly(command):
    """Errors as one line with an exit code; the traceback only with --debug."""

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
        except Exception as error:  # nothing that we raise: say what happened, and what helps to find it
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise FailedError(
                f"{_work(keywords)}: unexpected error ({what}). This is a fault of fisherem: please report it to its "
                "maintainers, with what `fisherem --debug ...` prints for the same command"
            ) from None

    return run


def _work(keywords: dict) -> str:
    """The command that runs and the file that it was given: "fit iris.csv"."""
    given = [keywords[name] for name in ("model_file", "image") if keywords.get(name) is not None]
    given += [keywords["source"].data] if "source" in keywords else []
    return " ".join(map(str, [click.get_current_context().info_name, *given]))


def plain_output() -> None:
    """Let a terminal that knows few letters show the others as ?: the work is done, and must not fail over a letter."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def cluster_range(ctx, param, value):
    """2:8 or 2,3,5 as a list of numbers."""
    try:
        if ":" in value:
            first, last = map(int, value.split(":"))
            if last - first >= _MOST_NUMBERS:
                raise click.BadParameter(f"at most {_MOST_NUMBERS:,} numbers of groups can be tried; got {value!r}")
            numbers = list(range(first, last + 1))
        else:
            numbers = [int(v) for v in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"expected a range like 2:8 or numbers like 2,3,5; got {value!r}") from None
    if not numbers or min(numbers) < 2:
        raise click.BadParameter(f"numbers of groups start at 2; got {value!r}")
    return numbers


def quiet_warnings() -> None:
    """Warnings as one line on standard error, without the place in the code."""
    import warnings

    def show(message, category, filename, lineno, file=None, line=None):
        click.echo(f"note: {message}", err=True)

    warnings.showwarning = show

"""What the commands share: errors as one line with an exit code, warnings as one line, ranges of numbers."""

from __future__ import annotations

import functools

import click

__all__ = ["FailedError", "InputError", "cluster_range", "friendly", "quiet_warnings"]


class InputError(click.ClickException):
    """Bad input: one line, exit code 2."""

    exit_code = 2


class FailedError(click.ClickException):
    """The computation failed: one line, exit code 1."""

    exit_code = 1


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
            from ..em.multistart import FitError

            kind = FailedError if isinstance(error, FitError) else InputError
            raise kind(" ".join(str(error).split())) from None
        except (ArithmeticError, RuntimeError, MemoryError, OSError) as error:
            raise FailedError(f"{type(error).__name__}: {error}") from None

    return run


def cluster_range(ctx, param, value):
    """2:8 or 2,3,5 as a list of numbers."""
    try:
        if ":" in value:
            first, last = map(int, value.split(":"))
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

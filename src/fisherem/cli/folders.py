"""Where a command writes to: checked before the work, with a record of what has made the files.

`run.json` names the command, the table and the options. The same command may write its results again, so that it goes
on after an interruption. Another one asks first, or needs --force: this avoids overwriting results by
mistake.
"""

from __future__ import annotations

import glob
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from .._utils.wording import listed
from .common import InputError

__all__ = ["RECORD", "check_file", "check_folder", "check_inputs", "check_results", "record_run"]

RECORD = "run.json"
# Parameters of the commands that are images, which may consist of several files of the same name.
_IMAGES = ("image", "mask", "truth")
# Parameters that are places to write to.
_WRITTEN = ("output", "checkpoint", "contributions", "markers")
# Options that do not affect the results.
_INCIDENTAL = ("output", "force", "as_json", "quiet", "jobs", "memory")


def check_folder(folder: Path, names: Iterable[str] = ()) -> None:
    """Fail before the work if the folder, or one of the files in it that are to be written, cannot be written to."""
    from .._utils.atomic import check_targets, output_folder

    with output_folder(folder):
        check_targets(folder, names)


def _inputs() -> list[Path]:
    """The files and folders that the command reads, including those that belong to an image."""
    found: list[Path] = []
    for name, path in click.get_current_context().params.items():
        if not isinstance(path, Path) or name in _WRITTEN:
            continue
        found.append(path)
        if name in _IMAGES:
            named = path.parent / glob.escape(path.stem)
            found += map(Path, glob.glob(f"{named}.*") + glob.glob(str(named)))
    return [path for path in found if path.exists()]


def check_inputs(outputs: Iterable[Path]) -> None:
    """Fail before the work if one of the files to be written is an input of the command, also by way of a link."""
    inputs = _inputs()
    for output in outputs:
        for path in inputs:
            inside = path.is_dir() and output.resolve().is_relative_to(path.resolve())
            if inside or (output.exists() and os.path.samefile(output, path)):
                what = "is the input itself" if not inside else f"lies inside the input {path}"
                linked = "" if inside or output.absolute() == path.absolute() else f" (the same file as {path})"
                raise InputError(f"{output}{linked} {what} and would be overwritten: choose another place with -o")


def check_file(path: Path) -> None:
    """Fail before the work if a file cannot be written: its folder is made, and what stands there must be a file.

    An input of the command is refused.
    """
    check_inputs([path])
    check_folder(path.parent, [path.name])


def _this_run() -> dict:
    """The command that runs, with its table and options, as plain values."""
    context = click.get_current_context()
    given = {name: value for name, value in context.params.items() if name not in _INCIDENTAL}
    data = given.pop("data", None)
    run = {"command": context.info_name, "data": None if data is None else Path(data).resolve(), "options": given}
    return json.loads(json.dumps(run, default=str))


def _run_in(folder: Path) -> dict:
    """What made the files of a folder; empty where nothing says so."""
    try:
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def check_results(folder: Path, names: Iterable[str], *, force: bool, ask: bool) -> None:
    """Fail before the work if files of these names cannot be written, are inputs, or are those of another run.

    Results of another run are replaced with `force`, or after a yes in a terminal if `ask`.
    """
    names = [*names, RECORD]
    check_inputs(folder / name for name in names)
    check_folder(folder, names)
    found = [name for name in names if (folder / name).exists()]
    before = _run_in(folder)
    if not found or force or before == _this_run():
        return
    said = " ".join(str(before[key]) for key in ("command", "data") if before.get(key))
    held = f"{folder} holds the results of another run ({said or listed(found, 3, quoted=False)})"
    if ask and sys.stdin.isatty() and sys.stderr.isatty():
        if click.confirm(f"{held}: replace them?", err=True):
            return
        raise InputError(f"{folder}: nothing was done; choose another folder with -o")
    raise InputError(f"{held}: choose another folder with -o, or replace them with --force")


def record_run(folder: Path) -> None:
    """Write what has made the files of the folder."""
    from .._utils.atomic import atomic_file

    with atomic_file(folder / RECORD) as file:
        file.write(json.dumps(_this_run(), indent=2).encode())

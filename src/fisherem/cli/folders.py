"""Output folders: checked before any work is done, with a record of the command that wrote the files.

`run.json` contains the command, the table and the options. The same command may overwrite its own results, so that it
can resume after an interruption. A different command asks for confirmation or needs --force, so that results are not
overwritten by mistake.
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
# Parameters that are images, which may consist of several files that differ in their suffix.
_IMAGES = ("image", "mask", "truth")
# Parameters that are output paths.
_WRITTEN = ("output", "checkpoint", "contributions", "markers")
# Options that do not affect the results.
_INCIDENTAL = ("output", "force", "as_json", "quiet", "jobs", "memory")


def check_folder(folder: Path, names: Iterable[str] = ()) -> None:
    """Fail early if the folder, or one of the files to be written in it, is not writable."""
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
    """Fail early if one of the files to be written is an input of the command, even through a link."""
    inputs = _inputs()
    for output in outputs:
        for path in inputs:
            inside = path.is_dir() and output.resolve().is_relative_to(path.resolve())
            if inside or (output.exists() and os.path.samefile(output, path)):
                what = "is the input itself" if not inside else f"lies inside the input {path}"
                linked = "" if inside or output.absolute() == path.absolute() else f" (the same file as {path})"
                raise InputError(f"{output}{linked} {what} and would be overwritten: choose another place with -o")


def check_file(path: Path) -> None:
    """Fail early if a file cannot be written or is an input of the command.

    Its folder is created if necessary.
    """
    check_inputs([path])
    check_folder(path.parent, [path.name])


def _this_run() -> dict:
    """The current command with its table and options, as plain values."""
    context = click.get_current_context()
    given = {name: value for name, value in context.params.items() if name not in _INCIDENTAL}
    data = given.pop("data", None)
    run = {"command": context.info_name, "data": None if data is None else Path(data).resolve(), "options": given}
    return json.loads(json.dumps(run, default=str))


def _run_in(folder: Path) -> dict:
    """The record of the command that wrote the files of a folder; empty if there is none."""
    try:
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def check_results(folder: Path, names: Iterable[str], *, force: bool, ask: bool) -> None:
    """Fail early if files of these names cannot be written, are inputs, or belong to another run.

    Results of another run are replaced with `force`, or after confirmation in a terminal if `ask`.
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
    """Record the command that wrote the files of the folder."""
    from .._utils.atomic import atomic_file

    with atomic_file(folder / RECORD) as file:
        file.write(json.dumps(_this_run(), indent=2).encode())

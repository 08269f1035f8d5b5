"""Tests leave the project's folder alone: a test that writes into it fails, and names the file.

Writes of the process itself are seen as they happen (an audit hook), those of its children when the session ends (the
files before and after).
"""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# What Python, pytest and the tools write here while tests run, and what is nobody's output.
KEPT_BY_TOOLS = {".git", ".venv", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "__pycache__"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Audit events and which of their arguments are paths that change.
CHANGING = {"os.mkdir": 1, "os.rename": 2, "os.remove": 1, "os.rmdir": 1, "os.symlink": 2, "os.link": 2}


def inside(path) -> bool:
    """Whether a path lies in the project's folder, and not where tools keep their own files."""
    if isinstance(path, int) or not path:  # an open file
        return False
    found = Path(os.path.realpath(os.fsdecode(path)))
    return found.is_relative_to(ROOT) and KEPT_BY_TOOLS.isdisjoint(found.relative_to(ROOT).parts)


class Watch:
    """Fails the test that runs when something is written into the project's folder; does nothing between tests."""

    test: str | None = None

    def __call__(self, event: str, arguments: tuple) -> None:
        """Audit hook: it sees every opened file, so the usual cases come first."""
        if self.test is None:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & WRITING and inside(path):
                self.fail(path)
        elif event in CHANGING:
            for path in arguments[: CHANGING[event]]:
                if inside(path):
                    self.fail(path)

    def fail(self, path) -> None:
        # pytest's Failed is no Exception: what catches errors of commands does not swallow it
        pytest.fail(f"{self.test} writes into the project's folder: {os.fsdecode(path)}")


def files() -> set[str]:
    """The files and folders of the project, without what tools keep."""
    found = set()
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in KEPT_BY_TOOLS]
        found.update(os.path.join(folder, name) for name in (*folders, *names))
    return found


WATCH = Watch()
sys.addaudithook(WATCH)

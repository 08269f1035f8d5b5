"""What has been computed, one small JSON file per job, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from pathlib import Path

from .._utils.atomic import atomic_file

__all__ = ["Records"]


class Records:
    """Records in a folder, by the name of the job. If a file cannot be read, it is reported and the job runs again."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, name: str) -> Path:
        readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        return self.folder / f"{readable[:80]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}.json"

    def get(self, name: str) -> dict | None:
        """The record of a job; None where there is none that can be used."""
        path = self._path(name)
        if not path.exists():
            return None
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["name"] != name:
                raise ValueError("it belongs to another job")
            return kept["record"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            warnings.warn(f"{path} cannot be used ({error}); the job runs again", stacklevel=2)
            return None

    def put(self, name: str, record: dict) -> None:
        """Keep the record of a job."""
        with atomic_file(self._path(name)) as file:
            file.write(json.dumps({"name": name, "record": record}, indent=1).encode())

"""What importing an estimator costs, beside scikit-learn's KMeans: CPU seconds of fresh interpreters.

    python benchmarks/import_time.py [runs]

The two are started in turn, so that a busy machine slows both, and the medians are compared. Both are compiled before,
as an installation is. The aim is a ratio of at most 1.2; `tests/test_imports.py` keeps out what a fit to an array need
not have.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile

STATEMENTS = {
    "KMeans": "from sklearn.cluster import KMeans",
    "SparseFisherEM": "from fisherem import SparseFisherEM",
}
RUNS = 11


def cpu_seconds(statement: str, compiled: str) -> float:
    """User and system time of an interpreter that executes the statement, with compiled files in a folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = compiled
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", statement], environment)
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{statement} failed")
    return used.ru_utime + used.ru_stime


def main(runs: int) -> None:
    """Print the medians and their ratio."""
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    with tempfile.TemporaryDirectory() as compiled:
        for statement in STATEMENTS.values():
            cpu_seconds(statement, compiled)  # compiles
        for _ in range(runs):
            for name, statement in STATEMENTS.items():
                times[name].append(cpu_seconds(statement, compiled))
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, median in medians.items():
        print(f"{name:<16} {median:.3f} s (from {min(times[name]):.3f} to {max(times[name]):.3f})")
    print(f"{'ratio':<16} {medians['SparseFisherEM'] / medians['KMeans']:.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)

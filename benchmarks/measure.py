"""What the benchmarks share: a line of the report, seconds, and the peak of memory."""

from __future__ import annotations

import threading
import time
from pathlib import Path

__all__ = ["report", "resident", "timed", "watched"]


def report(what: str, value: str, target: str = "", good: bool = True) -> None:
    """Print a line: what was measured, its value, what is expected, and a mark where it lies outside of that."""
    print(f"{'' if good else '! '}{what}: {value}" + (f" (expected {target})" if target else ""), flush=True)


def timed(function):
    """(result, seconds) of a call."""
    begin = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begin


def resident() -> int:
    """Bytes of memory that are not pages of a file."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return sum(int(fields[name].split()[0]) * 1024 for name in ("RssAnon", "RssShmem"))


def watched(function):
    """(peak of `resident`, sampled every 20 ms; result) of a call."""
    peak, done = [0], threading.Event()

    def watch():
        while not done.wait(0.02):
            peak[0] = max(peak[0], resident())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        result = function()
    finally:
        done.set()
        thread.join()
    return peak[0], result

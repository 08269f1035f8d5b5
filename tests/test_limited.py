"""Work with a time limit is really stopped, with everything that it has started."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from fisherem._utils.limited import LimitedWorker, TimeUpError


def ready():
    pass


def sums(n):
    return sum(range(n)), os.getpid()


def fails():
    raise ArithmeticError("no luck")


def for_ever(path):
    """Writes its number and that of a process that it starts, and goes on."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    path.with_suffix(".new").write_text(f"{os.getpid()} {child.pid}")
    path.with_suffix(".new").rename(path)
    while True:
        pass


def gone(pid: int) -> bool:
    """Whether a process has ended, or is only waiting to be collected."""
    for _ in range(100):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def test_work_past_its_time_limit_is_ended_with_its_children(tmp_path):
    with LimitedWorker(ready) as worker:
        total, first = worker.run(sums, 10, time_limit=60)
        assert total == 45
        with pytest.raises(ArithmeticError, match="no luck"):
            worker.run(fails, time_limit=60)
        assert worker.run(sums, 3, time_limit=60) == (3, first)  # an error leaves the process as it is
        with pytest.raises(TimeUpError, match="stopped after 3 s, which is its limit"):
            worker.run(for_ever, tmp_path / "pids", time_limit=3)
        mine, child = map(int, (tmp_path / "pids").read_text().split())
        assert mine == first
        assert gone(mine)
        assert gone(child)
        total, second = worker.run(sums, 4, time_limit=60)
        assert (total, second != first) == (6, True)
    assert gone(second)

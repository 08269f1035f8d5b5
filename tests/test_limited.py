"""Work with a time limit is really stopped, with everything that it has started."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from fisherem._utils.limited import LimitedWorker, TimeUpError
from fisherem._utils.parallel import run_tasks


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
        with pytest.raises(TimeUpError, match="stopped at its time limit of 3 s"):
            worker.run(for_ever, tmp_path / "pids", time_limit=3)
        mine, child = map(int, (tmp_path / "pids").read_text().split())
        assert mine == first
        assert gone(mine)
        assert gone(child)
        total, second = worker.run(sums, 4, time_limit=60)
        assert (total, second != first) == (6, True)
    assert gone(second)


LEAVING = """
import sys
from tests.test_limited import ready, shared
from fisherem._utils.limited import LimitedWorker, TimeUpError

if __name__ == "__main__":
    with LimitedWorker(ready) as worker:
        try:
            worker.run(shared, 200, time_limit=5)
        except TimeUpError as error:
            print(error)
        print(worker.run(sum, [1, 2], time_limit=30))
"""


def nap(seconds):
    time.sleep(seconds)


def shared(n):
    """Work on processes of its own, which share semaphores with this one."""
    return len(list(run_tasks(nap, [(0.7,)] * n, 2)))


def test_work_that_is_ended_leaves_no_semaphores(tmp_path):
    script = tmp_path / "leaving.py"
    script.write_text(LEAVING)
    project = Path(__file__).parents[1]
    paths = os.pathsep.join([str(project), str(project / "src"), os.environ.get("PYTHONPATH", "")])
    there = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, env=there)
    assert done.stdout.splitlines() == ["stopped at its time limit of 5 s", "3"], done.stderr
    assert "leaked" not in done.stderr

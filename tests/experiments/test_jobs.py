"""Jobs: within their time, never twice, failures as records."""

import contextlib
import json
import time

import numpy as np
import pytest

from fisherem._utils.progress import progress_bar
from fisherem.experiments.jobs import Job, OutOfTimeError, Records, complete, time_limit

calls = []


def square(x):
    calls.append(x)
    return {"value": x * x}


def fail(x):
    raise np.linalg.LinAlgError(f"no luck\nwith {x}")


def stubborn(x):
    """A method that skips whatever fails must not skip the end of its time."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with contextlib.suppress(Exception):
            time.sleep(0.01)
    return {"value": x}


@pytest.fixture
def records(tmp_path):
    calls.clear()
    return Records(tmp_path / "records")


def run(jobs, records, n_jobs=1):
    with progress_bar("", False) as bar:
        return complete(jobs, records, n_jobs, bar)


def test_jobs_are_done_once(records):
    jobs = [Job(square, (3,)), Job(square, (4,)), Job(square, (3,))]
    found = run(jobs, records)
    assert [found[job]["value"] for job in jobs] == [9, 16, 9]
    assert calls == [3, 4]
    again = run(jobs, Records(records.folder))
    assert again == found
    assert calls == [3, 4]


def test_failures_are_records(records):
    found = run([Job(fail, (7,)), Job(square, (2,))], records)
    assert found[Job(fail, (7,))]["failed"] == "no luck with 7"
    assert found[Job(square, (2,))]["value"] == 4


def test_what_takes_too_long_is_stopped_and_tried_again_with_more_time(records):
    job = Job(stubborn, (1,), 0.2)
    begin = time.monotonic()
    assert "not finished" in run([job], records)[job]["failed"]
    assert time.monotonic() - begin < 10
    name = job.name
    records.put(name, records.get(name) | {"mark": "kept"})
    assert run([Job(stubborn, (1,), 0.2)], records)[job].get("mark") == "kept"
    assert run([Job(stubborn, (1,), 0.3)], records)[job]["limit"] == 0.3


def test_time_limit_leaves_no_alarm_behind():
    with time_limit(0.05):
        pass
    time.sleep(0.1)
    with pytest.raises(OutOfTimeError), time_limit(0.05):
        time.sleep(1)


def test_a_record_that_is_cut_short_is_computed_again(records):
    job = Job(square, (5,))
    run([job], records)
    (path,) = records.folder.iterdir()
    path.write_text(path.read_text()[:20])
    with pytest.warns(UserWarning, match="cannot be used"):
        assert run([job], records)[job]["value"] == 25
    assert json.loads(path.read_text())["record"]["value"] == 25


def test_a_record_of_another_job_is_not_taken(records):
    run([Job(square, (5,))], records)
    (path,) = records.folder.iterdir()
    path.write_text(path.read_text().replace("square 5", "square 6"))
    with pytest.warns(UserWarning, match="another job"):
        assert records.get("square 5") is None

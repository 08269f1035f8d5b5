"""Tasks on several cores: this process and workers take them from one queue."""

import os
import time

import numpy as np
import pytest

from fisherem._utils.parallel import run_as_they_come, run_tasks


class Square:
    """The square of a number, and who computed it; with arrays to share, one of which the task writes into."""

    def __init__(self):
        self.large, self.none = np.asfortranarray(np.arange(20.0).reshape(4, 5)), np.zeros((0, 3))

    def __call__(self, number):
        if number < 0:
            raise ValueError(f"no square of {number}")
        assert self.none.shape == (0, 3)
        self.large[0, 0] = number
        time.sleep(0.05)
        return number**2, self.large.sum() - number, os.getpid()


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_results_do_not_depend_on_the_number_of_jobs(workers_at_once, jobs):
    found = dict(run_tasks(Square(), [(i,) for i in range(40)], jobs))
    assert {i: one[:2] for i, one in found.items()} == {i: (i**2, 190.0) for i in range(40)}
    assert os.getpid() in {pid for *_, pid in found.values()}  # this process works, too


def test_another_number_of_workers_while_the_last_ones_are_starting(workers_at_once):
    for jobs in (2, 4, 3):
        found = dict(run_tasks(Square(), [(i,) for i in range(3)], jobs))  # ends long before a worker is up
        assert [found[i][0] for i in range(3)] == [0, 1, 4]


def test_workers_help(workers_at_once):
    once = list(run_tasks(Square(), [(i,) for i in range(200)], 2))
    assert len({found[2] for _, found in once}) == 2


def test_short_work_starts_no_workers():
    found = list(run_tasks(Square(), [(i,) for i in range(4)], 2))
    assert [i for i, _ in found] == [0, 1, 2, 3]
    assert {one[2] for _, one in found} == {os.getpid()}
    assert list(run_tasks(Square(), [], 2)) == []


@pytest.mark.parametrize("at_once", [False, True])
def test_workers_start_before_the_first_task_of_long_work(at_once, monkeypatch):
    started = []
    monkeypatch.setattr("fisherem._utils.parallel._Helpers.__init__", lambda self, *_: started.append(len(done)))
    monkeypatch.setattr("fisherem._utils.parallel._Helpers.feed", lambda self: None)
    monkeypatch.setattr("fisherem._utils.parallel._Helpers.leave", lambda self, interrupted: None)
    done, batches = [], iter([[(2,), (3,)]])
    for found in run_as_they_come(Square(), lambda: next(batches, ()), 2, at_once=at_once):
        done.append(found)
    assert started == ([0] if at_once else [])
    assert len(done) == 2


@pytest.mark.parametrize("jobs", [1, 2])
def test_tasks_that_results_ask_for_are_numbered_in_the_order_in_which_they_are_asked_for(workers_at_once, jobs):
    known = [(3,), (4,)]
    asked, results = list(known), {}

    def due():
        nonlocal known
        new, known = known, []
        return new

    for index, (square, *_) in run_as_they_come(Square(), due, jobs):
        results[index] = square
        if square < 100:  # 9 and 16 ask for the squares of themselves
            known = [(square,)]
            asked += known
    assert results == {i: number**2 for i, (number,) in enumerate(asked)}
    assert sorted(results.values()) == [9, 16, 81, 256, 6561]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_ends_the_work(workers_at_once, jobs):
    with pytest.raises(ValueError, match="no square of -1"):
        list(run_tasks(Square(), [(2,)] * 30 + [(-1,)] + [(2,)] * 30, jobs))
    assert len(list(run_tasks(Square(), [(2,)] * 30, jobs))) == 30


def test_what_nobody_waits_for_is_given_up(workers_at_once):
    found = run_tasks(Square(), [(2,)] * 100, 2)
    for _ in range(5):
        next(found)
    found.close()

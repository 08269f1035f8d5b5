"""The mark of the tests that hold thresholds, so that a test can tell whether each of them is held."""

import numpy as np

from fisherem.core.data.problem import prepare


class Holds(dict):
    """`@holds("tie")` marks a test that fails when that threshold moves; the names that are held, with their tests."""

    def __call__(self, *names):
        def mark(test):
            self.update(dict.fromkeys(names, test))
            return test

        return mark


holds = Holds()  # the thresholds of `Thresholds`


def of_sizes(sizes, n=60):
    X = np.random.default_rng(0).normal(size=(n, len(sizes)))
    return prepare((X - X.mean(axis=0)) / X.std(axis=0) * sizes, ridge="auto")

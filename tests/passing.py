"""Something happens in the middle of a fit: an observer of its passes does it."""


class AtPass:
    """After the n-th iteration of a fit, or every one, `act` is called; `passes` counts the iterations."""

    def __init__(self, n, act):
        self.n, self.act, self.passes = n, act, 0

    def resume(self, n, phase):
        return None

    def passed(self, n, phase, history, posteriors):
        self.passes += 1
        if self.n is None or self.passes == self.n:
            self.act()

"""Where a map lies: the direction of north and round coordinates along its edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["MapPlace"]


@dataclass(frozen=True)
class MapPlace:
    """The place of a map of pixels.

    transform : (a, b, c, d, e, f) of x = a column + b row + c, y = d column + e row + f at the edges of pixels
    system : the name of the coordinate system, "" if it is unknown
    """

    transform: tuple[float, ...]
    system: str = ""

    @property
    def turned(self) -> bool:
        """Whether rows and columns do not run along the coordinates."""
        return bool(self.transform[1] or self.transform[3])

    def at(self, column: float, row: float) -> tuple[float, float]:
        """The coordinates at the edges of pixels: (0, 0) is the upper left corner of the map."""
        a, b, c, d, e, f = self.transform
        return a * column + b * row + c, d * column + e * row + f

    @property
    def north(self) -> tuple[float, float]:
        """The unit vector (right, up) on the map along which y grows and x does not."""
        a, b, _, d, e, _ = self.transform
        columns, rows = np.linalg.solve(np.array([[a, b], [d, e]]), [0.0, 1.0])
        length = float(np.hypot(columns, rows))
        return float(columns) / length, -float(rows) / length

    def corners(self, shape: tuple[int, int]) -> str:
        """The coordinates of the upper left and the lower right corner of a map of rows x columns, as text."""
        ends = [", ".join(_text(v) for v in self.at(*corner)) for corner in ((0, 0), (shape[1], shape[0]))]
        return f"upper left {ends[0]}, lower right {ends[1]}" + (f" ({self.system})" if self.system else "")

    def ticks(self, shape: tuple[int, int]) -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
        """(columns, rows) with round coordinates and their texts, at most five each; none on a turned map.

        Columns and rows are as matplotlib counts them: 0 is the middle of the first pixel.
        """
        if self.turned:
            return [], []
        a, _, c, _, e, f = self.transform
        return _round(c, a, shape[1]), _round(f, e, shape[0])


def _round(start: float, step: float, n: int) -> list[tuple[float, str]]:
    from matplotlib.ticker import MaxNLocator

    ends = sorted((start, start + step * n))
    values = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(*ends)
    return [((v - start) / step - 0.5, _text(v)) for v in values if ends[0] <= v <= ends[1]]


def _text(value: float) -> str:
    return f"{value:.10g}"

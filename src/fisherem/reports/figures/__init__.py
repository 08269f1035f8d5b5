"""The page's still pictures. Data of the page's content goes in, SVG text comes out; nothing else is touched.

Pictures wider than a phone are drawn twice, wide and narrow, and the style sheet shows the one that fits, so that text
keeps its size.
"""

from .boxes import box_plot
from .criterion import criterion_lines
from .frame import legend_mark
from .heat import heat_figure, heat_scale
from .path import path_panels
from .profile import profile_plot

__all__ = [
    "box_plot", "criterion_lines", "heat_figure", "heat_scale", "legend_mark", "path_panels", "profile_plot",
]  # fmt: skip

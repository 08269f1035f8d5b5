"""The page's still pictures. Data of the page's content goes in, SVG text comes out; nothing else is touched.

Pictures wider than a phone are drawn twice, wide and narrow, and the style sheet shows the one that fits, so that text
keeps its size.
"""

from .boxes import box_plot
from .criterion import criterion_lines
from .frame import legend_mark
from .path import path_panels
from .profile import MAX_NAMED, profile_plot

__all__ = ["MAX_NAMED", "box_plot", "criterion_lines", "legend_mark", "path_panels", "profile_plot"]

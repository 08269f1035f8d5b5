"""The static figures of the page: functions from the page's content to SVG text, without side effects.

Pictures wider than a phone are drawn twice, wide and narrow, and the style sheet shows the one that fits, so that text
keeps its size.
"""

from .boxes import box_plot
from .consensus import consensus_figure, consensus_scale
from .criterion import criterion_lines
from .dots import dot_keys, dot_plot
from .frame import legend_mark
from .heat import heat_figure, heat_scale, track_keys
from .path import path_panels
from .profile import profile_plot

__all__ = [
    "box_plot", "consensus_figure", "consensus_scale", "criterion_lines", "dot_keys", "dot_plot", "heat_figure",
    "heat_scale", "legend_mark",
    "path_panels", "profile_plot", "track_keys",
]  # fmt: skip

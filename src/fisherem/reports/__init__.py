"""Pages about a fit: one self-contained HTML file that people open in a browser.

In: a fitted FisherEM, SparseFisherEM or ModelSearch with the rows of a table (n x p), or a Segmentation. Out: the path
of the file. In between, a page is made in two steps. `table_content.build` and `image_content.build_image` compute
everything that is shown as plain data (`Content`, `ImageContent`), in which groups and variables count from 0 like the
arrays of the model. `table.render` and `image.render_image` turn the data into HTML text, in which people read groups
from 1 and columns without a name as x1, x2, ...

`summary` gives the same facts as tables and values, for the files and the terminal of the command line.
"""

from .page.table import report
from .page.table_content import Content

__all__ = ["Content", "report"]

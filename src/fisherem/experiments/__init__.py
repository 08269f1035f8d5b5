"""The paper's experiments: `fisherem reproduce`.

In: the parts to run ("table1" to "table4", "figures"), a plan (how many replications, starts, models) and a folder.
Out: a table per part as a pandas frame, and in the folder Markdown, CSV and PNG files beside the paper's own numbers.

A part is a list of jobs; a job is a function of plain arguments that returns a plain record (`jobs`, `protocols`).
Records are kept as files, so an interrupted run can be resumed. `table1` to `table4` and
`figures` turn records into tables and pictures, `reading` summarises them in sentences, and `paper` has the printed
numbers.
"""

from .reproduce import PARTS, reproduce

__all__ = ["PARTS", "reproduce"]

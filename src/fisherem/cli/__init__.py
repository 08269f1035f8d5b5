"""The command line: `fisherem`.

In: the path of a table (n rows x p columns; `fisherem.tables` says which kinds of files) or of a hyperspectral image, a
model file for `predict` and `report`, and options whose names come from the registers.

Out: files in a folder (`fisherem.reports.writers` says which), a summary on standard output, as JSON if wanted, and an
exit code: 0 done, 1 the computation failed, 2 bad usage or input, 130 interrupted (a search then writes what it has),
143 ended by SIGTERM. Errors and notes are lines on standard error. Groups are counted from 1 and columns without names
are x1, x2, ... in everything that is printed or written.
"""

from .commands import main

__all__ = ["main"]

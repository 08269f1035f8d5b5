"""Open and validate tables.

In: a path (`READERS` lists the kinds of files), a memory map, a Zarr array, a dask collection, an array or a frame, of
n rows x p columns.

Out, for the command line, from `opening.open_table`: a `Table` with X (a frame, or a `FileTable` for rows that are read
in blocks), ids (n), labels (n) or None, and notes on how the file was read.

Out, for the estimators, from `checking.check_table`: an array (n x p) in float32 or float64, or a `FileTable` or
`DaskTable`, with

- shape (n, p), names (p) or None, len() = n
- rows(weights, n_jobs), the engine of the package `rows` that visits the rows in blocks
- rows_at(index), some rows as an array

Non-numeric columns, values that are not finite and unreadable files raise an error that names the file, the place and a
remedy.
"""

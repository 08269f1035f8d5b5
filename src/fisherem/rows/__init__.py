"""Access to rows in memory, on disk or on a cluster.

In: n x p rows (an array, a file, Dask blocks) with weights (n) or None. Out: sums. `Rows.fold(kernel, states, *args)`
runs a kernel on every block of rows and adds up the results. A kernel gets a `Block` (products with the centred rows)
and the block's `BlockState` (values per row, along the last axis), and declares which of them it reads and writes.
`base` (memory), `sparse`, `on_disk` and `on_dask` are engines with the same interface and, up to rounding, the same
sums.
"""

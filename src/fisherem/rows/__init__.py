"""Where rows live, and the one verb that visits them.

In: n x p rows (an array, a file, Dask blocks) with weights (n) or None. Out: sums. `Rows.fold(kernel, states, *args)`
runs a kernel on every block of rows and adds up what it returns; a kernel sees a `Block` (products with the centred
rows) and the block's `BlockState` (what its m rows remember, along the last axis), and declares what it reads and
writes of it. `in_memory`, `on_disk` and `on_dask` are engines with the same verbs and, up to rounding, the same sums.
"""

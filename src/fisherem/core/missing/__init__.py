"""Rows with missing cells.

In: rows (n x p) with NaN. Out: completed rows to choose on (`completion`), and an iteration whose E-step has the
densities of the observed cells and expected statistics of the others (`iteration`, `expectation`), pattern by pattern
(`patterns`).
"""

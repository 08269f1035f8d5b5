"""Rows with missing cells.

In: rows (n x p) with NaN. Out: completed rows for the automatic decisions (`completion`), and an iteration whose E-step
uses the densities of the observed cells and expected statistics of the others (`iteration`, `expectation`), pattern by
pattern (`patterns`).
"""

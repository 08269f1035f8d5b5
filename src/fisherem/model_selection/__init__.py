"""Choosing and judging: search, sparsity path, stability, comparison, scores."""

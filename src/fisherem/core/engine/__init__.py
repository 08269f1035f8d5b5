"""The loop of any family of mixtures.

In: a `Problem`, a `Family` and starts. Out: a `Fit`. `loop` iterates one run until a stopping rule holds,
`concurrent_runs` does several at once, `multistart` takes starts through the phases of a family, `checkpoints` keeps
finished fits on disk.
"""

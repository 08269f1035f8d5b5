"""Bayesian Fisher-EM: the DLM with a prior over the groups' latent means.

In: the sums of the groups over the rows. Out: variational parameters (`step`) for the loop (`family`).
"""

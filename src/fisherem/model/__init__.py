"""Models and criteria, independent of data.

`dlm`: the twelve DLM models as a register, each a shape of the covariances (K x d x d) and a shape of the noise (K):
how the shape constrains estimates, and how many free parameters it has. `criteria`: BIC, ICL, AIC as a register of
functions of (log-likelihood, number of parameters, n, entropy); larger is better.
"""

"""Penalised problems in arrays, without any mixture: each solver says what it minimises and how close it came.

    l1_budget       min  1/2 b'Gb - g'b  under |b|_1 <= budget           G (p x p), g (p)     -> L1Solution, b (p)
    penalized_svd   max  u'LR'v  under |u|_2, |v|_2 <= 1, |u|_1 <= bound  L, R (p x m)         -> PenalizedSVD, u, v (p)
    procrustes      min  |B - U|_F  under U'U = I                        B (p x d)            -> U (p x d)
    gram            G, dense or low-rank plus ridge, by its products with the variables of an active set

A solver returns the solution, the history of its objective (or multiplier) and a gap that is 0 at the optimum; the
tests assert the gap. Nothing here changes its inputs.
"""

"""Solvers for penalised problems and k-means on plain arrays.

    l1_budget       min  1/2 b'Gb - g'b  under |b|_1 <= budget           G (p x p), g (p)     -> L1Solution, b (p)
    penalized_svd   max  u'LR'v  under |u|_2, |v|_2 <= 1, |u|_1 <= bound  L, R (p x m)         -> PenalizedSVD, u, v (p)
    kmeans_runs     min  sum_i w_i |z_i - c_label(i)|^2, many runs        Z (n x p)            -> KMeansRun
    sparse_kmeans   max  sum_j w_j BCSS_j  under |w|_2 <= 1, |w|_1 <= s   Z (n x p)            -> Alternation
    ward            Ward's hierarchical clustering                        Y (n x p), w (n)     -> labels (n)
    small           decompositions of small matrices; the nearest orthonormal matrix

The solvers of penalised problems return the solution, the history of the objective (or multiplier) and a gap that is 0
at the optimum, which the tests assert. No solver modifies its inputs.
"""

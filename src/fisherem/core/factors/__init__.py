"""Mixtures of factor models: MFA, PGMM, HDDC (`family`), and with axes that the groups share: MCFA, MCUFSA
(`common_axes_family`).

In: the sums of the groups over the rows. Out: parameters whose likelihood never decreases.
"""

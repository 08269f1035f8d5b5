"""The discriminative latent mixture: Fisher-EM.

In: the sums of the groups over the rows. Out: axes (`f_step`), parameters (`m_step`) and densities. `family` ties the
steps together for the loop, `projection` is what a pass computes of the rows along the axes.
"""

"""The discriminative latent mixture: Fisher-EM.

In: the sums of the groups over the rows. Out: axes (`f_step`), parameters (`m_step`) and densities. `family` combines
the steps for the loop, `projection` computes the rows' coordinates on the axes and their distances outside them.
"""

"""From rows and a specification to a fit: preparation, starts, the loop of F-, M- and E-step, the choice of a model."""

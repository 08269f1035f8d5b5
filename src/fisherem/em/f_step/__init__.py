"""The F-step: from the sums of the groups to axes, dense or sparse."""

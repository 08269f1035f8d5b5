"""The selections of several methods side by side: as a chart, or as images where the variables are pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..estimators.pipelines import last_step, support_on
from .style import Display, colormap_of, colours_of, new_axes, variable_names

__all__ = ["SelectionDisplay", "importance"]


def importance(model, p: int) -> np.ndarray:
    """How much each of the p variables counts in a fitted model, in [0, 1] with the largest at 1.

    That is the length of its loadings, its weight in sparse k-means, or 1 if it is selected. For a pipeline it is that
    of the last step, where each of its columns is one of the p; otherwise all of them count alike.
    """
    before, last = last_step(getattr(model, "best_estimator_", model))
    if before is not None:
        return support_on(model, importance(last, int(last.n_features_in_)), p)
    if hasattr(model, "loadings_"):
        sparse = getattr(model, "sparse_loadings_", model.loadings_)
        values = np.linalg.norm(sparse, axis=1)
    elif hasattr(model, "feature_weights_"):
        values = np.asarray(model.feature_weights_, float)
    else:
        values = np.asarray(getattr(model, "support_", np.ones(p)), float)
    largest = values.max(initial=0)
    return values / largest if largest > 0 else values


@dataclass(repr=False)
class SelectionDisplay(Display):
    """The variables that several methods select, side by side.

    Attributes
    ----------
    values : ndarray of shape (methods, p)
        How much each variable counts, in [0, 1]; 0 for variables that are left out.
    methods : list of str
        The names of the methods.
    names : list of str
        The names of the variables.
    image_shape : tuple of (int, int) or None
        Rows and columns, if the variables are the pixels of an image.
    """

    values: np.ndarray
    methods: list[str]
    names: list[str]
    image_shape: tuple[int, int] | None = None

    @classmethod
    def from_models(cls, models, *, names=None, image_shape=None) -> SelectionDisplay:
        """The selections of fitted estimators, given as a mapping of names to them, such as `compare(...).models`."""
        if not models:
            raise ValueError("there are no fitted models to show: all methods failed, or the mapping is empty")
        first = next(iter(models.values()))
        p = int(first.n_features_in_)
        if image_shape is not None and int(np.prod(image_shape)) != p:
            raise ValueError(
                f"image_shape={tuple(image_shape)} has {int(np.prod(image_shape))} pixels; X has {p} columns"
            )
        values = np.array([importance(model, p) for model in models.values()])
        return cls(
            values,
            [str(m) for m in models],
            variable_names(first, names, p),
            None if image_shape is None else (int(image_shape[0]), int(image_shape[1])),
        )

    @classmethod
    def from_comparison(cls, comparison, *, image_shape=None) -> SelectionDisplay:
        """The selections of the methods that `compare` fitted."""
        return cls.from_models(comparison.models, names=list(comparison.supports.index), image_shape=image_shape)

    @property
    def counts(self) -> list[int]:
        """The number of variables that each method selects."""
        return [int(c) for c in (self.values > 0).sum(axis=1)]

    def plot(self, ax=None, *, palette=None):
        """Draw an image per method if the variables are pixels (`ax`: one axes per method), otherwise a chart of the
        variables against the methods.

        `palette` has the colours of the methods (see `ProjectionDisplay.plot`); for images it is the name of a
        matplotlib colormap.
        """
        self.ax_ = self._plot_images(ax, palette) if self.image_shape else self._plot_chart(ax, palette)
        return self

    def _plot_chart(self, ax, palette):
        m, p = self.values.shape
        ax = new_axes(ax, (1.5 + 0.9 * m, 1.5 + 0.22 * min(p, 60)))
        colours = colours_of(palette, m)
        for i in range(m):
            kept = np.flatnonzero(self.values[i])
            ax.scatter(np.full(len(kept), i), kept, s=12 + 90 * self.values[i, kept], color=colours[i])
        ax.set_xticks(range(m), [f"{n} ({c})" for n, c in zip(self.methods, self.counts, strict=True)], rotation=90)
        ax.set_xlim(-0.5, m - 0.5)
        ax.set_ylim(p - 0.5, -0.5)
        if p <= 60:  # more names than that could not be read
            ax.set_yticks(range(p), self.names)
        ax.grid(axis="y", color="0.92", lw=0.6)
        ax.set_axisbelow(True)
        return ax

    def _plot_images(self, axes, palette):
        import matplotlib.pyplot as plt

        m = len(self.methods)
        if axes is None:
            wide = min(m, 5)
            _, grid = plt.subplots(-(-m // wide), wide, figsize=(2.2 * wide, 2.5 * -(-m // wide)), layout="constrained")
            axes = np.atleast_1d(grid).ravel()
        axes = np.atleast_1d(axes)
        if len(axes) < m:
            raise ValueError(f"ax must hold one axes per method ({m}); got {len(axes)}")
        for i, ax in enumerate(axes):
            ax.set_axis_off()
            if i < m:
                ax.imshow(self.values[i].reshape(self.image_shape), cmap=colormap_of(palette, "gray"), vmin=0, vmax=1)
                ax.set_title(f"{self.methods[i]} ({self.counts[i]})", fontsize=9)
        return axes

"""Display of the features that contribute to the normal of a hyperplane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ravine._typing import Array
from ravine.checks import check_choice, check_integer
from ravine.explain import check_estimator, format_plural, name_features, open_pipeline
from ravine.hyperplane import Hyperplane
from ravine.plotting import style
from ravine.plotting.subject import check_rows, choose_pair, get_hyperplane
from ravine.rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("weight", "spread")


@dataclass(eq=False, repr=False, kw_only=True)
class DirectionDisplay:
    """Contributions of the features to the normal v of a hyperplane, the largest first.

    ``kind="weight"`` shows vⱼ: how far the projection moves if feature j increases by 1. The squares of all weights sum
    to 1. If the features have different units, the weights depend on these units.

    ``kind="spread"`` shows vⱼ · sdⱼ: how far the projection moves if feature j increases by one standard deviation, in
    the units of the projection. For standardised features both kinds are the same.

    Features that move a row to the side that v points to (that of cluster 1, or of the second class) have plain bars to
    the right, the others hatched bars to the left. Features beyond ``max_features`` are summarised by the root of their
    sum of squares, without a sign.

    Neither kind is evidence that a feature matters by itself: correlated features share their contribution.

    Parameters
    ----------
    contributions : ndarray of shape (k,)
        Signed contributions, by decreasing magnitude.
    names : list of str
        Names of their features.
    other : float
        Root of the sum of squares of the features left out; 0 if there are none.
    n_other : int
        Number of features left out.
    kind : {"weight", "spread"}
        Kind of the contributions.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    bars_ : matplotlib BarContainer
        Bars from the largest to the smallest; the last one summarises the features left out, if there are any.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityHyperplane
    >>> from ravine.plotting import DirectionDisplay
    >>> X, y = make_blobs([40, 60], centers=[[0, 0, 0], [8, 4, 0]], random_state=0)
    >>> display = DirectionDisplay.from_estimator(MinimumDensityHyperplane().fit(X), feature_names=["a", "b", "c"])
    >>> display.names[0]
    'a'
    """

    contributions: Array
    names: list[str]
    other: float = 0.0
    n_other: int = 0
    kind: str = "weight"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        *,
        kind: str = "weight",
        node: int | None = None,
        pair: tuple[Any, Any] | None = None,
        feature_names: ArrayLike | None = None,
        max_features: int = 15,
        **plot_options: Any,
    ) -> DirectionDisplay:
        """Draw the normal of a fitted estimator.

        Parameters
        ----------
        estimator : MinimumDensityHyperplane, MinimumDensityClassifier, MinimumDensityTree or Pipeline
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features), optional
            Rows for the standard deviations, which only ``kind="spread"`` needs.
        kind : {"weight", "spread"}, default="weight"
        node, pair
            As for :meth:`HyperplaneDisplay.from_estimator`.
        feature_names : sequence of str, optional
            Names of the features; by default those seen in the fit, or x0, x1, ...
        max_features : int, default=15
            Number of features with a bar of their own.
        **plot_options
            Options of :meth:`plot`.
        """
        check_choice("kind", kind, KINDS)
        opened = open_pipeline(estimator, X, feature_names)
        estimator, X, feature_names = opened.estimator, opened.X, opened.feature_names
        check_estimator(estimator)
        pair = choose_pair(estimator, pair)
        plane = get_hyperplane(estimator, node, pair)
        names = name_features(feature_names, len(plane.normal), estimator)
        rows = check_rows(X, estimator) if kind == "spread" else None
        return cls._from_normal(plane, rows, kind, names, max_features).plot(**plot_options)

    @classmethod
    def from_hyperplane(
        cls,
        hyperplane: Hyperplane,
        X: ArrayLike | None = None,
        *,
        kind: str = "weight",
        feature_names: ArrayLike | None = None,
        max_features: int = 15,
        **plot_options: Any,
    ) -> DirectionDisplay:
        """Draw the normal of a hyperplane.

        Parameters
        ----------
        hyperplane : Hyperplane
        X, kind, feature_names, max_features, **plot_options
            As for :meth:`from_estimator`.
        """
        check_choice("kind", kind, KINDS)
        if not isinstance(hyperplane, Hyperplane):
            raise TypeError(f"hyperplane must be a Hyperplane, got {hyperplane!r}.")
        rows = None
        if kind == "spread":
            if X is None:
                raise TypeError("X is needed for kind='spread', for the standard deviations of its features.")
            rows = check_rows(X)
            if rows.shape[1] != len(hyperplane.normal):
                raise ValueError(f"X must have {len(hyperplane.normal)} features, got {rows.shape[1]}.")
        known = hyperplane.feature_names if feature_names is None else feature_names
        names = name_features(known, len(hyperplane.normal))
        return cls._from_normal(hyperplane, rows, kind, names, max_features).plot(**plot_options)

    @classmethod
    def _from_normal(
        cls, plane: Hyperplane, rows: Rows | None, kind: str, names: list[str], max_features: int
    ) -> DirectionDisplay:
        """Rank the features of a hyperplane; ``rows`` are needed for their standard deviations only."""
        most = check_integer("max_features", max_features, low=1)
        contributions = np.array(plane.normal)
        if rows is not None:
            with rows.session():
                contributions *= _measure_spread(rows)
        order = np.argsort(-np.abs(contributions), kind="stable")
        shown, rest = order[:most], order[most:]
        return cls(
            contributions=contributions[shown], names=[names[j] for j in shown], n_other=len(rest), kind=kind,
            other=float(np.linalg.norm(contributions[rest])),
        )  # fmt: skip

    def plot(
        self, ax: Axes | None = None, *, title: str | None = None, bar_kw: Mapping[str, Any] | None = None
    ) -> DirectionDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default those of a new figure.
        title : str, optional
            Title; "" for none.
        bar_kw : dict, optional
            Options of matplotlib's ``barh``.
        """
        lengths = [*self.contributions, *([self.other] if self.n_other else [])]
        n = len(lengths)
        self.figure_, ax_ = style.find_axes(ax, (6.4, min(max(1.1 + 0.27 * n, 2.2), 11.0)))
        self.ax_, size, inches = ax_, style.choose_text_size(ax_), style.measure_width(ax_)
        names = [style.shorten_name(name, int(max(10, 0.35 * inches * 72 / (0.55 * size)))) for name in self.names]
        if self.n_other:
            names.append(format_plural(self.n_other, "other"))
        places = np.arange(n)[::-1]
        defaults = {"height": 0.72, "edgecolor": "white", "linewidth": 0.0, "zorder": 2}
        self.bars_ = ax_.barh(places, lengths, **defaults | dict(bar_kw or {}))
        for k, bar in enumerate(self.bars_):
            if k == len(self.contributions):  # has no sign, so neither colour
                bar.set(facecolor="none", edgecolor=style.GREY, linewidth=1.0, linestyle="--")
            elif lengths[k] < 0.0:
                bar.set(facecolor=style.COLOURS[0], hatch="////")
            else:
                bar.set(facecolor=style.COLOURS[1])
        ax_.axvline(0.0, color=style.INK, lw=1.0, zorder=3)
        style.tidy_axes(ax_, size, hidden=("top", "right", "left"))
        ax_.set_yticks(places, names)
        ax_.tick_params(axis="y", length=0)
        ax_.set_ylim(-0.6, n - 0.4)
        ax_.grid(axis="x", color=style.PALE, lw=0.6, zorder=0)
        ax_.locator_params(axis="x", nbins=6)
        ax_.set_xlabel("weight vⱼ" if self.kind == "weight" else "weight · standard deviation, vⱼ·sdⱼ", fontsize=size)
        style.set_title(ax_, title, "Contributions to the direction v", size)
        if self.n_other and inches >= 3.0:
            ax_.annotate(
                "root of sum of squares", (self.other, 0), xytext=(4, 0), textcoords="offset points", va="center",
                fontsize=size - 2.0, color=style.GREY,
            )  # fmt: skip
        return self


def _measure_spread(rows: Rows) -> Array:
    """Return the standard deviations of the features, dividing by n."""
    if rows.needs_row_space:  # then a covariance would be larger than the rows
        few = rows.to_array().astype(np.float64)
        return np.asarray((few - few[0]).std(axis=0))
    sample = rows.sample()
    return np.asarray(np.sqrt(sample.column_variances) * sample.unit)

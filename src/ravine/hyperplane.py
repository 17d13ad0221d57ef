"""Hyperplanes: geometry, and the density along them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._html import draw_weights, format_number, make_section, make_table
from ravine._plurals import Lines
from ravine._typing import Array
from ravine.checks import check_feature_names, require
from ravine.rows import as_rows

__all__ = ["Hyperplane", "NoSplitWarning", "PathStep", "assemble"]

T = TypeVar("T")
NO_SPLIT = "No split: no hyperplane was found that separates two groups of rows."


class NoSplitWarning(UserWarning):
    """Warning that some rows could not be split, so that there are fewer clusters or classes than possible.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from ravine import MinimumDensityHyperplane, NoSplitWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     mdh = MinimumDensityHyperplane().fit(np.zeros((10, 2)))
    >>> caught[0].category is NoSplitWarning, mdh.labels_.max()
    (True, np.int64(0))
    """


def assemble(cls: type[T], **values: Any) -> T:
    """Make an instance of a dataclass without slots from the values of all its fields.

    The constructor, which sets one field at a time, would take several times as long. Nothing is checked.
    """
    made = object.__new__(cls)
    made.__dict__.update(values)
    return made


@dataclass(frozen=True, eq=False)
class Hyperplane:
    """Hyperplane {x : normal·x = offset} and the density on it.

    Parameters
    ----------
    normal : ndarray of shape (d,)
        Unit vector. In clustering it points to the smaller side, in classification to the second class.
    offset : float
        Value of ``normal·x`` on the hyperplane; infinite if all rows are on one side.
    density : float
        Density integrated over the hyperplane, Î(v, b) of eq. (3), computed as an exact sum.
    relative_depth : float
        Relative depth below the lower of the two adjacent modes of the projected density (eq. (30)); 0 if the
        hyperplane does not separate two modes.
    bandwidth : float
        Standard deviation h of the kernel.
    alpha : float
        Half-width of the interval F(v) for the offset, in standard deviations.
    point : ndarray of shape (d,), optional
        Point on the hyperplane near the data. Distances are measured from it, so that no digits are lost if the data
        are far from the origin.
    feature_names : tuple of str, optional
        Names of the features; None for x0, x1, ...

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import Hyperplane
    >>> plane = Hyperplane(np.array([0.6, 0.8]), offset=1.0)
    >>> plane.distance([[0.0, 0.0], [3.0, 4.0]])
    array([-1.,  4.])
    >>> plane.side([[0.0, 0.0], [3.0, 4.0]])
    array([0, 1])
    """

    normal: Array
    offset: float
    density: float = np.nan
    relative_depth: float = np.nan
    bandwidth: float = np.nan
    alpha: float = np.nan
    point: Array | None = field(default=None, repr=False)
    feature_names: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        normal = np.array(self.normal, dtype=np.float64)
        if normal.ndim != 1 or not abs(math.sqrt(float(normal @ normal)) - 1.0) < 1e-6:
            raise ValueError("normal must be a vector of length 1.")
        normal.flags.writeable = False
        object.__setattr__(self, "normal", normal)
        if self.splits:
            point = np.zeros(len(normal)) if self.point is None else np.array(self.point, dtype=np.float64)
            # The offset takes precedence: a point that is off by more than rounding is moved onto the hyperplane.
            gap = self.offset - float(normal @ point)
            if abs(gap) > 1e-12 * float(np.abs(point).max()):
                point += gap * normal
            point.flags.writeable = False
            object.__setattr__(self, "point", point)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False  # pickling does not keep this
            object.__setattr__(self, name, value)

    def validate(self) -> None:
        """Raise an error if the hyperplane has no unit normal, or no point on it although it splits."""
        point = np.full(self.normal.shape, np.nan) if self.point is None else self.point
        require(point.shape == self.normal.shape, "point")
        names = self.feature_names
        require(names is None or len(names) == len(self.normal), "feature_names")
        check_planes(self.normal[None], point[None], np.array([self.offset]))

    @classmethod
    def make_many(
        cls,
        normals: Array,
        points: Array,
        *,
        density: Sequence[float],
        relative_depth: Sequence[float],
        bandwidth: Sequence[float],
        alpha: Sequence[float],
    ) -> list[Hyperplane]:
        """Make a hyperplane from each unit normal (row) and each point (row) on it, in less time than one by one.

        Nothing is checked. Both arrays become read-only.
        """
        normals.flags.writeable = points.flags.writeable = False
        offset = np.einsum("ij,ij->i", normals, points).tolist()
        return [
            assemble(
                cls,
                normal=v,
                offset=b,
                density=f,
                relative_depth=depth,
                bandwidth=h,
                alpha=a,
                point=x,
                feature_names=None,
            )
            for v, b, f, depth, h, a, x in zip(
                normals, offset, density, relative_depth, bandwidth, alpha, points, strict=True
            )
        ]

    @classmethod
    def at_infinity(cls, normal: ArrayLike, bandwidth: float = np.nan, alpha: float = np.nan) -> Hyperplane:
        """Return the hyperplane that leaves all rows on one side: the result if no split was found."""
        return cls(np.asarray(normal, dtype=np.float64), np.inf, np.nan, 0.0, bandwidth, alpha)

    def reversed(self) -> Hyperplane:
        """Return the same hyperplane with the normal pointing to the other side."""
        return replace(self, normal=-self.normal, offset=-self.offset)

    @property
    def splits(self) -> bool:
        """Whether the hyperplane is finite."""
        return math.isfinite(self.offset)

    def distance(self, X: Any, indices: NDArray[np.intp] | None = None) -> Array:
        """Return the signed Euclidean distances of the rows of X, positive on the side the normal points to.

        ``indices`` selects some rows; by default all.
        """
        values = as_rows(X)
        if len(values.shape) != 2 or values.shape[1] != len(self.normal):
            raise ValueError(f"X must have {len(self.normal)} features, got an array of shape {values.shape}.")
        if not self.splits:
            return np.full(values.shape[0] if indices is None else len(indices), -self.offset)
        assert self.point is not None
        return values.project(self.point, self.normal, indices)

    def on_positive_side(self, X: Any, indices: NDArray[np.intp] | None = None) -> NDArray[np.bool_]:
        """Return whether each row of X, or each of the selected ones, lies on the side the normal points to."""
        if not self.splits:
            return self.distance(X, indices) > 0.0
        assert self.point is not None
        return as_rows(X).sides(self.point, self.normal, indices)

    def side(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return 1 for the rows of X on the side the normal points to, else 0."""
        return (self.distance(X) > 0.0).astype(np.intp)

    def margin(self, X: ArrayLike) -> float:
        """Return the distance to the nearest row of X (eq. (18))."""
        return float(np.min(np.abs(self.distance(X))))

    def _repr_html_(self) -> str:
        title = f"Hyperplane in {len(self.normal)} dimensions"
        if not self.splits:
            return make_section(title, f"<p>{NO_SPLIT}</p>")
        names = ("offset", "density", "relative_depth", "bandwidth", "alpha")
        table = make_table((name.replace("_", " "), format_number(getattr(self, name))) for name in names)
        return make_section(
            title, table + draw_weights(self.normal, check_feature_names(self.feature_names, len(self.normal)))
        )

    def report(self, feature_names: ArrayLike | None = None, n_features: int = 6) -> str:
        """Describe the hyperplane in a few lines of text, with the features of largest weight."""
        if not self.splits:
            return NO_SPLIT
        order = np.argsort(-np.abs(self.normal), kind="stable")[:n_features]
        names = check_feature_names(self.feature_names if feature_names is None else feature_names, len(self.normal))
        terms = [f"{self.normal[j]:+.3f}·{names[j]}" for j in order]
        terms += [f"+ {len(self.normal) - len(order)} smaller"] * (len(self.normal) > len(order))
        depth = f"both adjacent modes are at least {1.0 + self.relative_depth:.4g} times as dense"
        lines = [
            f"Minimum density hyperplane in {len(self.normal)} dimensions",
            f"  direction       {_wrap(terms, 18)}",
            f"  offset          {self.offset:.6g}",
            f"  density         {self.density:.4g}  (integrated along the hyperplane)",
            f"  relative depth  {self.relative_depth:.4g}  ({depth if self.relative_depth > 0.0 else 'no valley'})",
            f"  bandwidth       {self.bandwidth:.4g}",
        ]
        # A hyperplane that starts from labels is not found at a value of alpha.
        return Lines("\n".join(lines if np.isnan(self.alpha) else [*lines, f"  found at alpha  {self.alpha:.3g}"]))


def check_planes(normals: Array, points: Array, offsets: Array) -> None:
    """Raise an error if a normal is not a unit vector, or a finite offset has no point."""
    require((np.abs(np.sqrt(np.einsum("ij,ij->i", normals, normals)) - 1.0) < 1e-6).all(), "normal")
    finite = np.isfinite(offsets)
    require(not np.isnan(offsets).any() and np.isfinite(points[finite]).all(), "offset or point")


def _wrap(terms: list[str], indent: int, width: int = 88) -> str:
    """Join terms by spaces, in lines of at most a width; later lines are indented."""
    lines = [terms[0]]
    for term in terms[1:]:
        if indent + len(lines[-1]) + 1 + len(term) <= width:
            lines[-1] += f" {term}"
        else:
            lines.append(term)
    return f"\n{' ' * indent}".join(lines)


@dataclass(frozen=True)
class PathStep:
    """One hyperplane on the path of a search.

    Attributes
    ----------
    hyperplane : Hyperplane
    start : int
        Number of the start it came from.
    valid : bool
        Whether it is known to separate two modes of the projected density. In a classification only the ends of paths
        are examined, and the relative depth of the others is NaN.
    interior : bool
        Whether its offset lies inside F(v), not at its end.
    polished : bool
        Whether it is the result of the final optimisation to convergence.
    converged : bool
        Whether no decrease larger than the tolerance is expected, or none was possible (at a kink).
    n_iter, n_evaluations, n_tied : int
        Number of optimiser iterations, of evaluations of the index, and of those with several minimising offsets.
    n_rows : int
        Number of rows it was fitted to: fewer than all in the early part of the multilevel scheme.
    gamma : float
        Weight of the labels at this stage; 0 in clustering.
    pair : tuple of two int, optional
        Numbers of the two classes that it separates, if there are more than two.
    certified : bool
        Whether every minimum over the offset so far is known to be global.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityHyperplane
    >>> X, _ = make_blobs([60, 40], centers=[[0, 0], [6, 6]], random_state=0)
    >>> step = MinimumDensityHyperplane(random_state=0).fit(X).path_[-1]
    >>> step.valid, step.polished, step.n_rows
    (True, True, 100)
    """

    hyperplane: Hyperplane
    start: int
    valid: bool
    interior: bool
    polished: bool
    converged: bool
    n_iter: int
    n_evaluations: int
    n_tied: int
    n_rows: int
    gamma: float = 0.0
    pair: tuple[int, int] | None = None
    certified: bool = True

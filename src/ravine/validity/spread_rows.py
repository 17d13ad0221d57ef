"""Rows whose repeated values are spread, so that the gaps between these values do not look like valleys.

A value on a grid (a count, a rating, yes or no) represents its cell, and is spread over it. A value that many rows of a
continuous feature share (zero, or the end of a clipped range) does not represent a place: it is replaced by a random
value of the other rows. The levels of a category, encoded as indicators, have no order: along every direction each of
them is spread over the range of all, so that a single category is unimodal along every direction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine._properties import lazy_property
from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows
from ravine.rows.repeated_values import Grids, find_distinct
from ravine.validity.contacts import N_NEIGHBOURS, Contact, find_contact, find_neighbours, measure_dimension

Indices = NDArray[np.intp]
# A value of a continuous feature is an atom if at least this share of the rows, and this number of rows, have it.
ATOM_SHARE, ATOM_ROWS = 0.02, 5
# A feature with atoms is continuous if at least this share of the rows have other values, most of them distinct.
CONTINUOUS_SHARE = 0.1
# Largest width, in standard deviations of the feature, over which a value on a grid is spread before neighbours are
# found. Cells of rare values are wider, and noise of that size would hide the other features.
WIDEST_SPREAD = 6.0
# Cells of neighbouring floating-point numbers may have the width 0.
TINY = 2.2250738585072014e-308
# Number of features above which sparse rows stay sparse.
MANY_FEATURES = 1000
# Rows of more features are represented by this number of principal components.
MOST_COMPONENTS = 100


@dataclass(frozen=True, eq=False)
class SpreadRows:
    """Rows as coordinates, with repeated values and without.

    Attributes
    ----------
    x : ndarray of shape (m, p)
        Coordinates (row - center) / scale, on the columns of ``basis`` if there is one.
    points : ndarray of shape (m, p)
        Coordinates with values on grids spread, for distances.
    alone, together : ndarray of shape (m, p) or None
        Coordinates for projections: without the spread of categories, with grids spread independently, or with families
        of strongly correlated grids spread by the same amounts (None if there are no families).
    categories : tuple of ndarray
        Features that encode a category each.
    shifts : ndarray of shape (m,)
        Position of each row in the spread of a category, between -0.5 and 0.5.
    center : ndarray of shape (d,)
    scale : float
    columns : ndarray of int
        Features that vary; the others do not count.
    basis : ndarray of shape (len(columns), p) or None
        Principal components of these features, if they are many.
    grid_columns : tuple of int
        Features of repeated values, which are spread over their cells.
    seed : int
        Seed of the partitions into folds: the same for all boundaries.
    """

    x: Array
    points: Array
    alone: Array
    together: Array | None
    categories: tuple[Indices, ...]
    shifts: Array
    center: Array
    scale: float
    columns: Indices
    basis: Array | None = None
    grid_columns: tuple[int, ...] = ()
    seed: int = 0

    def __len__(self) -> int:
        return len(self.x)

    @classmethod
    def of(cls, rows: Rows, rng: np.random.Generator) -> SpreadRows:
        """Measure rows, all of which are kept in memory."""
        if rows.is_sparse and rows.shape[1] > MANY_FEATURES:
            return cls._of_sparse(rows, rng)
        x = np.array(rows.to_array(), dtype=np.float64)
        origin = x[0].copy()
        x -= origin  # exactly zero in constant features, where a mean has rounding errors
        scale = float(np.abs(x).max()) or 1.0
        columns = np.flatnonzero(x.any(axis=0)) if x.any() else np.arange(1)
        x = x[:, columns] / scale
        middle = x.mean(axis=0)
        x -= middle
        center = origin.copy()
        center[columns] += scale * middle
        categories = find_categories(x)
        arrays, on_grid = _spread(x, categories, rng)
        shifts, grid_columns = rng.random(len(x)) - 0.5, tuple(columns[on_grid].tolist())
        seed = int(rng.integers(2**31))
        basis = _find_components(x, rng) if x.shape[1] > MOST_COMPONENTS else None
        if basis is not None:
            arrays = {name: None if part is None else part @ basis for name, part in arrays.items()}
            x = x @ basis
        return cls(x=x, categories=categories, shifts=shifts, center=center, scale=scale, columns=columns, basis=basis,
                   grid_columns=grid_columns, seed=seed, **arrays)  # type: ignore[arg-type]  # fmt: skip

    @classmethod
    def _of_sparse(cls, rows: Rows, rng: np.random.Generator) -> SpreadRows:
        """Measure sparse rows of many features by their leading singular vectors."""
        from sklearn.utils.extmath import randomized_svd

        data, center = rows.data.astype(np.float64), np.zeros(rows.shape[1])
        lowest, highest = (ends.toarray().ravel() for ends in (data.min(axis=0), data.max(axis=0)))
        columns = np.flatnonzero(lowest < highest) if (lowest < highest).any() else np.arange(1)
        data = data[:, columns]
        scale = float(abs(data).max()) or 1.0
        k = min(MOST_COMPONENTS, *data.shape)
        basis = randomized_svd(data / scale, k, random_state=int(rng.integers(2**31)))[2].T
        x = np.asarray(data @ basis) / scale
        seed, shifts = int(rng.integers(2**31)), np.zeros(len(x))
        basis = np.ascontiguousarray(basis)
        return cls(x, x, x, None, (), shifts, center, scale, columns, basis, seed=seed)

    def project(self, directions: Array, indices: Indices | slice = slice(None), together: bool = False) -> Array:
        """Return the projections of some rows on one direction or several (rows), with repeated values spread."""
        source = self.together if together and self.together is not None else self.alone
        projections = directions @ source[indices].T
        if self.categories:
            # The category with the largest range fills the gaps between the levels of all others, too.
            normals = directions if self.basis is None else directions @ self.basis.T
            ranges = np.array([np.ptp(normals[..., columns], axis=-1) for columns in self.categories])
            projections = projections + ranges.max(axis=0)[..., None] * self.shifts[indices]
        return np.asarray(projections)

    def take(self, indices: Indices) -> SpreadRows:
        """Return some rows."""
        together = None if self.together is None else self.together[indices]
        x, points, alone = self.x[indices], self.points[indices], self.alone[indices]
        return replace(self, x=x, points=points, alone=alone, together=together, shifts=self.shifts[indices])

    @lazy_property
    def nearest(self) -> Indices:
        """Positions of the nearest neighbours of each row."""
        return find_neighbours(self.points, N_NEIGHBOURS)

    @lazy_property
    def dimension(self) -> float:
        """Effective dimension of the rows near their neighbours."""
        return measure_dimension(self.points, self.nearest)

    def find_contact(self, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Contact | None:
        """Measure the contact of two groups of rows; None if too few rows are near the boundary."""
        return find_contact(self.points, self.nearest, self.dimension, first, second)

    @property
    def has_repeated_values(self) -> bool:
        """Whether any values are spread: their places in the space of all features are not known."""
        return bool(self.categories) or not (np.array_equal(self.points, self.x) and np.array_equal(self.alone, self.x))

    @lazy_property
    def ordered(self) -> Array:
        """Coordinates in which directions are sought: the levels of a category have no order, so they are left out."""
        encoded = np.concatenate([np.zeros(0, dtype=np.intp), *self.categories])
        if self.basis is not None or len(encoded) in (0, self.x.shape[1]):
            return self.x
        x = self.x.copy()
        x[:, encoded] = 0.0
        return x

    @property
    def spreadings(self) -> tuple[bool, ...]:
        """Values of ``together`` for `project`: a valley must show with each."""
        return (False,) if self.together is None else (False, True)

    def make_hyperplane(self, direction: Array, threshold: float) -> Hyperplane:
        """Return the hyperplane {x : direction · x = threshold} of the coordinates as one of the rows."""
        normal = np.zeros(len(self.center))
        normal[self.columns] = direction if self.basis is None else self.basis @ direction
        length = float(np.linalg.norm(normal))
        normal /= length
        point = self.center + self.scale * (threshold / length) * normal
        return Hyperplane(normal, float(normal @ point), point=point)


def spread_rows(
    rows: Rows, indices: Indices, rng: np.random.Generator, drop_copies: bool = False
) -> tuple[Indices, SpreadRows]:
    """Return some rows with their indices, in the order of their values: the result does not depend on their order.

    Parameters
    ----------
    drop_copies : bool
        Whether equal rows count once, unless all features repeat their values. Copies are not evidence.
    """
    sample = rows.subset(indices, copy=True)
    if not (sample.is_sparse and sample.shape[1] > MANY_FEATURES):
        values = sample.to_array()
        order = np.lexsort(values.T)
        indices, values = indices[order], values[order]
        if drop_copies:
            is_kept = find_distinct(values)
            indices, values = indices[is_kept], values[is_kept]
        sample = as_rows(np.ascontiguousarray(values))
    return indices, SpreadRows.of(sample, rng)


def _spread(
    x: Array, categories: tuple[Indices, ...], rng: np.random.Generator
) -> tuple[dict[str, Array | None], list[int]]:
    """Return the coordinates with repeated values spread in three ways, and the features on grids."""
    d = x.shape[1]
    in_category = np.zeros(d, dtype=bool)
    for columns in categories:
        in_category[columns] = True
    points, alone, has_atoms = x.copy(), x.copy(), np.zeros(d, dtype=bool)
    for j in np.flatnonzero(~in_category).tolist():
        atoms = find_atoms(x[:, j])
        if atoms is not None:
            has_atoms[j] = True
            alone[atoms, j] = rng.choice(x[~atoms, j], int(atoms.sum()))
    rows = as_rows(x)
    grids = Grids.of(rows, rng)
    spreadings = grids.draw_shifts(rows, rng)
    together = alone.copy() if len(spreadings) > 1 else None
    for k, grid in enumerate(grids.grids):
        widest = WIDEST_SPREAD * float(x[:, grid.columns[0]].std())
        limit = np.minimum(1.0, widest / np.maximum(grid.locate_cells(rows)[1], TINY))
        points[:, grid.columns] += np.outer(limit * spreadings[0][k], grid.factors)
        if in_category[grid.columns].any() or has_atoms[grid.columns].any():
            continue
        alone[:, grid.columns] += np.outer(spreadings[0][k], grid.factors)
        if together is not None:
            together[:, grid.columns] += np.outer(spreadings[1][k], grid.factors)
    return {"points": points, "alone": alone, "together": together}, grids.columns


def find_atoms(values: Array) -> NDArray[np.bool_] | None:
    """Return which rows share their value with many others; None if there are none, or if the feature is on a grid."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    if counts.max() < ATOM_ROWS:
        return None
    count_of_row = counts[inverse]
    atoms = count_of_row >= max(ATOM_ROWS, ATOM_SHARE * len(values))
    others = count_of_row[~atoms]
    if not atoms.any() or len(others) < CONTINUOUS_SHARE * len(values) or np.mean(others > 1) >= 0.5:
        return None
    return np.asarray(atoms)


def find_categories(x: Array) -> tuple[Indices, ...]:
    """Return the groups of at least three features that encode a category: one of them is at its upper value."""
    low, high = x.min(axis=0), x.max(axis=0)
    binary = np.flatnonzero((low < high) & ((x == low) | (x == high)).all(axis=0))
    if len(binary) < 3:
        return ()
    indicators = np.packbits(x[:, binary] == high[binary], axis=0)
    masks = [int.from_bytes(column.tobytes(), "big") for column in indicators.T]  # a bit for each row
    every = int.from_bytes(np.packbits(np.ones(len(x), dtype=bool)).tobytes(), "big")
    groups, is_free = [], np.ones(len(binary), dtype=bool).tolist()
    for first, covered in enumerate(masks):
        group = [first]
        for j in range(first + 1, len(masks) if is_free[first] else 0):  # indicators of a category are neighbours
            if is_free[j] and not covered & masks[j]:
                group.append(j)
                covered |= masks[j]
                if covered == every:
                    break
        if len(group) >= 3 and covered == every:
            groups.append(binary[group])
            for j in group:
                is_free[j] = False
    return tuple(groups)


def _find_components(x: Array, rng: np.random.Generator) -> Array:
    """Return the leading principal components of centred rows, as columns."""
    m, d = x.shape
    if m <= d and m <= 10 * MOST_COMPONENTS:
        values, vectors = np.linalg.eigh(x @ x.T)
        kept = values > 1e-12 * max(float(values[-1]), 1e-300)
        kept[:-MOST_COMPONENTS] = False
        vectors = vectors[:, kept] if kept.any() else vectors[:, -1:]
        return np.ascontiguousarray(np.linalg.qr(x.T @ vectors)[0])
    from sklearn.utils.extmath import randomized_svd

    k = min(MOST_COMPONENTS, m, d)
    return np.ascontiguousarray(randomized_svd(x, k, random_state=int(rng.integers(2**31)))[2].T)

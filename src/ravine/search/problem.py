"""A search problem: rows, weights and labels in working units, with settings, starts and the index to minimise."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ravine._properties import lazy_property
from ravine._typing import Array
from ravine.index import (
    ClusteringIndex,
    CompiledClusteringIndex,
    CompiledSemiSupervisedIndex,
    LabelledRows,
    ProjectionIndex,
    SemiSupervisedIndex,
)
from ravine.rows import DenseSample, Moments, Rows, Sample
from ravine.rows.repeated_values import Cells
from ravine.search.label_fit import suggest_starts
from ravine.search.settings import SearchSettings, resolve_bandwidth
from ravine.search.space import WorkingSpace
from ravine.search.starts import PrincipalAxes, choose_starts

# A subsample must be smaller than all rows by this factor to be worth a second optimisation.
WORTHWHILE = 4
# Each later subsample is larger than the one before, and smaller than all rows, by this factor.
GROWTH = 10
# Largest number of rows on which starts are proposed and screened. With very many features the number of values is
# limited instead, but at least FEWEST_SCREENED rows are used.
MOST_SCREENED = 3_000
MOST_SCREENED_VALUES = 1 << 20
FEWEST_SCREENED = 500
# Share of the largest variance below which a feature is constant up to rounding.
CONSTANT = 1e-18


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a search needs to know about the data, in working units.

    Use `Problem.of` to make one.

    Attributes
    ----------
    rows : Rows
        All rows, including those without weight.
    weights : ndarray of shape (n,) or None
    space : WorkingSpace
        The rows with weight, in working units.
    subsamples : tuple of int arrays
        Growing, nested subsets of the rows with weight, for the multilevel scheme. Empty if there are few rows.
    labelled : LabelledRows or None
        Labelled rows of two classes.
    label_indices : ndarray of shape (l,) or None
        Indices of the labelled rows among those with weight.
    fixed_pc1_std : float or None
        Standard deviation along the first principal axis, if it is that of another space.
    cells : list of (ndarray, ndarray)
        Features of repeated values, with half the width of a cell along each (`measure_cells`).
    """

    rows: Rows
    weights: Array | None
    space: WorkingSpace
    settings: SearchSettings
    rng: np.random.Generator
    subsamples: tuple[NDArray[np.intp], ...] = ()
    labelled: LabelledRows | None = None
    label_indices: NDArray[np.intp] | None = None
    fixed_pc1_std: float | None = None
    cells: Cells = field(default_factory=list)

    @classmethod
    def of(
        cls,
        rows: Rows,
        weights: Array | None = None,
        signs: Array | None = None,
        *,
        settings: SearchSettings,
        rng: np.random.Generator,
        pool: ThreadPoolExecutor | None = None,
        cells: Cells | None = None,
    ) -> Problem:
        """Set up a problem.

        Parameters
        ----------
        weights : ndarray of shape (n,), optional
            Non-negative. Rows without weight take no part in the search.
        signs : ndarray of shape (n,), optional
            +1 and -1 for the labelled rows of two classes, 0 for unlabelled ones.
        pool : ThreadPoolExecutor, optional
            Threads that share passes over the rows. The result does not depend on it.
        cells : list of (ndarray, ndarray), optional
            Features of repeated values (`measure_cells`).
        """
        all_rows, all_weights = rows, weights
        if weights is not None and not weights.all():
            indices = np.flatnonzero(weights > 0.0)
            rows, weights = rows.subset(indices), weights[indices]
            signs = None if signs is None else signs[indices]
        space = WorkingSpace.of(rows, weights, pool)
        subsamples = () if space.has_no_spread else draw_subsamples(space.sample.n_rows, settings.subsample, rng)
        problem = cls(all_rows, all_weights, space, settings, rng, tuple(subsamples), cells=cells or [])
        if signs is None:
            return problem
        indices = np.flatnonzero(signs)
        label_weights = np.ones(len(indices)) if weights is None else weights[indices]
        labelled = LabelledRows(space.sample.fetch(indices), signs[indices], label_weights)
        return replace(problem, labelled=labelled, label_indices=indices)

    # ------------------------------------------------------------------------------------------- data

    @property
    def sample(self) -> Sample:
        """The rows with weight, in working units."""
        return self.space.sample

    @property
    def moments(self) -> Moments:
        """Mean and covariance of the rows with weight, in working units."""
        return self.space.sample.moments()

    @lazy_property
    def cell_covariance(self) -> Array | None:
        """Covariance of a kernel as wide as the cells of repeated values, in working units; None if there are none."""
        if not self.cells:
            return None
        d, space = self.sample.n_features, self.space
        covariance = np.zeros((d, d))
        for columns, widths in self.cells:
            if space.basis is None:
                covariance[np.ix_(columns, columns)] += np.outer(widths, widths) / space.unit**2
            else:
                across = widths / space.unit @ space.basis[columns]
                covariance += np.outer(across, across)
        return covariance

    @property
    def has_no_spread(self) -> bool:
        """Whether all rows are equal, up to rounding."""
        return self.space.has_no_spread

    @property
    def is_wide(self) -> bool:
        """Whether there are too many features to store the covariance, so that a subspace is searched first."""
        return not self.moments.is_stored

    @property
    def n_varying(self) -> int:
        """Number of features of X that vary."""
        spread = self.sample.column_variances if self.space.basis is None else (self.space.basis**2).sum(axis=1)
        return int((spread > CONSTANT * spread.max()).sum())

    @lazy_property
    def axes(self) -> PrincipalAxes:
        """Principal axes; only the leading ones if the problem is wide."""
        return PrincipalAxes.of(self.moments, self.settings.n_axes)

    @property
    def pc1_std(self) -> float:
        """Standard deviation along the first principal axis, in the units of X."""
        if self.fixed_pc1_std is not None:
            return self.fixed_pc1_std
        return math.sqrt(float(self.axes.variances[0])) * self.space.unit

    @property
    def first_sample(self) -> Sample:
        """Sample on which paths are followed: the first subsample, or all rows if these are few."""
        return self.sample.take(self.subsamples[0]) if self.subsamples else self.sample

    @lazy_property
    def screening_sample(self) -> Sample:
        """Sample on which starts are proposed and screened: a few rows of the first sample, as one array in memory."""
        sample = self.first_sample
        most = max(FEWEST_SCREENED, min(MOST_SCREENED, MOST_SCREENED_VALUES // sample.n_features))
        if sample.n_rows > most:
            sample = sample.take(self._spread_indices(sample, most))
        if sample.stage_rows is not None:
            return sample
        rows = sample.fetch(np.arange(sample.n_rows))
        return DenseSample(rows, sample.weights, origin=np.zeros(sample.n_features), unit=1.0)

    def _spread_indices(self, sample: Sample, n: int) -> NDArray[np.intp]:
        """Return the sorted indices of n rows: at equal ranks along the first principal axis, unless rows are remote.

        These depend neither on the order of the rows nor on their kind. Rows of a subsample are in random order.
        """
        places = ((np.arange(n) + 0.5) * (sample.n_rows / n)).astype(np.intp)
        if self.subsamples or sample.is_remote:
            return places
        axis = self.axes.directions[0]
        normal = self.space.to_original(axis * sample.skewness_signs(axis[None])[0])
        values = self.rows.project(self.space.origin, normal)
        if self.weights is not None:
            values = values[self.weights > 0.0]
        return np.sort(np.argsort(values, kind="stable")[places])

    def in_subspace(self, directions: Array, pc1_std: float | None = None) -> Problem:
        """Return the problem in the coordinates on some orthonormal directions (rows).

        Its bandwidth follows from ``pc1_std`` or, by default, from its own first principal axis.
        """
        space, labelled = self.space.in_subspace(directions), self.labelled
        if labelled is not None and self.label_indices is not None:
            labelled = replace(labelled, rows=space.sample.fetch(self.label_indices))
        return replace(self, space=space, labelled=labelled, fixed_pc1_std=pc1_std)

    # ------------------------------------------------------------------------------------------- search

    def bandwidth(self, total: float | None = None) -> float:
        """Return the bandwidth for a total weight (that of all rows by default), in the units of X."""
        return resolve_bandwidth(self.settings.bandwidth, self.sample.total if total is None else total, self.pc1_std)

    def index(
        self,
        sample: Sample | None = None,
        *,
        bandwidth: float | None = None,
        reference: float | None = None,
        alpha: float | None = None,
        gamma: float | None = None,
        labelled: LabelledRows | None = None,
    ) -> ProjectionIndex:
        """Return a new index for one start.

        Parameters
        ----------
        sample : Sample, optional
            All rows by default, or a subsample. Every subsample has the bandwidth of its own size: with that of all
            rows, the index would follow the noise of few rows.
        bandwidth : float, optional
            In working units; by the rule of the settings by default.
        reference : float, optional
            Bandwidth h0 in which the margin of the labels is measured; used only with ``bandwidth``.
        alpha, gamma : float, optional
            The first values of the settings by default.
        labelled : LabelledRows, optional
            Labelled rows to use instead of those of the problem.
        """
        settings, sample = self.settings, self.sample if sample is None else sample
        labelled = self.labelled if labelled is None else labelled
        if bandwidth is None:
            reference = self.bandwidth(sample.total) / self.space.unit
            bandwidth = reference if labelled is None else settings.labels.bandwidth_factor * reference
        if settings.new_index is not None:
            return settings.new_index(sample, self.moments, bandwidth, settings)
        alpha = settings.alpha_min if alpha is None else alpha
        is_compiled = settings.optimiser == "lbfgs" and self.moments.is_stored and sample.stage_rows is not None
        if labelled is None:
            new_index = CompiledClusteringIndex if is_compiled else ClusteringIndex
            return new_index(sample, self.moments, bandwidth, settings.penalty, alpha)
        new_labelled_index = CompiledSemiSupervisedIndex if is_compiled else SemiSupervisedIndex
        return new_labelled_index(
            sample,
            self.moments,
            bandwidth,
            settings.penalty,
            alpha,
            labelled=labelled,
            label_penalty=settings.labels.penalty,
            reference=bandwidth / settings.labels.bandwidth_factor if reference is None else reference,
            gamma=settings.gammas[0] if gamma is None else gamma,
        )

    def starts(self, labelled: LabelledRows | None = None, moments: Moments | None = None) -> Array:
        """Return unit vectors (rows) to start from; for ``init="auto"`` those to screen (`screen_starts`).

        Parameters
        ----------
        labelled : LabelledRows, optional
            Labelled rows that suggest directions; those of the problem by default.
        moments : Moments, optional
            Moments for these suggestions; those of all rows by default.
        """
        settings = self.settings
        if isinstance(settings.init, np.ndarray):
            return self.space.to_working(settings.init)
        if isinstance(settings.init, str):
            sample = self.screening_sample if settings.init == "auto" else self.first_sample
            return choose_starts(settings.init, settings.n_init, self.axes, sample, self.rng)
        labelled = self.labelled if labelled is None else labelled
        assert labelled is not None
        return suggest_starts(
            settings.init,
            labelled,
            self.moments if moments is None else moments,
            self.axes,
            n_features=len(self.space.origin),
            C=settings.labels.start_C,
            rng=self.rng,
        )


def draw_subsamples(n: int, size: int | None, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Draw nested random subsets of the rows, each sorted; none if all rows are few enough.

    Parameters
    ----------
    n : int
        Number of rows.
    size : int or None
        Number of rows in the first subset; None for no subsets.
    """
    if size is None or n < WORTHWHILE * size:
        return []
    sizes = [size]
    while sizes[-1] * GROWTH * GROWTH <= n:
        sizes.append(sizes[-1] * GROWTH)
    chosen = rng.choice(n, sizes[-1], replace=False, shuffle=True)
    return [np.sort(chosen[:k]) for k in sizes]

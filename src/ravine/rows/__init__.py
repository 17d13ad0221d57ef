"""The data, wherever it is stored: the only layer that touches X."""

from ravine.rows.array import ArrayRows, DenseSample, RowSpace
from ravine.rows.base import (
    Indices,
    Rows,
    Sample,
    as_rows,
    center_and_scale,
    draw_indices,
    is_rounding,
    round_to_power_of_two,
)
from ravine.rows.blocks import BlockSample, RowBlocks
from ravine.rows.cluster import ClusterRows
from ravine.rows.moments import Moments, ProductMoments, StoredMoments
from ravine.rows.questions import (
    AngleDerivative,
    CovarianceProduct,
    Gradient,
    GradientNoise,
    Histogram,
    LogSum,
    Request,
    Rotate,
    RowsIn,
    SetDirection,
    SetTangent,
    ValuesIn,
    Variances,
)
from ravine.rows.sparse import SparseRows, SparseSample
from ravine.rows.threads import limit_library_threads, open_pool
from ravine.rows.workers.rounds import ClusterError

__all__ = [
    "AngleDerivative",
    "ArrayRows",
    "BlockSample",
    "ClusterError",
    "ClusterRows",
    "CovarianceProduct",
    "DenseSample",
    "Gradient",
    "GradientNoise",
    "Histogram",
    "Indices",
    "LogSum",
    "Moments",
    "ProductMoments",
    "Request",
    "Rotate",
    "RowBlocks",
    "RowSpace",
    "Rows",
    "RowsIn",
    "Sample",
    "SetDirection",
    "SetTangent",
    "SparseRows",
    "SparseSample",
    "StoredMoments",
    "ValuesIn",
    "Variances",
    "as_rows",
    "center_and_scale",
    "draw_indices",
    "is_rounding",
    "limit_library_threads",
    "open_pool",
    "round_to_power_of_two",
]

"""The data, however it is stored: the only layer that touches X."""

from ravine.rows.array import DenseSample
from ravine.rows.base import RowSource, cells_of, is_source, is_sparse, on_rows, project, restrict_rows, take_rows
from ravine.rows.blocks import BlockSample, RowBlocks
from ravine.rows.cluster import ClusterRows
from ravine.rows.questions import (
    AngleDerivative,
    CovarianceProduct,
    Gradient,
    GradientNoise,
    Histogram,
    LogSum,
    Moments,
    Request,
    Rotate,
    Sample,
    SetDirection,
    SetTangent,
    ValuesIn,
    Variances,
)
from ravine.rows.row_space import RowSpace
from ravine.rows.sparse import SparseSample
from ravine.rows.workers.rounds import ClusterError

__all__ = [
    "AngleDerivative",
    "BlockSample",
    "ClusterError",
    "ClusterRows",
    "CovarianceProduct",
    "DenseSample",
    "Gradient",
    "GradientNoise",
    "Histogram",
    "LogSum",
    "Moments",
    "Request",
    "Rotate",
    "RowBlocks",
    "RowSource",
    "RowSpace",
    "Sample",
    "SetDirection",
    "SetTangent",
    "SparseSample",
    "ValuesIn",
    "Variances",
    "cells_of",
    "is_source",
    "is_sparse",
    "on_rows",
    "project",
    "restrict_rows",
    "take_rows",
]

"""The data, however it is stored: the only layer that touches X."""

from ravine.sample.blocks import BlockSample, RowBlocks
from ravine.sample.cluster import ClusterError
from ravine.sample.cluster_rows import ClusterRows
from ravine.sample.dense import DenseSample
from ravine.sample.protocol import (
    Accept,
    Aim,
    Along,
    Bin,
    Gather,
    LogSum,
    Moments,
    Noise,
    PullBack,
    Request,
    Sample,
    Scatter,
    Spread,
    Turn,
)
from ravine.sample.rows import RowSource, cells_of, is_source, is_sparse, on_rows, project, restrict_rows, take_rows
from ravine.sample.rowspace import RowSpace
from ravine.sample.sparse import SparseSample

__all__ = [
    "Accept",
    "Aim",
    "Along",
    "Bin",
    "BlockSample",
    "ClusterError",
    "ClusterRows",
    "DenseSample",
    "Gather",
    "LogSum",
    "Moments",
    "Noise",
    "PullBack",
    "Request",
    "RowBlocks",
    "RowSource",
    "RowSpace",
    "Sample",
    "Scatter",
    "SparseSample",
    "Spread",
    "Turn",
    "cells_of",
    "is_source",
    "is_sparse",
    "on_rows",
    "project",
    "restrict_rows",
    "take_rows",
]

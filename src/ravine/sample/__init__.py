"""The data, however it is stored: the only layer that touches X."""

from ravine.sample.dense import DenseSample, project
from ravine.sample.protocol import (
    Accept,
    Aim,
    Along,
    Bin,
    Gather,
    LogSum,
    Moments,
    PullBack,
    Request,
    Sample,
    Turn,
)
from ravine.sample.rowspace import RowSpace

__all__ = [
    "Accept",
    "Aim",
    "Along",
    "Bin",
    "DenseSample",
    "Gather",
    "LogSum",
    "Moments",
    "PullBack",
    "Request",
    "RowSpace",
    "Sample",
    "Turn",
    "project",
]

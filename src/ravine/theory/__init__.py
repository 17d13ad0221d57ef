"""The theory of the paper as code: shrinking bandwidths, maximum margins, stationarity."""

from ravine.theory.bandwidth_path import BandwidthPath, BandwidthStep, follow_bandwidths
from ravine.theory.margins import HardMargin
from ravine.theory.partitions import MarginSearch
from ravine.theory.stationarity import GradientSample, Stationarity, certify, sample_gradients

__all__ = [
    "BandwidthPath",
    "BandwidthStep",
    "GradientSample",
    "HardMargin",
    "MarginSearch",
    "Stationarity",
    "certify",
    "follow_bandwidths",
    "sample_gradients",
]

"""The theory of the paper as code: shrinking bandwidths, maximum margins, stationarity."""

from ravine_paper.theory.certificate import GradientSample, Stationarity, certify, sample_gradients, stationarity
from ravine_paper.theory.continuation import BandwidthPath, BandwidthStep, bandwidth_path, follow_bandwidths
from ravine_paper.theory.margins import HardMargin
from ravine_paper.theory.maximum_margin import MaximumMarginHyperplane
from ravine_paper.theory.partitions import MarginSearch

__all__ = [
    "BandwidthPath",
    "BandwidthStep",
    "GradientSample",
    "HardMargin",
    "MarginSearch",
    "MaximumMarginHyperplane",
    "Stationarity",
    "bandwidth_path",
    "certify",
    "follow_bandwidths",
    "sample_gradients",
    "stationarity",
]

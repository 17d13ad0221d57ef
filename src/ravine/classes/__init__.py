"""Classes: labels of some rows, hyperplanes between pairs of classes, and probabilities."""

from ravine.classes.calibration import count_votes
from ravine.classes.labels import UNLABELLED, compare_labels, drop_weightless, encode_labels, make_signs

__all__ = ["UNLABELLED", "compare_labels", "count_votes", "drop_weightless", "encode_labels", "make_signs"]

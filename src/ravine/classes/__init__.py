"""Classes: their labels, their pairs, and probabilities."""

from ravine.classes.calibration import vote_scores
from ravine.classes.labels import UNLABELLED, correct_labels, encode_labels
from ravine.search.label_starts import svm_classes

__all__ = ["UNLABELLED", "correct_labels", "encode_labels", "svm_classes", "vote_scores"]

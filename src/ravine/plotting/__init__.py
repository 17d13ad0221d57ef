"""Pictures that explain a split, in scikit-learn's manner; matplotlib is imported when one is drawn."""

from ravine.plotting.hyperplane import HyperplaneDisplay

__all__ = ["HyperplaneDisplay"]

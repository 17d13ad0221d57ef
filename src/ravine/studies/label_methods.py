"""The methods of the semi-supervised study, and what each was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ravine.studies.choice import chosen_names

__all__ = ["LABEL_METHODS", "LabelMethod", "choose_label_methods"]


@dataclass(frozen=True)
class LabelMethod:
    """A classifier for few labels.

    Attributes
    ----------
    name : str
        For the command and in file names.
    title : str
        In tables and figures.
    make : callable
        From a seed to a classifier; -1 marks unlabelled rows.
    settings : str
        What it was given, in words.
    labels_only : bool
        Whether it sees the labelled rows only.
    in_paper : bool
        Whether the paper's figures show it.
    """

    name: str
    title: str
    make: Callable[[int], Any]
    settings: str
    labels_only: bool = False
    in_paper: bool = False


def _defaults(seed: int) -> Any:
    from ravine.estimators import MinimumDensityClassifier

    return MinimumDensityClassifier(random_state=seed)


def _paper(seed: int) -> Any:
    from ravine.estimators import MinimumDensityClassifier, paper_settings

    return MinimumDensityClassifier(**paper_settings("classification"), random_state=seed)


def _lapsvm(seed: int) -> Any:
    from ravine.baselines import LaplacianSVM

    return LaplacianSVM(random_state=seed)


def _sssl(seed: int) -> Any:
    from ravine.baselines import SSSL

    return SSSL(random_state=seed)


def _xnv(seed: int) -> Any:
    from ravine.baselines import XNV

    return XNV(random_state=seed)


def _tsvm(seed: int) -> Any:
    from ravine.baselines import GradientTSVM

    return GradientTSVM(random_state=seed)


def _linear_svc(seed: int) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(dual=False)


def _self_training(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier

    return SelfTrainingClassifier(LogisticRegression(max_iter=1000))


def _label_spreading(seed: int) -> Any:
    from sklearn.semi_supervised import LabelSpreading

    return LabelSpreading(kernel="knn", n_neighbors=7)


LABEL_METHODS = {
    method.name: method
    for method in (
        LabelMethod(
            "ravine", "MDH, ravine's defaults", _defaults,
            "three intervals and others found with labels of these sets in view (docs/classification.md)",
        ),
        LabelMethod("mdp2", "MDP², the paper's settings", _paper, "as the paper says", in_paper=True),
        LabelMethod("lapsvm", "LapSVM", _lapsvm, "linear, cross-validated on the labels", in_paper=True),
        LabelMethod("sssl", "SSSL", _sssl, "linear; components by cross-validation on the labels", in_paper=True),
        LabelMethod("xnv", "XNV", _xnv, "linear; ridge by cross-validation on the labels", in_paper=True),
        LabelMethod("tsvm", "∇TSVM", _tsvm, "linear, annealed; C by cross-validation on the labels"),
        LabelMethod("linear-svc", "LinearSVC", _linear_svc, "scikit-learn, C = 1", labels_only=True),
        LabelMethod("self-training", "self-training", _self_training, "scikit-learn, logistic regression"),
        LabelMethod(
            "label-spreading", "label spreading", _label_spreading,
            "scikit-learn, 7 neighbours; scored by predict as all others, not by its transduction_",
        ),
    )
}  # fmt: skip


def choose_label_methods(names: str | None) -> tuple[LabelMethod, ...]:
    """Methods by their names, separated by commas; None for all."""
    return tuple(LABEL_METHODS[name] for name in chosen_names(names, LABEL_METHODS, "method"))

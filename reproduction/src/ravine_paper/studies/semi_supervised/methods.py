"""Methods of the semi-supervised study and their settings."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import LinearSVC

from ravine import MinimumDensityClassifier, paper_settings
from ravine_paper.baselines import SSSL, XNV, GradientTSVM, LaplacianSVM
from ravine_paper.studies.engine.methods import Method
from ravine_paper.studies.engine.options import choose_names

__all__ = ["LABEL_METHODS", "LabelMethod", "choose_label_methods"]


@dataclass(frozen=True)
class LabelMethod(Method):
    """Classifier for few labels; -1 marks unlabelled rows.

    Attributes
    ----------
    name, title, make, settings
        See `Method`.
    labels_only : bool
        Whether the classifier is fitted to the labelled rows only.
    in_paper : bool
        Whether the paper's figures show it.
    """

    labels_only: bool = False
    in_paper: bool = False


LABEL_METHODS = {
    method.name: method
    for method in (
        LabelMethod(
            "ravine", "MDH, ravine's defaults", lambda seed: MinimumDensityClassifier(random_state=seed),
            "settings chosen on other tables and simulated problems (docs/classification.md)",
        ),
        LabelMethod(
            "mdp2", "MDP², the paper's settings",
            lambda seed: MinimumDensityClassifier(**paper_settings("classification"), random_state=seed),
            "as stated in the paper", in_paper=True,
        ),
        LabelMethod(
            "lapsvm", "LapSVM", lambda seed: LaplacianSVM(random_state=seed),
            "linear, cross-validated on the labels", in_paper=True,
        ),
        LabelMethod(
            "sssl", "SSSL", lambda seed: SSSL(random_state=seed),
            "linear; components by cross-validation on the labels", in_paper=True,
        ),
        LabelMethod(
            "xnv", "XNV", lambda seed: XNV(random_state=seed),
            "linear; ridge by cross-validation on the labels", in_paper=True,
        ),
        LabelMethod(
            "tsvm", "∇TSVM", lambda seed: GradientTSVM(random_state=seed),
            "linear, annealed; C by cross-validation on the labels",
        ),
        LabelMethod("linear-svc", "LinearSVC", lambda _: LinearSVC(dual=False), "scikit-learn, C = 1", True),
        LabelMethod(
            "shrinkage-lda", "shrinkage LDA",
            lambda _: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
            "scikit-learn, shrinkage of Ledoit and Wolf", True,
        ),
        LabelMethod(
            "boosting", "HistGradientBoosting",
            lambda seed: HistGradientBoostingClassifier(max_iter=50, min_samples_leaf=5, random_state=seed),
            "scikit-learn, 50 trees, at least 5 labels per leaf", True,
        ),
        LabelMethod(
            "self-training", "self-training", lambda _: SelfTrainingClassifier(LogisticRegression(max_iter=1000)),
            "scikit-learn, logistic regression",
        ),
        LabelMethod(
            "label-spreading", "label spreading", lambda _: LabelSpreading(kernel="knn", n_neighbors=7),
            "scikit-learn, 7 neighbours; scored by predict like all others, not by its transduction_",
        ),
    )
}  # fmt: skip


def choose_label_methods(names: str | None) -> tuple[LabelMethod, ...]:
    """Return the methods in a comma-separated list; all methods for None."""
    return tuple(LABEL_METHODS[name] for name in choose_names(names, LABEL_METHODS, "method"))

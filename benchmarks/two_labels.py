"""Error with two labels of each class, on all classification sets that scikit-learn contains.

    python benchmarks/two_labels.py [--splits 50]

Rows are standardised. All methods have their default parameters, and use the same random choices of two labelled rows
of each class; the error is that on the unlabelled rows, its mean over the choices.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import LinearSVC

from ravine import MinimumDensityClassifier

SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
N_LABELS = 2


def measure_errors(X: np.ndarray, truth: np.ndarray, seed: int) -> dict[str, float]:
    """Return the error of each method for one choice of labels."""
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(truth == label), N_LABELS, replace=False) for label in np.unique(truth)]
    y = np.full(len(truth), -1)
    y[np.concatenate(chosen)] = truth[np.concatenate(chosen)]
    rest = y < 0
    methods = {
        "ravine": MinimumDensityClassifier().fit(X, y),
        "LinearSVC": LinearSVC().fit(X[~rest], y[~rest]),
        "logistic regression": LogisticRegression().fit(X[~rest], y[~rest]),
        "self-training": SelfTrainingClassifier(LogisticRegression()).fit(X, y),
        "LabelSpreading": LabelSpreading().fit(X, y),
    }
    return {name: float(np.mean(model.predict(X[rest]) != truth[rest])) for name, model in methods.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=50)
    n_splits = parser.parse_args().splits
    warnings.simplefilter("ignore")
    means = []
    for name, load in SETS.items():
        data = load()
        X = StandardScaler().fit_transform(data.data)
        errors = [measure_errors(X, data.target, seed) for seed in range(n_splits)]
        means.append({method: 100.0 * np.mean([one[method] for one in errors]) for method in errors[0]})
        if len(means) == 1:
            print("| |", " | ".join(means[0]), "|")
        print(f"| {name} |", " | ".join(f"{error:.1f}" for error in means[-1].values()), "|", flush=True)
    overall = [np.mean([one[method] for one in means]) for method in means[0]]
    print("| mean |", " | ".join(f"{error:.1f}" for error in overall), "|")


if __name__ == "__main__":
    main()

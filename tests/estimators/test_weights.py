"""A weight of zero equals removal, and an integer weight repetition, for every option of the estimators."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, PathSettings

RNG = np.random.default_rng(2)
TRUTH = RNG.integers(0, 3, 120)
X = np.round(RNG.normal(size=(120, 3)) + 4.0 * RNG.normal(size=(3, 3))[TRUTH], 1)
Y = np.where(RNG.random(120) < 0.3, TRUTH, -1)
HYPERPLANES = {
    "defaults": {},
    "pca": {"init": "pca"},
    "axes": {"init": "axes"},
    "random": {"init": "random"},
    "array": {"init": np.eye(3)},
    "bandwidth": {"bandwidth": 0.5},
    "rule": {"bandwidth": lambda n, s: s * n**-0.2},
    "alpha": {"alpha_max": 0.5},
    "one start": {"n_init": 1},
    "outliers": {"contamination": 0.1},
    "far outliers": {"contamination": "auto"},
    "path": {"path": PathSettings(n_alpha=3, select="last", polish=False)},
}
TREES = {
    "defaults": {},
    "smallest": {"min_cluster_size": 15},
    "smallest share": {"min_cluster_size": 0.1},
    "largest share": {"max_cluster_size": 0.5},
    "halves": {"max_cluster_size": 0.34},
    "hyperplane": {"hyperplane": MinimumDensityHyperplane(bandwidth=0.5, init="pca")},
    "outliers": {"contamination": 0.1},
    "far outliers": {"contamination": "auto"},
}
CLASSIFIERS = {
    "defaults": {},
    "C": {"C": 1.0, "start_C": 0.1},
    "density weight": {"density_weight": 1.0},
    "hard": {"voting": "hard"},
    "paper": {"method": "paper", "gamma": (0.1, 1.0)},
    "factor": {"bandwidth_factor": 0.7},
    "one round": {"n_rounds": 1},
    "hyperplane": {"hyperplane": MinimumDensityHyperplane(init="svm", alpha_max=0.8)},
}
FITS = {
    **{f"hyperplane, {name}": (MinimumDensityHyperplane(random_state=0, **p), {}) for name, p in HYPERPLANES.items()},
    **{f"tree, {name}": (MinimumDensityTree(3, random_state=0, **p), {}) for name, p in TREES.items()},
    **{
        f"classifier, {name}": (MinimumDensityClassifier(random_state=0, **p), {"y": Y})
        for name, p in CLASSIFIERS.items()
    },
}


def assert_same_fit(weighted, other):
    assert_array_equal(weighted.predict(X), other.predict(X))
    assert_allclose(weighted.predict_proba(X), other.predict_proba(X), atol=1e-5)
    if hasattr(weighted, "outlier_model_"):
        assert_allclose(weighted.score_outliers(X), other.score_outliers(X), atol=1e-6)
        assert_array_equal(weighted.predict(X, outliers=True), other.predict(X, outliers=True))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("least", [0, 1], ids=["from 0", "from 1"])
def test_an_integer_weight_equals_repetition(name, least):
    model, others = FITS[name]
    weights = np.random.default_rng(0).integers(least, 4, len(X))
    weighted = model.fit(X, sample_weight=weights, **others)
    again = type(model)(**model.get_params(deep=False))
    repeated = again.fit(np.repeat(X, weights, axis=0), **{key: np.repeat(y, weights) for key, y in others.items()})
    assert_same_fit(weighted, repeated)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("far", [0.0, 1e3], ids=["near", "far"])
def test_a_weight_of_zero_equals_removal(name, far):
    model, others = FITS[name]
    kept = np.random.default_rng(1).random(len(X)) > 0.25
    rows = X + far * ~kept[:, None]
    weighted = model.fit(rows, sample_weight=kept, **others)
    removed = type(model)(**model.get_params(deep=False)).fit(X[kept], **{key: y[kept] for key, y in others.items()})
    assert_same_fit(weighted, removed)


PAIRS = np.array([(0, 1), (2, 3), (4, 7), (5, 6), (8, 11)])
CONSTRAINTS = {
    "must_link": {"must_link": PAIRS},
    "cannot_link": {"cannot_link": PAIRS[TRUTH[PAIRS[:, 0]] != TRUTH[PAIRS[:, 1]]]},
    "both": {"must_link": PAIRS[:2], "cannot_link": PAIRS[2:]},
    "labels": {"labels": np.where(np.arange(120) < 12, TRUTH, -1)},
}
LIMITS = {"": {}, "sizes": {"min_cluster_size": 12, "max_cluster_size": 0.6}, "outliers": {"contamination": 0.05}}


def move_constraints(constraints, places):
    """Return constraints for the rows at some places; copies of a row have the constraints of that row."""
    moved = {}
    for name, value in constraints.items():
        if name == "labels":
            moved[name] = value[places]
        else:
            copies = {k: np.flatnonzero(places == k).tolist() for k in np.unique(value).tolist()}
            moved[name] = [(i, j) for a, b in value.tolist() for i in copies[a] for j in copies[b]]
    return moved


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("weigh", ["repetition", "removal"])
def test_weights_equal_repetition_and_removal_with_constraints(kind, limit, weigh):
    rng = np.random.default_rng(4)
    weights = rng.integers(0, 4, 120) if weigh == "repetition" else (rng.random(120) > 0.25).astype(int)
    weights[:12] = np.maximum(weights[:12], 1)
    places = np.repeat(np.arange(120), weights)
    rows = X + 1e3 * (weights == 0)[:, None]
    weighted, other = (MinimumDensityTree(3, random_state=0, **LIMITS[limit]) for _ in range(2))
    weighted.fit(rows, sample_weight=weights, **CONSTRAINTS[kind])
    other.fit(X[places], **move_constraints(CONSTRAINTS[kind], places))
    assert_same_fit(weighted, other)
    assert len(weighted.violated_constraints_) <= len(other.violated_constraints_)


def test_marked_rows_of_a_weighted_fit_are_those_above_the_threshold():
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    for model in (MinimumDensityTree(3, contamination=0.1), MinimumDensityHyperplane(contamination=0.1)):
        model.set_params(random_state=0).fit(X, sample_weight=weights)
        assert_array_equal(model.labels_, model.predict(X, outliers=True))
        assert 0.0 < weights[model.labels_ < 0].sum() / weights.sum() <= 0.1 + 3.0 / weights.sum()


@pytest.mark.parametrize(
    "model",
    [MinimumDensityHyperplane(test="pooled"), MinimumDensityTree(), MinimumDensityTree(2), MinimumDensityClassifier()],
)
def test_weights_that_are_all_zero_are_refused(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"weight.*zero"):
            model.fit(
                X, **({"y": Y} if isinstance(model, MinimumDensityClassifier) else {}), sample_weight=np.zeros(120)
            )

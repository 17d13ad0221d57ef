"""Unusable input of the classifier is refused by name, with what is allowed; difficult input is learned."""

import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, PathSettings
from ravine.classes import pairs
from ravine.search import find_separator
from support.simulate import two_clusters

X, TRUTH = two_clusters(80, 3)
Y = np.full(80, -1)
for label in (0, 1):
    Y[np.flatnonzero(label == TRUTH)[:4]] = label
TEXT = np.array(["no", "yes", None], dtype=object)[Y]
PLANE = MinimumDensityHyperplane(init="svm", alpha_max=0.9, path=PathSettings(n_alpha=2, max_iter=5))
QUICK = {"hyperplane": PLANE, "gamma": 1.0}
METHODS = ["predict", "decision_function", "predict_proba"]


def with_cell(value, dtype=np.float64):
    rows = X.astype(dtype)
    rows[7, 1] = value
    return rows


def fit(rows=X, y=Y, weights=None, **parameters):
    return MinimumDensityClassifier(**parameters).fit(rows, y, sample_weight=weights)


@pytest.fixture(scope="module")
def fitted():
    return fit(**QUICK)


# ----------------------------------------------------------------------------------------------- rows


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_cell_that_is_not_finite_is_located(value, word, fitted):
    message = rf"X contains {word} in feature 1 \(row 7\)"
    with pytest.raises(ValueError, match=message):
        fit(with_cell(value))
    for method in METHODS:
        with pytest.raises(ValueError, match=message):
            getattr(fitted, method)(with_cell(value))


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (with_cell("red", object), ValueError, "feature 1"),
        (pd.DataFrame(X, columns=list("abc")).assign(word="red"), ValueError, "'word'"),
        (X[:, 0], ValueError, "Expected 2D array"),
        (np.empty((0, 3)), ValueError, r"0 sample\(s\)"),
        (scipy.sparse.csr_matrix(X * np.inf), ValueError, "(NaN|infinity)"),
        (None, ValueError, "Expected 2D array"),
    ],
    ids=["text", "text column", "1-D", "no rows", "sparse", "None"],
)
def test_rows_of_the_wrong_kind_are_refused(rows, error, message):
    with pytest.raises(error, match=message):
        fit(rows)


@pytest.mark.parametrize("method", METHODS)
def test_prediction_needs_a_fit_and_its_columns(method, fitted):
    with pytest.raises(NotFittedError):
        getattr(MinimumDensityClassifier(), method)(X)
    with pytest.raises(ValueError, match=r"2 .*3 "):
        getattr(fitted, method)(X[:, :2])


# ----------------------------------------------------------------------------------------------- labels

MARKS = "Unlabelled rows are marked by -1, or by None or NaN"
BAD_LABELS = {
    "None": (None, f"requires y.*None.*{MARKS}"),
    "short": (Y[:50], f"y has 50 labels, but X has 80 rows.*{MARKS}"),
    "two columns": (np.c_[Y, Y], r"y should be a 1d array.*\(80, 2\)"),
    "a number": (1, r"y should be a 1d array.*\(\)"),
    "all -1": (np.full(80, -1), "y marks all 80 rows as unlabelled.*two classes.*MinimumDensityHyperplane"),
    "all NaN": (np.full(80, np.nan), "y marks all 80 rows as unlabelled"),
    "all None": ([None] * 80, "y marks all 80 rows as unlabelled"),
    "one class": (np.where(Y == 0, 0, -1), r"y has labels of only one class, 0 \(4 of 80 rows\)"),
    "one class of text": (np.where(Y == 1, "yes", None), r"y has labels of only one class, 'yes'"),
    "infinity": (np.where(Y < 0, np.inf, Y), "y contains infinity"),
    "continuous": (X[:, 0], "Unknown label type: continuous"),
    "dates": (np.array(["2020", "2021"] * 40, dtype="M8[D]"), "y contains datetime64.*text or integers"),
    "text '-1'": (np.where(Y < 0, "-1", np.where(Y == 1, "yes", "no")), "y contains the text '-1'.*dtype object"),
    "text '-1' as objects": (np.where(Y < 0, "-1", TEXT), "y contains the text '-1'"),
    "text 'nan'": (np.where(Y < 0, "nan", np.where(Y == 1, "yes", "no")), "y contains the text 'nan'"),
    "numbers and text": (np.where(Y == 1, "yes", np.where(Y < 0, None, Y)), "y mixes"),
    "bytes": (np.where(TRUTH == 1, b"yes", b"no"), "y .*bytes"),
    "huge integers": (np.array([None if c < 0 else int(c) + 2**70 for c in Y], dtype=object), "y .*integers"),
}


@pytest.mark.parametrize(("y", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_labels_of_the_wrong_kind_are_refused(y, message):
    with pytest.raises(ValueError, match=f"(?s){message}") as caught:
        fit(y=y)
    assert ".." not in str(caught.value).replace("...", "")


def test_only_minus_and_plus_one_are_two_classes_with_a_warning():
    with pytest.warns(UserWarning, match=r"y .*-1.*NaN") as caught:
        model = fit(y=2 * TRUTH - 1, **QUICK)
    assert caught[0].filename == __file__
    assert_array_equal(model.classes_, [-1, 1])
    assert_array_equal(model.transduction_, 2 * TRUTH - 1)
    assert model.score(X, 2 * TRUTH - 1) == 1.0


@pytest.mark.parametrize(
    "y",
    [
        [-1 if label is None else label for label in TEXT],
        [np.nan if label is None else label for label in TEXT],
        np.ma.masked_array(np.array(["no", "yes"])[TRUTH], mask=Y < 0),
    ],
    ids=["list with -1", "list with NaN", "masked"],
)
def test_text_with_other_marks_is_partly_labelled(y):
    model = fit(y=y, **QUICK)
    assert model.classes_.tolist() == ["no", "yes"]
    assert_array_equal(model.transduction_ == "yes", TRUTH == 1)


@pytest.mark.filterwarnings("error")
def test_nan_among_minus_and_plus_one_means_unlabelled():
    model = fit(y=np.where(Y < 0, np.nan, 2.0 * Y - 1), **QUICK)
    assert_array_equal(model.transduction_, 2 * TRUTH - 1)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (TRUTH[:50], "y .*50 .*X .*80"),
        (np.full(80, -1), "y .*unlabelled"),
        (None, "y .*None"),
        (np.c_[TRUTH, TRUTH], r"1d array.*\(80, 2\)"),
    ],
    ids=["short", "all unlabelled", "None", "2-D"],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_score_refuses_labels_it_cannot_use(y, message, fitted):
    with pytest.raises(ValueError, match=message):
        fitted.score(X, y)


@pytest.mark.parametrize("weights", [np.ones(3), np.zeros(80), -np.ones(80)], ids=["short", "zero", "negative"])
def test_score_refuses_weights_it_cannot_use(weights, fitted):
    with pytest.raises(ValueError, match="sample_weight"):
        fitted.score(X, TRUTH, sample_weight=weights)


# ----------------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.r_[np.ones(4), -2.0, np.ones(75)], "-2 in row 4"),
        (np.zeros(80), "non-zero"),
        (np.r_[np.ones(9), np.nan, np.ones(70)], "row 9"),
        (np.ones(79), r"80 .*\(79,\)"),
        (["heavy"] * 80, "real numbers"),
        (np.where(Y == 1, 0.0, 1.0), "class 0"),
        (np.where(Y < 0, 1.0, 0.0), "no class"),
    ],
    ids=["negative", "zero", "NaN", "short", "text", "zero for a class", "zero for all labels"],
)
def test_weights_of_the_wrong_kind_are_refused(weights, message):
    with pytest.raises(ValueError, match=f"sample_weight.*{message}"):
        fit(weights=weights)


ABSURD = {
    "heavy rows": ({}, 1e300, "weight"),
    "large start_C": ({"start_C": 1e300}, 1.0, "start_C"),
    "small start_C": ({"start_C": 1e-300}, 1.0, "start_C"),
    "large C": ({"C": 1e300}, 1.0, "C"),
}


# In a process of its own: the linear SVM cannot be interrupted.
def test_absurd_numbers_are_refused_and_do_not_hang():
    script = (
        "import numpy as np; from ravine import MinimumDensityClassifier\n"
        "rng = np.random.default_rng(0); y = np.arange(60) % 2; X = rng.normal(size=(60, 3)) + 5 * y[:, None]\n"
        f"for case, (parameters, weight, name) in {ABSURD}.items():\n"
        "    try: MinimumDensityClassifier(**parameters).fit(X, y, sample_weight=np.full(60, weight))\n"
        "    except ValueError as error: assert name in str(error).splitlines()[-1], (case, error)\n"
        "    else: raise AssertionError(case)\n"
        "    print(case, flush=True)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert run.stdout.splitlines() == list(ABSURD), run.stderr
    assert run.returncode == 0, run.stderr


# ----------------------------------------------------------------------------------------------- failing


def stop(step):
    raise KeyboardInterrupt("stopped by the callback")


FAILURES = {
    "parameter": ({"n_rounds": -1}, X[:, :2], Y, None),
    "NaN": ({}, with_cell(np.nan)[:, :2], Y, None),
    "labels": ({}, X[:, :2], Y[:50], None),
    "one class": ({}, X[:, :2], np.where(Y == 0, 0, -1), None),
    "weights": ({}, X[:, :2], Y, np.ones(3)),
    "weights of a class": ({}, X[:, :2], Y, np.where(Y == 1, 0.0, 1.0)),
    "callback": ({"hyperplane__callback": stop}, X[:, :2], Y, None),
    "callback in threads": (
        {"hyperplane__callback": stop, "n_jobs": 2},
        X[:, :2],
        np.where(Y < 0, -1, np.arange(80) % 3),
        None,
    ),
}


@pytest.mark.parametrize(("parameters", "rows", "y", "weights"), FAILURES.values(), ids=FAILURES)
def test_failed_fit_keeps_the_earlier_fit(parameters, rows, y, weights):
    frame = pd.DataFrame(X, columns=["colour", "height", "mass"])
    model = clone(MinimumDensityClassifier(**QUICK)).fit(frame, Y)
    before = {name: value for name, value in vars(model).items() if name.endswith("_") or name.startswith("_")}
    predicted = model.predict_proba(frame)
    with pytest.raises((ValueError, KeyboardInterrupt)):
        model.set_params(**parameters).fit(rows, y, sample_weight=weights)
    assert all(vars(model)[name] is value for name, value in before.items())
    assert vars(model).keys() == before.keys() | model.get_params(deep=False).keys()
    assert_array_equal(model.predict_proba(frame), predicted)


def test_warning_as_an_error_keeps_the_earlier_fit(monkeypatch):
    model = MinimumDensityClassifier(**QUICK).fit(X, Y)
    before = vars(model).copy()
    monkeypatch.setattr(pairs, "find_separator", lambda *a, **k: replace(find_separator(*a, **k), converged=False))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match=r" 0 .* 1 "):
            model.set_params(method="paper").fit(X[:, ::-1], Y)
    assert all(vars(model)[name] is value for name, value in before.items() if name.endswith("_"))


def test_warning_names_the_hyperplanes_that_did_not_converge(monkeypatch):
    monkeypatch.setattr(pairs, "find_separator", lambda *a, **k: replace(find_separator(*a, **k), converged=False))
    with pytest.warns(ConvergenceWarning, match=r"'a' .*'b'.* 2 .*tol") as caught:
        fit(y=np.array(list("abc"))[np.arange(80) % 3], **QUICK, method="paper")
    assert caught[0].filename.endswith("test_classifier_bad_input.py")


def test_scores_of_unusable_labels_are_refused():
    X, y = two_clusters(60, 2)
    model = MinimumDensityClassifier(hyperplane=MinimumDensityHyperplane(path=PathSettings(n_alpha=2))).fit(X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        model.score(X, np.append(y[:-1], -1), np.eye(60)[-1])
    with pytest.raises(ValueError, match=r"y .*60 .*unlabelled"):
        model.score(X, np.full(60, -1))
    with pytest.raises(ValueError, match=r"y .*'a'.* 0"):
        model.score(X, np.full(60, "a"))
    with pytest.raises(ValueError, match=r"labels .*-1"):
        MinimumDensityClassifier(hyperplane=MinimumDensityHyperplane(path=PathSettings(n_alpha=2))).fit(
            X, 2 * y - 1
        ).score(X, y + 4)
    with pytest.raises(ValueError, match=r"y .*bytes"):
        MinimumDensityClassifier().fit(X, np.array([b"a", b"b"], dtype=object)[y])

"""The same numbers and labels give the same classifier, however they are stored, and difficult ones are learned."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, NoSplitWarning
from support.simulate import two_clusters

X, TRUTH = two_clusters(100, 4)
Y = np.full(100, -1)
for label in (0, 1):
    Y[np.flatnonzero(label == TRUTH)[:4]] = label
QUICK = {"gamma": (0.1, 1.0)}


def fit(rows=X, y=Y, weights=None, **parameters):
    return MinimumDensityClassifier(**(QUICK | parameters)).fit(rows, y, sample_weight=weights)


@pytest.fixture(scope="module")
def reference():
    return fit()


def marked(names, missing, dtype=object):
    """The labels with other names and another mark of unlabelled rows."""
    out = np.empty(len(Y), dtype=dtype)
    out[:] = [missing if c < 0 else names[c] for c in Y]
    return out


def read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


# ----------------------------------------------------------------------------------------------- rows

CONTAINERS = {
    "Fortran order": np.asfortranarray,
    "every second row": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "columns backwards": lambda rows: rows[:, ::-1].copy()[:, ::-1],
    "read-only": read_only,
    "big-endian": lambda rows: rows.astype(">f8"),
    "object": lambda rows: rows.astype(object),
    "list": lambda rows: rows.tolist(),
    "pandas": pd.DataFrame,
    "pandas nullable": lambda rows: pd.DataFrame(rows).astype("Float64"),
    "polars": pl.DataFrame,
}
TYPES = {
    "float32": lambda rows: rows.astype(np.float32),
    "int64": lambda rows: (50 * rows).round().astype(np.int64),
    "int8": lambda rows: (8 * rows).round().clip(-128, 127).astype(np.int8),
    "bool": lambda rows: np.median(rows, axis=0) < rows,
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.filterwarnings("ignore:X (does not have|has) .*feature names")
def test_container_of_the_rows_does_not_matter(container, reference):
    model = fit(container(X))
    assert_allclose(model.coef_, reference.coef_, atol=1e-9)
    assert_array_equal(model.transduction_, reference.transduction_)
    assert_allclose(model.predict_proba(container(X)), reference.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("cast", TYPES.values(), ids=TYPES)
def test_type_of_the_numbers_does_not_matter(cast):
    rows = cast(X)
    model, exact = fit(rows), fit(rows.astype(np.float64))
    assert_allclose(model.coef_, exact.coef_, atol=1e-9)
    assert_array_equal(model.predict(rows), exact.predict(rows))
    assert model.predict_proba(rows).dtype == model.decision_function(rows).dtype == np.float64


def test_feature_names_are_stored_and_checked():
    model = fit(pd.DataFrame(X, columns=list("abcd")))
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=list("abdc")))


@pytest.mark.parametrize("y", [Y, marked(["no", "yes"], None)], ids=["numbers", "objects"])
def test_rows_labels_and_weights_are_not_changed(y):
    rows, weights = np.asfortranarray(X), np.linspace(0.0, 1.0, len(X))
    before = rows.copy(), y.copy(), weights.copy()
    model = fit(rows, y, weights)
    model.predict(rows)
    model.score(rows, y)
    for now, then in zip((rows, y, weights), before, strict=True):
        assert_array_equal(now, then)


# ----------------------------------------------------------------------------------------------- labels

LABELS = {
    "int": (Y, [0, 1]),
    "int8": (Y.astype(np.int8), [0, 1]),
    "list of int": (Y.tolist(), [0, 1]),
    "other numbers": (marked([7, 70], -1, int), [7, 70]),
    "negative numbers": (marked([-7, -2], -1, int), [-7, -2]),
    "float with NaN": (marked([0.0, 1.0], np.nan, float), [0.0, 1.0]),
    "float32 with NaN": (marked([0.0, 1.0], np.nan, np.float32), [0.0, 1.0]),
    "float with -1": (marked([0.0, 1.0], -1.0, float), [0.0, 1.0]),
    "object ints with None": (marked([0, 1], None), [0, 1]),
    "object ints with -1": (marked([0, 1], -1), [0, 1]),
    "text with None": (marked(["no", "yes"], None), ["no", "yes"]),
    "list of text with None": (marked(["no", "yes"], None).tolist(), ["no", "yes"]),
    "text with NaN": (marked(["no", "yes"], np.nan), ["no", "yes"]),
    "text with NaN of float32": (marked(["no", "yes"], np.float32("nan")), ["no", "yes"]),
    "text with -1": (marked(["no", "yes"], -1), ["no", "yes"]),
    "text with NA": (marked(["no", "yes"], pd.NA), ["no", "yes"]),
    "bool with None": (marked([False, True], None), [False, True]),
    "bool with -1": (marked([False, True], -1), [False, True]),
    "pandas Int64": (pd.Series(Y, dtype="Int64").mask(Y < 0), [0, 1]),
    "pandas boolean": (pd.Series(Y == 1, dtype="boolean").mask(Y < 0), [False, True]),
    "pandas string": (pd.Series(marked(["no", "yes"], None), dtype="string"), ["no", "yes"]),
    "pandas category": (pd.Series(marked(["no", "yes"], None), dtype="category"), ["no", "yes"]),
    "pandas category of int": (pd.Series(Y, dtype="category"), [0, 1]),
    "pandas with another index": (pd.Series(Y, index=np.arange(100)[::-1]), [0, 1]),
    "polars int": (pl.Series(marked([0, 1], None).tolist()), [0, 1]),
    "polars bool": (pl.Series(marked([False, True], None).tolist()), [False, True]),
    "polars text": (pl.Series(marked(["no", "yes"], None).tolist()), ["no", "yes"]),
}


@pytest.mark.parametrize(("y", "classes"), LABELS.values(), ids=LABELS)
@pytest.mark.filterwarnings("error")
def test_type_of_the_labels_does_not_matter(y, classes, reference):
    model = fit(y=y)
    assert model.classes_.tolist() == classes
    assert_array_equal(model.coef_, reference.coef_)
    assert_array_equal(model.transduction_, np.array(classes)[reference.transduction_])
    assert_array_equal(model.predict(X), np.array(classes)[reference.predict(X)])
    assert list(model.hyperplanes_) == [tuple(classes)]
    assert model.score(X, y) == reference.score(X, Y) == 1.0


WHOLE = {
    "bool": TRUTH == 1,
    "text": np.array(["no", "yes"])[TRUTH],
    "text '-1' and '1'": np.array(["-1", "1"])[TRUTH],
    "unsigned": TRUTH.astype(np.uint8),
    "text as objects": np.array(["no", "yes"], dtype=object)[TRUTH],
    "categorical": pd.Categorical(np.array(["no", "yes"])[TRUTH], categories=["unused", "yes", "no"]),
}


@pytest.mark.parametrize("y", WHOLE.values(), ids=WHOLE)
def test_every_row_may_be_labelled(y):
    model = fit(y=y)
    assert_array_equal(model.transduction_, np.asarray(y))
    assert_array_equal(model.classes_, np.unique(np.asarray(y)))
    assert_array_equal(model.predict(X), np.asarray(y))


@pytest.mark.parametrize("nullable", ["Int64", "boolean"])
def test_nullable_types_keep_their_kind(nullable):
    y = pd.Series(Y, dtype="Int64").mask(Y < 0).astype(nullable)
    assert fit(y=y).predict(X).dtype.kind == ("i" if nullable == "Int64" else "b")


@pytest.mark.filterwarnings("ignore:A column-vector")
def test_score_of_a_column_vector_is_that_of_its_column(reference):
    y = np.where(np.arange(100) < 10, 1 - TRUTH, TRUTH)
    assert reference.score(X, y[:, None]) == reference.score(X, pd.DataFrame({"y": y})) == 0.9


@pytest.mark.parametrize("weights", [list, pd.Series, pl.Series, lambda w: w.astype(np.float32)])
def test_container_of_the_weights_does_not_matter(weights):
    w = np.arange(1.0, 101.0) / 64
    assert_array_equal(fit(weights=weights(w)).coef_, fit(weights=w).coef_)


# ----------------------------------------------------------------------------------------------- difficult rows


def assert_works(model, rows):
    """Finite probabilities that agree with the predictions."""
    p = model.predict_proba(rows)
    assert np.isfinite(p).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(model.predict(rows), model.classes_[p.argmax(axis=1)])


def test_fewer_rows_than_columns():
    rows, truth = two_clusters(40, 90)
    model = fit(rows, np.where(np.arange(40) < 20, truth, -1))
    assert_array_equal(model.transduction_, truth)
    assert_works(model, rows)


def test_one_column():
    rows, truth = two_clusters(100, 1)
    assert_array_equal(fit(rows, np.where(np.arange(100) < 10, truth, -1)).transduction_, truth)


def test_constant_columns_do_not_matter(reference):
    padded = np.insert(X, [0, 2, 4], [5.0, 0.0, -1e3], axis=1)
    model = fit(padded)
    assert_array_equal(model.transduction_, reference.transduction_)
    assert_allclose(model.coef_[:, [0, 3, 6]], 0.0, atol=1e-9)
    assert_allclose(model.decision_function(padded), reference.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("rows", [[[0.0, 1.0], [1.0, 0.0]], [[-1.0], [3.0]]], ids=["two columns", "one column"])
def test_two_rows_are_separated(rows):
    model = MinimumDensityClassifier().fit(rows, ["a", "b"])
    assert model.predict(rows).tolist() == ["a", "b"]
    assert_works(model, rows)


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize(
    ("y", "majority"), [([0, 1, 1], 1), ([0, 0, 1], 0), ([0, 1, 2, 2], 2), ([0, 1, 1, 2], 1)], ids=str
)
@pytest.mark.filterwarnings("error")
def test_equal_rows_belong_to_the_class_with_most_labels(y, majority, voting):
    rows = np.full((10, 3), 7.0)
    with pytest.warns(NoSplitWarning, match="equal"):
        model = MinimumDensityClassifier(voting=voting).fit(rows, y + [-1] * (10 - len(y)))
    assert_array_equal(model.predict(rows), majority)
    assert_array_equal(model.transduction_, y + [majority] * (10 - len(y)))
    assert_works(model, rows)


@pytest.mark.filterwarnings("ignore:All rows are equal")
def test_equal_rows_with_contradicting_labels_are_not_certain():
    p = MinimumDensityClassifier().fit(np.ones((4, 2)), [0, 1, 0, 1]).predict_proba(np.ones((1, 2)))
    assert p.max() < 0.99


def test_repeated_rows_with_contradicting_labels_are_learned():
    rows = np.repeat(X[:30], 2, axis=0)
    model = MinimumDensityClassifier().fit(rows, np.tile([0, 1], 30))
    assert_array_equal(model.transduction_, np.tile([0, 1], 30))
    assert model.predict_proba(rows).max() < 0.9
    assert_works(model, rows)


def test_far_rows_are_predicted(reference):
    far = 1e290 * np.random.default_rng(0).standard_normal((50, 4))
    assert_works(reference, far)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bandwidth", [1e-5, 1e5])
def test_unsuitable_bandwidth_gives_no_warnings_of_numpy(bandwidth):
    assert_works(fit(hyperplane=MinimumDensityHyperplane(bandwidth)), X)


# ----------------------------------------------------------------------------------------------- difficult labels


def test_one_label_per_class_suffices_if_clusters_are_classes():
    y = np.full(100, -1)
    for c in (0, 1):
        y[np.flatnonzero(c == TRUTH)[3]] = c
    model = MinimumDensityClassifier().fit(X, y)
    assert_array_equal(model.transduction_, TRUTH)
    assert model.predict_proba(X).max() < 0.999


def test_few_wrong_labels_leave_the_hyperplane_in_the_gap():
    y = np.where(np.arange(100) < 40, TRUTH, -1)
    y[[0, 1, 2]] = 1 - TRUTH[[0, 1, 2]]
    assert_array_equal(MinimumDensityClassifier().fit(X, y).predict(X), TRUTH)


def test_classes_that_no_hyperplane_separates_are_learned():
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, (120, 2))
    y = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    model = fit(rows, y)
    assert model.score(rows, y) >= 0.5
    assert_works(model, rows)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("labels", [4, 10, 196], ids=lambda n: f"{n} labels of the others")
def test_a_class_of_two_percent_behind_a_wide_gap_is_found(seed, labels):
    truth = (np.arange(200) < 4).astype(int)
    rows = np.random.default_rng(seed).standard_normal((200, 3)) + 8.0 * truth[:, None]
    y = np.where((np.arange(200) < 2) | (np.arange(200) >= 200 - labels), truth, -1)
    model = MinimumDensityClassifier().fit(rows, y)
    assert_array_equal(model.predict(rows[truth == 1]), 1)
    assert np.mean(model.predict(rows) != truth) <= 0.05


def test_subsample_does_not_change_the_scale_of_the_probabilities():
    truth = np.arange(4000) % 2
    rows = np.random.default_rng(0).standard_normal((4000, 3)) + 3.0 * truth[:, None]
    y = np.where(np.arange(4000) < 60, truth, -1)
    few, all_rows = (
        MinimumDensityClassifier(random_state=0, hyperplane=MinimumDensityHyperplane(subsample=size)).fit(rows, y)
        for size in (100, None)
    )
    assert few.pair_model_.slopes[0] == pytest.approx(all_rows.pair_model_.slopes[0], rel=0.2)


def test_warnings_about_labels_point_to_the_caller():
    rows, truth = two_clusters(40, 2)
    for y in (2 * truth - 1, truth[:, None]):
        with pytest.warns(UserWarning, match="y") as caught:
            MinimumDensityClassifier(random_state=0).fit(rows, y)
        assert [warning.filename for warning in caught] == [__file__]


def test_shares_of_votes_are_not_negative():
    rng = np.random.default_rng(915065)
    rows = np.c_[rng.integers(0, 4, 30), rng.normal(size=(30, 5))]
    rows[-1, 0] = -1e100
    rows = (rows * 10.0 ** np.linspace(-8, 8, 6)).round(2)
    y = np.where(rng.random(30) < 0.2, rng.integers(0, 4, 30), -1)
    assert MinimumDensityClassifier(voting="hard", random_state=0).fit(rows, y).predict_proba(rows).min() >= 0.0

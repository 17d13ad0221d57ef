"""MixedScaler: categories and numbers as features of comparable variance."""

import pickle
import warnings
from decimal import Decimal

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from ravine import MinimumDensityTree, MixedScaler
from ravine.tables.mixed_scaler import count_categories, judge_texts

IN_PLACE = {"check_positive_only_tag_during_fit": "scikit-learn before 1.7.1 subtracts a mean from integers in place"}


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "size": rng.normal(size=n),
        "kind": rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]).astype(object),
        "count": rng.integers(0, 5, n),
        "flag": rng.random(n) < 0.3,
        "sex": rng.choice(["u", "v"], n).astype(object),
    }


def as_objects(columns):
    return np.column_stack([np.asarray(values, dtype=object) for values in columns.values()])


def expect_failures(scaler):
    """Expect no failure of scaler, except for a check that older versions of scikit-learn do with integers."""
    is_old = parse_version(sklearn.__version__) < parse_version("1.7.1")
    return IN_PLACE if is_old and not get_tags(scaler).input_tags.allow_nan else {}


@parametrize_with_checks([MixedScaler(), MixedScaler(missing="median")], expected_failed_checks=expect_failures)
def test_scaler_is_a_transformer_of_scikit_learn(estimator, check):
    check(estimator)


def reference(columns):
    """Standardised numbers, and for each category (indicator - share) / root of its share, by loops."""
    out = []
    for values in columns.values():
        if values.dtype == object:
            for category in sorted(set(values)):
                share = sum(value == category for value in values) / len(values)
                out.append([((value == category) - share) / np.sqrt(share) for value in values])
        else:
            numbers = [float(value) for value in values]
            mean = sum(numbers) / len(numbers)
            spread = np.sqrt(sum((value - mean) ** 2 for value in numbers) / len(numbers))
            out.append([(value - mean) / spread for value in numbers])
    return np.array(out).T


def test_features_equal_the_formula():
    columns = table()
    scaler = MixedScaler()
    np.testing.assert_allclose(scaler.fit_transform(as_objects(columns)), reference(columns), atol=1e-12)
    np.testing.assert_allclose(scaler.transform(as_objects(columns)), reference(columns), atol=1e-12)


@given(st.lists(st.integers(5, 60), min_size=2, max_size=6))
@settings(max_examples=25, deadline=None)
def test_every_column_has_variance_one_in_each_direction(counts):
    kinds = np.repeat([f"k{j}" for j in range(len(counts))], counts).astype(object)
    Z = MixedScaler(min_frequency=0.0).fit_transform(kinds[:, None])
    variances = np.linalg.eigvalsh(np.cov(Z.T, bias=True))
    np.testing.assert_allclose(variances, [0.0] + [1.0] * (len(counts) - 1), atol=1e-9)


def frames():
    pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    columns = table()
    frame = pandas.DataFrame(columns).astype({"kind": "category", "sex": "string", "count": "Int64"})
    lazy = polars.DataFrame({name: values.tolist() for name, values in columns.items()}).with_columns(
        polars.col("kind").cast(polars.Categorical), polars.col("sex").cast(polars.Enum(["u", "v"]))
    )
    return [frame, lazy, arrow.table({name: lazy[name].to_arrow() for name in lazy.columns})]


def test_data_frames_of_any_library_give_the_same_features():
    expected = reference(table())
    for frame in frames():
        scaler = MixedScaler().fit(frame)
        np.testing.assert_allclose(scaler.transform(frame), expected, atol=1e-12)
        names = ["size", "kind=x", "kind=y", "kind=z", "count", "flag", "sex=u", "sex=v"]
        assert scaler.get_feature_names_out().tolist() == names


def test_categorical_columns_of_integers_are_categories():
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    a, z = np.arange(12.0), np.arange(12) % 3
    encoded = arrow.array(z).dictionary_encode()
    expected = MixedScaler(categorical=["z"]).fit_transform(pandas.DataFrame({"a": a, "z": z}))
    for frame in (
        pandas.DataFrame({"a": a, "z": pandas.Categorical(z)}),
        pandas.DataFrame({"a": a, "z": pandas.Series(encoded, dtype=pandas.ArrowDtype(encoded.type))}),
        arrow.table({"a": a, "z": encoded}),
    ):
        scaler = MixedScaler().fit(frame)
        assert scaler.get_feature_names_out().tolist() == ["a", "z=0", "z=1", "z=2"]
        np.testing.assert_array_equal(scaler.transform(frame), expected)


def test_lists_of_numbers_and_text_are_read_as_they_are():
    rows = [[1, "a"], [2, "b"], [3, "a"]]
    scaler = MixedScaler()
    np.testing.assert_array_equal(scaler.fit_transform(rows), MixedScaler().fit_transform(np.array(rows, dtype=object)))
    assert scaler.get_feature_names_out().tolist() == ["x0", "x1=a", "x1=b"]


def test_output_can_be_a_data_frame():
    frame = frames()[0]
    out = MixedScaler().set_output(transform="pandas").fit_transform(frame)
    assert out.columns.tolist()[:2] == ["size", "kind=x"]
    with pytest.raises(ValueError, match="feature_names_in_"):
        MixedScaler().fit(frame).get_feature_names_out(["a"] * 5)


def test_clusters_that_only_categories_show_are_found():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    columns = [np.where(rng.random(300) < 0.05, 1 - y, y) for _ in range(8)]
    X = np.column_stack([np.array(["no", "yes"], dtype=object)[column] for column in columns])
    labels = MinimumDensityTree(2, random_state=0).fit(MixedScaler().fit_transform(X)).labels_
    assert max((labels == y).mean(), (labels != y).mean()) > 0.97


def test_rare_categories_are_grouped_and_named():
    kinds = np.array(["a"] * 60 + ["b"] * 37 + ["c", "d", "d"], dtype=object)[:, None]
    scaler = MixedScaler(min_frequency=0.03)
    with pytest.warns(UserWarning, match="'x0': 'c', 'd'"):
        Z = scaler.fit_transform(kinds)
    assert scaler.categories_ == {"x0": ("a", "b", "other")}
    assert scaler.rare_ == {"x0": ("c", "d")}
    assert (Z[-3:, 2] > 0).all()
    assert (Z[:-3, 2] < 0).all()
    np.testing.assert_allclose(scaler.transform(np.array([["c"]], dtype=object)), Z[-1:])


def test_group_of_rare_categories_has_a_name_of_its_own():
    kinds = np.array(["a"] * 60 + ["other"] * 37 + ["c", "d", "d"], dtype=object)[:, None]
    with pytest.warns(UserWarning, match="'x0': 'c', 'd'"):
        scaler = MixedScaler(min_frequency=0.04).fit(kinds)
    assert scaler.categories_ == {"x0": ("a", "other", "other (rare)")}
    np.testing.assert_allclose(scaler.mean_, [0.6, 0.37, 0.03])


def test_fit_that_fails_keeps_categories_and_features():
    X = as_objects(table())
    scaler = MixedScaler().fit(X)
    before = scaler.categories_, scaler.rare_, scaler.transform(X)
    other = X.copy()
    other[:, 1], other[5, 0] = np.where(np.arange(200) % 2, "new", "newer"), np.inf
    with pytest.raises(ValueError, match="infinite"):
        scaler.fit(other)
    assert (scaler.categories_, scaler.rare_) == before[:2]
    np.testing.assert_array_equal(scaler.transform(X), before[2])


def test_lone_rare_category_is_not_far_away():
    kinds = np.array(["a"] * 999 + ["b"], dtype=object)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Z = MixedScaler().fit_transform(kinds)
    assert np.abs(Z).max() < 1.0 / np.sqrt(0.02)


@given(st.dictionaries(st.sampled_from("abcdefg") | st.just("other"), st.integers(2, 300), min_size=2))
@settings(max_examples=25, deadline=None)
def test_grouping_keeps_every_category_once(counts):
    cells = np.repeat(list(counts), list(counts.values())).astype(object)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaler = MixedScaler(min_frequency=0.1).fit(cells)
    names, rare = scaler.categories_["x0"], scaler.rare_.get("x0", ())
    needed = 0.1 * sum(counts.values())
    few = sorted(name for name, n in counts.items() if n < needed)
    assert list(rare) == (few if len(few) > 1 else [])
    assert sorted({*names[: len(names) - bool(rare)], *rare}) == sorted(counts)


def test_categories_are_counted_without_missing_cells():
    assert count_categories(["b", "a", None, float("nan"), "b"]) == {"a": 1, "b": 2}
    assert "30 distinct" in judge_texts({f"name {k}": 1 for k in range(30)})
    assert "'a'" in judge_texts({"a": 30})
    assert judge_texts({"a": 10, "b": 20}) == ""


def test_equal_values_of_other_types_are_other_categories():
    cells = np.array([[1, True], [2, 1], [3, True], [4, 1]], dtype=object)
    scaler = MixedScaler(categorical=[1])
    Z = scaler.fit_transform(cells)
    assert scaler.categories_ == {"x1": ("1", "True")}
    np.testing.assert_allclose(Z[:, 1], [-0.5 / np.sqrt(0.5), 0.5 / np.sqrt(0.5)] * 2)
    np.testing.assert_allclose(Z[:, 2], -Z[:, 1])
    cells = np.array(["3.0", 3.0, 3, "nan", np.nan], dtype=object)[:, None]
    scaler = MixedScaler(encode="one-hot", scale="none", missing="keep", min_frequency=0.0)
    encoded = scaler.fit_transform(cells)
    assert scaler.categories_ == {"x0": ("3", "3.0", "nan")}
    np.testing.assert_array_equal(encoded[:4].argmax(axis=1), [1, 0, 0, 2])
    assert np.isnan(encoded[4]).all()


def test_integers_are_the_same_categories_with_missing_cells():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.arange(12.0), "z": np.arange(12) % 3})
    gaps = frame.assign(z=frame.z.where(frame.index > 3))  # floats
    scaler = MixedScaler(categorical=["z"], missing="keep")
    whole = scaler.fit(frame).transform(frame)
    np.testing.assert_array_equal(scaler.transform(gaps)[4:], whole[4:])
    assert scaler.fit(gaps).categories_ == {"z": ("0", "1", "2")}
    assert np.isfinite(scaler.transform(frame)).all()
    assert count_categories([1.5, 2.0, np.float32(2), 2, 1e300, np.inf]) == {"1.5": 1, "1e+300": 1, "2": 3, "inf": 1}
    texts = MixedScaler().fit(np.array([["3.0"], ["a"], ["3.0"], ["a"]], dtype=object))
    with pytest.raises(ValueError, match="'x0' contains '3'"):
        texts.transform(np.array([[3.0]]))


def test_unknown_categories_are_an_error_or_average():
    X = as_objects(table())
    new = X[:1].copy()
    new[0, 1] = "new"
    with pytest.raises(ValueError, match=r"'x1'.*'new'"):
        MixedScaler().fit(X).transform(new)
    Z = MixedScaler(handle_unknown="other").fit(X).transform(new)
    np.testing.assert_allclose(Z[0, 1:4], 0.0, atol=1e-12)
    kinds = np.array(["a"] * 60 + ["b"] * 36 + ["c", "c", "d", "d"], dtype=object)[:, None]
    scaler = MixedScaler(min_frequency=0.03, handle_unknown="other", encode="famd")
    with pytest.warns(UserWarning, match="'c', 'd'"):
        Z = scaler.fit_transform(kinds)
    np.testing.assert_array_equal(scaler.transform(np.array([["z"]], dtype=object)), Z[-1:])


def test_missing_cells_are_an_error_kept_or_filled():
    X = as_objects(table())
    X[0, 0], X[1, 1] = np.nan, None
    with pytest.raises(ValueError, match="'x0' 1, 'x1' 1"):
        MixedScaler().fit(X)
    kept = MixedScaler(missing="keep").fit_transform(X)
    assert np.argwhere(np.isnan(kept)).tolist() == [[0, 0], [1, 1], [1, 2], [1, 3]]
    filled = MixedScaler(missing="median").fit(X).transform(X)
    assert filled[1, 1] == filled[X[:, 1] == "x"][0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.__setitem__((slice(None), 1), "only"), "'x1'.*'only'"),
        (lambda X: X.__setitem__((slice(None), 1), None), "'x1'.*missing"),
        (lambda X: X.__setitem__((slice(None), 0), np.nan), "'x0'.*missing"),
        (lambda X: X.__setitem__((5, 0), np.inf), "'x0' \\(row 6\\)"),
        (lambda X: X.__setitem__((slice(None), 1), [f"name {k}" for k in range(200)]), "'x1'.*200"),
    ],
)
def test_unusable_columns_are_named(change, message):
    X = as_objects(table())
    change(X)
    with pytest.raises(ValueError, match=message):
        MixedScaler(missing="median").fit(X)


def test_parameters_are_checked():
    X = as_objects(table())
    for parameters in (
        {"missing": "drop"},
        {"handle_unknown": "ignore"},
        {"min_frequency": 0.6},
        {"categorical": "all"},
    ):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            MixedScaler(**parameters).fit(X)
    with pytest.raises(ValueError, match="no such column"):
        MixedScaler(categorical=["weight"]).fit(X)
    chosen = MixedScaler(categorical=[1, "x2", -1]).fit(X)
    assert list(chosen.categories_) == ["x1", "x2", "x4"]


def test_columns_need_names_of_their_own():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.ones((5, 2)), columns=["a", "a"])
    with pytest.raises(ValueError, match=r"columns .*'a'"):
        MixedScaler().fit(frame)


def test_unusable_tables_are_refused_with_the_reason():
    pandas = pytest.importorskip("pandas")
    fitted = MixedScaler().fit(as_objects(table()))
    with pytest.raises(ValueError, match=r"shape \(0, 1\)"):
        MixedScaler().fit(pandas.DataFrame({"a": []}))
    with pytest.raises(TypeError, match=r"column 'a'.*datetime64"):
        MixedScaler().fit(pandas.DataFrame({"a": np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")}))
    with pytest.raises(ValueError, match=r"'a'.*missing"):
        MixedScaler().fit(pandas.DataFrame({"a": [None, None], "b": [1.0, 2.0]}))
    with pytest.raises(TypeError, match="list"):
        MixedScaler().fit(pandas.DataFrame({"a": [[1], [2]]}))
    with pytest.raises(ValueError, match=r"'a' is not numeric.*list"):
        MixedScaler(categorical=[]).fit(pandas.DataFrame({"a": [[1], [2]]}))
    for columns in ({"a": 1}, {"a": [1, 2], "b": [1]}, {"a": np.ones((2, 2))}, {"a": {1, 2}}):
        with pytest.raises(ValueError, match=r"mapping.*same length"):
            MixedScaler().fit(columns)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        MixedScaler().fit(csr_array(np.eye(3)))
    with pytest.raises(ValueError, match=r"input_features.*5.*2"):
        fitted.get_feature_names_out(["a", "b"])


# ----------------------------------------------------------------------------------------------- parts of scikit-learn


OPTIONS = [
    {"encode": encode, "scale": scale, "missing": missing}
    for encode in ("famd", "one-hot") for scale in ("standard", "robust", "none") for missing in ("median", "keep")
]  # fmt: skip


def table_with_gaps():
    columns = table()
    columns["kind"][:2], columns["kind"][2:5] = ["rare1", "rare2"], None
    columns["size"][10:30] = np.nan
    return columns


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.filterwarnings("ignore:rare categories")
def test_pickles_are_rebuilt_from_public_values(options):
    columns = table_with_gaps()
    scaler = MixedScaler(**options, min_frequency=0.03).fit(columns)
    again = pickle.loads(pickle.dumps(scaler))
    np.testing.assert_array_equal(again.transform(columns), scaler.transform(columns))
    assert again.get_feature_names_out().tolist() == scaler.get_feature_names_out().tolist()
    parts = (fitted.transformer_.transformers_ for fitted in (again, scaler))
    for (_, one, _), (_, other, _) in zip(*parts, strict=True):
        assert vars(one[-1]).keys() == vars(other[-1]).keys()
        for name, value in vars(other[-1]).items():
            np.testing.assert_array_equal(getattr(one[-1], name), value)


def test_decimal_numbers_and_texts_of_numbers_are_numbers():
    cells = np.array([[Decimal("1.5")], ["2"], [None]], dtype=object)
    scaler = MixedScaler(categorical=[], scale="none", missing="keep")
    np.testing.assert_array_equal(scaler.fit_transform(cells), [[1.5], [2.0], [np.nan]])


@pytest.mark.filterwarnings("ignore:rare categories")
def test_fitted_transformer_is_a_column_transformer():
    pandas = pytest.importorskip("pandas")
    columns = table_with_gaps()
    scaler = MixedScaler(missing="median").fit(columns)
    names = scaler.get_feature_names_out().tolist()
    frame = pandas.DataFrame(columns)
    assert isinstance(scaler.transformer_, ColumnTransformer)
    features = scaler.transformer_.transform(frame.to_numpy())  # numbers first
    np.testing.assert_array_equal(np.sort(features, axis=1), np.sort(scaler.transform(columns), axis=1))
    pipeline = make_pipeline(MixedScaler(missing="median"), MinimumDensityTree(2, random_state=0)).fit(frame)
    assert pipeline[:-1].get_feature_names_out().tolist() == names


def test_rows_are_divided_by_their_lengths_before_they_are_scaled(rng):
    X = rng.normal(size=(50, 3)) * np.array([1e-200, 1.0, 1e200])[rng.integers(3, size=50)][:, None]
    Z = MixedScaler(normalize="l2", scale="none").fit_transform(np.where(np.abs(X) < 1e-100, 0.0, X))
    lengths = np.linalg.norm(Z, axis=1)
    np.testing.assert_allclose(lengths[lengths > 0], 1.0)
    with pytest.raises(ValueError, match="l2"):
        MixedScaler(normalize="l2").fit(as_objects(table()))


def test_robust_scale_uses_the_spread_where_quartiles_are_equal(rng):
    X = np.column_stack([rng.normal(size=400), np.where(np.arange(400) < 20, 1000.0, 0.0)])
    Z = MixedScaler(scale="robust").fit_transform(X)
    np.testing.assert_allclose(np.subtract(*np.percentile(Z[:, 0], [75, 25])), 1.349, rtol=1e-3)
    np.testing.assert_allclose(Z[:, 1].std(), 1.0)


def test_values_that_are_too_large_are_named():
    with pytest.raises(ValueError, match="'b'"):
        MixedScaler().fit({"a": np.arange(9.0), "b": np.linspace(-1e200, 1e200, 9)})

"""Model files: exact to the bit, written completely or not at all."""

import dataclasses
import errno
import zipfile

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from ravine import (
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    MixedScaler,
    MultipleImputer,
    PathSettings,
)
from ravine.models import ModelFileError, TableModel, inspect, load, save
from support.thin_evidence import N_SHOWN, N_SUGGESTED, simulate_pairs

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def blobs(n=90, d=3, seed=0, offset=0.0):
    X, y = make_blobs([n, n, n], n_features=d, centers=7.0 * np.eye(3, d), random_state=seed)
    return X + offset, y


def assert_same(one, other, where="model"):
    """Equal types and equal bits, through arrays, dataclasses, tuples and dictionaries."""
    assert type(one) is type(other) or (isinstance(one, float) and isinstance(other, float)), where
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        assert one.shape == other.shape, where
        if one.dtype.kind in "OT":
            assert one.tolist() == other.tolist(), where
            assert [*map(type, one.tolist())] == [*map(type, other.tolist())], where
        else:
            assert one.tobytes() == other.tobytes(), where
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), where
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}[{k}]")
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key, value in one.items():
            assert_same(value, other[key], f"{where}[{key!r}]")
    elif isinstance(one, float):
        assert np.float64(one).tobytes() == np.float64(other).tobytes(), where
    elif type(one).__module__.startswith("ravine"):
        assert_same(one.__getstate__(), other.__getstate__(), where)
    else:
        assert one == other, where


def round_trip(estimator, path):
    save(estimator, path)
    again = load(path)
    assert type(again) is type(estimator)
    assert_same(estimator.__getstate__(), again.__getstate__())
    return again


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.ravine"


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e-9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hyperplane_round_trips_to_the_bit(path, offset, dtype):
    X, _ = blobs(offset=offset)
    X = X.astype(dtype)
    mdh = MinimumDensityHyperplane(n_splits=2, random_state=3, test="pooled").fit(X)
    again = round_trip(mdh, path)
    assert_same(mdh.decision_function(X), again.decision_function(X))
    assert_same(mdh.predict(X), again.predict(X))
    assert_same(mdh.transform(X), again.transform(X))
    assert str(mdh.valley_test_) == str(again.valley_test_)
    assert not again.hyperplane_.normal.flags.writeable


@pytest.mark.parametrize("X", [np.zeros((5, 2)), np.eye(2), np.random.default_rng(0).normal(size=(7, 30))])
def test_hyperplane_of_odd_data_round_trips(path, X):
    again = round_trip(MinimumDensityHyperplane().fit(X), path)
    assert len(again.predict(X)) == len(X)


def test_parameters_of_every_plain_type_round_trip(path):
    X, _ = blobs(d=3)
    directions = np.eye(3, dtype=np.float32)
    round_trip(
        MinimumDensityHyperplane(init=directions, subsample=None, n_init=2, path=PathSettings(tol=1e-300)).fit(X),
        path,
    )
    round_trip(MinimumDensityHyperplane(init=[[1.0, 0, 0], [0, 1, 1]], path=PathSettings(eta=0.01)).fit(X), path)
    wide = MinimumDensityHyperplane(path=PathSettings()).fit(X)
    wide.set_params(path__tol=float("inf"), path__alpha_min=-0.0, n_init=10**30)
    round_trip(wide, path)


def test_feature_names_round_trip(path):
    pd = pytest.importorskip("pandas")
    X, _ = blobs(d=3)
    frame = pd.DataFrame(X, columns=["a", "</script>", "naïve"])
    again = round_trip(MinimumDensityTree(2, random_state=0).fit(frame), path)
    assert again.predict(frame).tolist() == again.labels_.tolist()


@pytest.mark.parametrize("n_clusters", ["auto", 1, 2, 5])
def test_tree_round_trips_and_can_be_edited(path, n_clusters):
    X, _ = blobs()
    mdt = MinimumDensityTree(n_clusters, random_state=0).fit(X)
    again = round_trip(mdt, path)
    assert_same(mdt.predict(X), again.predict(X))
    assert repr(mdt.tree_) == repr(again.tree_)
    if mdt.n_clusters_ < 3:
        return
    leaf, other = sorted(mdt.tree_.leaves(), key=lambda k: -mdt.tree_.size[k])[:2]
    for edit in (
        lambda t: t.merge(leaf, other),
        lambda t: t.prune(int(t.tree_.parent[leaf])),
        lambda t: t.split(leaf, X, min_cluster_size=1, hyperplane=MinimumDensityHyperplane(0.1)),
    ):
        edited = edit(mdt)
        assert_same(edited.tree_, edit(again).tree_)
        assert_same(edited.labels_, edit(again).labels_)
        save(edited, path)
        assert_same(edited.tree_, load(path).tree_)
        assert_same(edited.labels_, load(path).labels_)
        assert not hasattr(load(path), "n_shown_")
    assert_same(mdt.cut(2), again.cut(2))


def test_numbers_of_clusters_round_trip(path):
    X, _ = simulate_pairs()
    mdt = MinimumDensityTree(random_state=0).fit(X)
    again = round_trip(mdt, path)
    assert (again.n_shown_, again.n_clusters_) == (N_SHOWN, N_SUGGESTED)
    assert again.pvalue_ == mdt.pvalue_
    assert_same(mdt.cut("shown"), again.cut("shown"))
    round_trip(again, path)


def test_number_shown_by_an_earlier_fit_is_not_saved(path):
    X, _ = simulate_pairs()
    mdt = MinimumDensityTree(random_state=0).fit(X)
    save(mdt.set_params(n_clusters=3).fit(X), path)
    assert not hasattr(load(path), "n_shown_")


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_clusters": 3, "min_cluster_size": 0.1},
        {"n_clusters": "shown", "alpha": 0.01},
    ],
)
def test_parameters_of_splits_and_tests_round_trip(path, parameters):
    again = round_trip(MinimumDensityTree(**parameters, random_state=0).fit(blobs()[0]), path)
    assert {name: getattr(again, name) for name in parameters} == parameters
    mdh = MinimumDensityHyperplane(init="axes", random_state=0, test="exact").fit(blobs()[0])
    assert round_trip(mdh, path).valley_test_.method == "exact"


LABELS = {
    "int": np.array([3, 7, 11]),
    "int8": np.array([3, 7, 11], dtype=np.int8),
    "uint16": np.array([3, 7, 60000], dtype=np.uint16),
    "float": np.array([0.0, 1.0, 5.0]),
    "str": np.array(["ä", "bb", "c"]),
    "object": np.array(["a", "\ud800", "</b>"], dtype=object),
    "bool": np.array([False, True, True]),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_classifier_with_classes_of_any_type_round_trips(path, kind, voting):
    X, y = blobs(n=40)
    labels = LABELS[kind][y]
    if kind == "object":
        labels[5:] = [None if k % 3 else label for k, label in enumerate(labels[5:])]
    mdc = MinimumDensityClassifier(
        voting=voting, hyperplane=MinimumDensityHyperplane(path=PathSettings(n_alpha=3, max_iter=4))
    ).fit(X, labels)
    again = round_trip(mdc, path)
    assert_same(mdc.predict(X), again.predict(X))
    assert_same(mdc.predict_proba(X), again.predict_proba(X))
    assert_same(mdc.decision_function(X), again.decision_function(X))


def test_evidence_of_a_classifier_round_trips(path):
    X, y = blobs(n=40)
    mdc = MinimumDensityClassifier().fit(X, y)
    again = round_trip(mdc, path)
    assert_same(mdc.label_evidence_, again.label_evidence_)
    assert_same(mdc.density_evidence_, again.density_evidence_)
    assert not hasattr(round_trip(MinimumDensityClassifier(method="paper").fit(X, y), path), "density_evidence_")


def test_same_model_gives_same_bytes(tmp_path):
    mdt = MinimumDensityTree(3, random_state=0).fit(blobs()[0])
    save(mdt, tmp_path / "a")
    save(mdt, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def make_table():
    X, _ = blobs(d=2)
    kinds = np.array(["a", "b", "a", None] * 67 + ["c", "d"], dtype=object)
    return {"width": np.where(np.arange(270) % 9 == 0, np.nan, X[:, 1]), "kind": kinds, "length": X[:, 0]}


@pytest.mark.parametrize("scale", ["standard", "robust", "none"])
@pytest.mark.parametrize("encode", ["famd", "one-hot"])
def test_model_of_a_table_round_trips(path, encode, scale):
    table = make_table()
    scaler = MixedScaler(encode=encode, scale=scale, missing="median")
    model = TableModel(MinimumDensityTree(2).fit(scaler.fit_transform(table)), scaler, "y")
    save(model, path)
    again = load(path)
    assert_same(model.preparation, again.preparation)
    assert again.label_column == "y"
    assert_same(model.predict(table), again.predict(table))
    assert_same(model.predict(table), again.estimator.labels_)
    with pytest.raises(ValueError, match="'kind'"):
        again.predict({name: table[name] for name in ("width", "length")})
    with pytest.raises(ValueError, match=r"'kind'.*'e'"):
        again.predict({**table, "kind": np.array(["e"] * 270)})


def test_model_that_fills_cells_several_times_round_trips(path):
    table = make_table()
    scaler = MixedScaler(missing="keep")
    X = scaler.fit_transform(table)
    imputer = MultipleImputer(3, random_state=0).fit(X)
    model = TableModel(MinimumDensityTree(2).fit(imputer.transform(X)), scaler, None, imputer)
    save(model, path)
    again = load(path)
    assert_same(imputer.impute(X), again.imputer.impute(X))
    assert_same(model.predict(table), again.predict(table))
    assert_same(model.transform(table), again.transform(table))


def test_file_names_the_versions_that_wrote_it(path):
    import ravine

    save(MinimumDensityHyperplane().fit(blobs()[0]), path)
    info = inspect(path)
    assert info.schema == 6
    assert info.versions["ravine"] == ravine.__version__
    assert info.versions["numpy"] == np.__version__


# ----------------------------------------------------------------------------------------------- rejected models


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"random_state": np.random.default_rng(0)}, "random_state.*Generator"),
        ({"random_state": np.random.RandomState(0)}, "random_state.*RandomState"),
        ({"callback": print}, "callback"),
        ({"bandwidth": lambda n, s: s}, "bandwidth"),
    ],
)
def test_parameters_that_cannot_be_saved_are_named(path, parameters, named):
    mdh = MinimumDensityHyperplane(n_init=1, **parameters)
    mdh.set_params(callback=(lambda step: None) if "callback" in parameters else None).fit(blobs()[0])
    with pytest.raises(TypeError, match=named):
        save(mdh, path)
    assert not path.exists()


def test_tree_with_a_custom_splitter_cannot_be_saved(path):
    mdt = MinimumDensityTree(2).fit(blobs()[0])
    with pytest.raises(TypeError, match="hyperplane"):
        save(mdt.set_params(hyperplane=object()), path)


def test_other_objects_and_unfitted_models_are_not_saved(path):
    class Own(MinimumDensityTree):
        pass

    with pytest.raises(TypeError, match="Own"):
        save(Own(2).fit(blobs()[0]), path)
    with pytest.raises(TypeError, match="dict"):
        save({}, path)
    with pytest.raises(NotFittedError):
        save(MinimumDensityTree(), path)
    assert not path.exists()


def test_failed_save_leaves_only_the_old_file(path, monkeypatch):
    mdt = MinimumDensityTree(2).fit(blobs()[0])
    save(mdt, path)
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match="No space"):
        save(mdt, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_file_that_cannot_be_read_back_replaces_nothing(path, monkeypatch):
    mdt = MinimumDensityTree(2).fit(blobs()[0])
    save(mdt, path)
    before = path.read_bytes()
    monkeypatch.setattr("ravine.models.files._write_archive", lambda path, *args: path.write_bytes(before[:-9]))
    with pytest.raises(ModelFileError, match="damaged"):
        save(mdt, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_missing_file_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.ravine")
    assert issubclass(ModelFileError, ValueError)

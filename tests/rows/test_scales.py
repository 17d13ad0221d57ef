"""One warning names the features that others hide, and only where standardising would help."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, RowBlocks, ScaleWarning
from ravine.rows import as_rows
from ravine.rows.scales import describe_hidden_features

pytestmark = pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)) * [1.0, 500.0, 2.0, 100.0] + [5.0, 4000.0, 0.0, -3.0]
FRAME = pd.DataFrame(X, columns=["depth", "mass", "length", "flipper"])
Y = np.where(np.arange(200) < 40, np.arange(200) % 2, -1)
ESTIMATORS = (MinimumDensityTree(2), MinimumDensityTree(), MinimumDensityHyperplane(), MinimumDensityClassifier())


def fit(estimator, rows):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.set_params(random_state=0).fit(rows, Y)
    return [warning for warning in caught if warning.category is ScaleWarning]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_one_warning_names_the_features(estimator):
    for rows, names in ((FRAME, ["'mass'", "'depth'", "'length'"]), (X, ["feature 1", "feature 0", "feature 2"])):
        (warning,) = fit(estimator, rows)
        assert all(name in str(warning.message) for name in names)
        assert warning.filename == __file__
    assert "'flipper'" not in str(warning.message)


@pytest.mark.parametrize("make", [sp.csr_array, lambda x: RowBlocks([x[:90], x[90:]]), np.float32, np.asfortranarray])
def test_all_kinds_of_rows_warn(make):
    assert len(fit(MinimumDensityTree(2), make(X))) == 1


def test_blocks_are_not_read_once_more(small_chunks):
    long = np.tile(X, (20, 1))
    one, two = RowBlocks(long), RowBlocks(StandardScaler().fit_transform(long))
    assert len(describe_hidden_features(one)) > 0
    assert one.passes < 0.5
    assert describe_hidden_features(two) == ""


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()], ids=str)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scaled_features_give_no_warning(scaler, estimator):
    rows = np.column_stack([X, RNG.standard_cauchy(200), RNG.exponential(size=200) ** 3])
    assert fit(estimator, rows) != []
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        make_pipeline(scaler, estimator).fit(rows, Y)


@pytest.mark.parametrize(
    "rows",
    [
        np.column_stack([X[:, 1], np.ones(200), RNG.random(200) < 0.01, np.where(RNG.random(200) < 0.5, 0.0, 1e-3)]),
        X[:, :1],
        X[:15],
        sp.random_array((200, 50), density=0.02, rng=RNG, format="csr") @ sp.diags_array(np.geomspace(1, 1e4, 50)),
        np.full((200, 3), 7.0),
        np.column_stack([1e300 * X[:, 0], 2e300 * X[:, 2]]),
        np.column_stack([10.0 * X[:, 0], np.where(RNG.random(200) < 0.1, 0.1 * X[:, 1], 0.0)]),
    ],
    ids=["constant and indicators", "one feature", "few rows", "rare terms", "equal rows", "huge", "rarely not zero"],
)
def test_noise_is_not_reported(rows):
    assert describe_hidden_features(as_rows(rows)) == ""


def test_only_ratios_above_thirty_are_reported():
    for ratio, is_reported in ((20.0, False), (45.0, True)):
        rows = as_rows(StandardScaler().fit_transform(X) * [1.0, ratio, 1.0, 1.0])
        assert (describe_hidden_features(rows) != "") is is_reported

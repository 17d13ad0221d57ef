"""Estimators of the paper need an array."""

import pytest

from ravine import RowBlocks
from ravine_paper import MaximumMarginHyperplane, bandwidth_path, baselines


@pytest.mark.parametrize(
    "fit",
    [
        baselines.PDDP().fit,
        baselines.SelfTuningSpectral().fit,
        lambda X: baselines.XNV().fit(X, [0, 1] * (X.shape[0] // 2)),
        MaximumMarginHyperplane().fit,
        bandwidth_path,
    ],
)
def test_estimators_that_need_an_array_say_so(rng, fit):
    with pytest.raises(TypeError, match="RowBlocks"):
        fit(RowBlocks([rng.standard_normal((10, 3)), rng.standard_normal((10, 3))]))

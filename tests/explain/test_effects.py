"""Effect sizes are those of the definition, whatever the units, the offsets and the type of the data."""

import numpy as np
import pytest

from ravine.explain import GroupMoments, compare_with_rest
from support.effects import compute_effects


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e155, 1e299])
def test_effects_do_not_depend_on_offset_and_scale(rng, offset, scale):
    X = scale * (rng.standard_normal((200, 3)) + np.arange(3))
    codes = rng.integers(0, 3, 200)
    X[codes == 1] += 3.0 * scale
    got = compare_with_rest(GroupMoments.of(X + offset * scale, codes, 3))
    for k in range(3):
        np.testing.assert_allclose(got.effect[k], compute_effects(X, codes == k), rtol=1e-6, atol=1e-7)


def test_effects_of_unions_are_those_of_their_rows(rng):
    X, codes = rng.standard_normal((150, 4)), rng.integers(0, 6, 150)
    members = rng.random((8, 6)) < 0.5
    members[:, 0], members[:, 1] = True, False
    got = compare_with_rest(GroupMoments.of(X, codes, 6), members)
    for which, effect in zip(members, got.effect, strict=True):
        np.testing.assert_allclose(effect, compute_effects(X, which[codes]), rtol=1e-10, atol=1e-12)


def test_effects_of_constant_features_are_zero_or_infinite(rng):
    codes = np.repeat([0, 1], [30, 70])
    X = np.column_stack([np.full(100, 1e8 + 0.1), np.where(codes == 0, 0.1, 0.3), rng.standard_normal(100)])
    got = compare_with_rest(GroupMoments.of(X, codes, 2))
    assert got.effect[0, 0] == 0.0
    assert got.effect[0, 1] == -np.inf
    assert got.effect[1, 1] == np.inf
    assert np.isfinite(got.effect[:, 2]).all()
    assert got.rank_features(0, 5) == [1, 2]
    assert got.rank_features(0, 1) == [1]


def test_rounding_of_unions_is_not_a_spread():
    codes = np.repeat(np.arange(5), [85, 65, 53, 30, 34])
    X = np.where(codes == 2, 1.0, 0.0)[:, None]
    X = (X - X.mean()) / X.std()
    assert compare_with_rest(GroupMoments.of(X, codes, 5)).effect[2, 0] == np.inf


def test_float32_is_summed_in_double_precision(rng):
    X = (rng.standard_normal((5000, 2)) + 1e4).astype(np.float32)
    codes = rng.integers(0, 2, 5000)
    got = compare_with_rest(GroupMoments.of(X, codes, 2)).effect[0]
    np.testing.assert_allclose(got, compute_effects(X.astype(float), codes == 0), rtol=1e-6, atol=1e-8)


def test_a_single_group_has_no_effects(rng):
    got = compare_with_rest(GroupMoments.of(rng.standard_normal((9, 2)), np.zeros(9, dtype=int), 1))
    assert np.isnan(got.effect).all()
    assert got.rank_features(0, 3) == []

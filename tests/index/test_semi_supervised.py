"""The semi-supervised index and its derivatives."""

import contextlib
import dataclasses
import math

import numpy as np
import pytest

from ravine.density import BalancePenalty
from ravine.index import CompiledSemiSupervisedIndex, LabelledRows, LabelPenalty, SemiSupervisedIndex
from ravine.rows import DenseSample
from ravine.search import drive
from support import reference as ref
from support.index_answers import Asked as AskedWithoutLabels
from support.index_answers import clusters, slope_tolerance, step_size
from support.marks import slow


class Asked:
    """An index whose questions are answered at once, in the units of X."""

    def __init__(self, X, h, alpha, labels, w=None, penalty=None, index_type=SemiSupervisedIndex):
        self.sample = DenseSample(X, w)
        origin, unit = self.sample.origin, self.sample.unit
        self.index = index_type(
            self.sample, self.sample.moments(), h / unit, penalty or BalancePenalty(), alpha,
            labelled=LabelledRows((labels.x - origin) / unit, labels.y, ref.weights_of(labels.y, labels.w)),
            label_penalty=LabelPenalty(labels.form, labels.margin), reference=labels.h0 / unit, gamma=labels.gamma,
        )  # fmt: skip

    def __call__(self, method, *arguments):
        return drive(self.sample, [getattr(self.index, method)(*arguments)])[0]

    def b(self, v):
        """The minimiser in the units of X."""
        return self.index.minima.b * self.sample.unit + self.sample.origin @ v


# ------------------------------------------------------------------------------------------------- cases


def by_cluster(rng, X, count=10):
    x = X[np.round(np.linspace(0, len(X) - 1, count)).astype(int)]
    return x, np.where(np.arange(count) < count / 2, -1.0, 1.0)


def with_mistakes(rng, X):
    x, y = by_cluster(rng, X)
    return x, y * np.where(np.arange(10) % 4 == 0, -1.0, 1.0)


def inverted(rng, X):
    x, y = by_cluster(rng, X)
    return x, -y


def all_rows(rng, X):
    return by_cluster(rng, X, len(X))


def one_each(rng, X):
    return by_cluster(rng, X, 2)


def in_the_tail(rng, X):
    x = X[np.argsort(X[:, 0])[-20:]]
    return x, np.where(np.arange(20) < 10, -1.0, 1.0)


def at(negative, positive):
    """One label of each class, so far from the middle along the first axis and anywhere along the others."""

    def place(rng, X):
        x = X.mean(axis=0) + rng.standard_normal((2, X.shape[1]))
        x[:, 0] = X[:, 0].mean() + np.array([negative, positive])
        return x, np.array([-1.0, 1.0])

    return place


SHALLOW = {"h": 0.8, "alpha": 0.9, "data": {"distance": 2.0}}
AT_THE_END = {"h": 0.6, "alpha": 0.1, "data": {"distance": 1.5, "share": 0.25}}
DEEP = {"h": 0.5, "alpha": 0.5, "data": {"distance": 6.0}}
DEEP_AT_THE_END = {"h": 0.3, "alpha": 0.05, "data": {"distance": 6.0, "share": 0.2}}
VERY_DEEP = {"h": 0.15, "alpha": 0.6, "data": {"distance": 10.0}}
VERY_DEEP_AT_THE_END = {"h": 0.15, "alpha": 0.05, "data": {"distance": 10.0, "share": 0.3}}
TOO_MANY_BINS = {"h": 2e-4, "alpha": 0.9, "data": {"distance": 5.0, "n": 40}}
HARD = {"margin": 0.0}

CASES = {
    "shallow, satisfied": SHALLOW | {"labels": by_cluster, "gamma": 0.1},
    "shallow, mistakes": SHALLOW | {"labels": with_mistakes, "gamma": 0.1},
    "shallow, mistakes, sum": SHALLOW | {"labels": with_mistakes, "gamma": 0.01, "form": "sum", "margin": 0.0},
    "shallow, inverted": SHALLOW | {"labels": inverted, "gamma": 1.0},
    "shallow, weak": SHALLOW | {"labels": inverted, "gamma": 1e-6},
    "shallow, strong": SHALLOW | {"labels": with_mistakes, "gamma": 1e6},
    "shallow, every row": SHALLOW | {"labels": all_rows, "gamma": 0.3},
    "shallow, one each": SHALLOW | {"labels": one_each, "gamma": 1.0},
    "shallow, epsilon of a half": SHALLOW | {"labels": with_mistakes, "gamma": 0.3, "epsilon": 0.5},
    "shallow, epsilon of one": SHALLOW | {"labels": with_mistakes, "gamma": 0.3, "epsilon": 1.0},
    "shallow, wide margin": SHALLOW | {"labels": by_cluster, "gamma": 0.3, "margin": 3.0, "h0": 0.5},
    "at the end, mistakes": AT_THE_END | {"labels": with_mistakes, "gamma": 1e-3},
    "at the end, satisfied": AT_THE_END | {"labels": by_cluster, "gamma": 1e-2, **HARD},
    "outside, strong": AT_THE_END | {"labels": in_the_tail, "gamma": 1e3},
    "outside, far": DEEP | {"labels": at(14.0, 15.0), "gamma": 1e3},
    "outside, weak": AT_THE_END | {"labels": in_the_tail, "gamma": 10.0},
    "deep, satisfied": DEEP | {"labels": by_cluster, "gamma": 1.0},
    "deep, held": DEEP | {"labels": at(-6.0, -1.0), "gamma": 1.0},
    "deep, held by the margin": DEEP | {"labels": at(1.0, 6.0), "gamma": 1.0, "margin": 1.0, "h0": 0.7},
    "deep, violated": DEEP | {"labels": at(0.5, -0.5), "gamma": 1e-3, **HARD},
    "deep, barely violated": DEEP | {"labels": at(5e-4, 0.0), "gamma": 1.0, **HARD},
    "deep, at the end, satisfied": DEEP_AT_THE_END | {"labels": by_cluster, "gamma": 1.0},
    "deep, at the end, held": DEEP_AT_THE_END | {"labels": at(-5.0, -0.2), "gamma": 1.0, **HARD},
    "very deep, satisfied": VERY_DEEP | {"labels": by_cluster, "gamma": 1.0},
    "very deep, held": VERY_DEEP | {"labels": at(-9.0, -1.0), "gamma": 1.0},
    "very deep, held, weak": VERY_DEEP | {"labels": at(1.0, 9.0), "gamma": 1e-6, **HARD},
    "very deep, held, strong": VERY_DEEP | {"labels": at(1.0, 9.0), "gamma": 1e6, **HARD},
    "very deep, held, epsilon of a half": VERY_DEEP | {"labels": at(1.0, 9.0), "gamma": 1.0, "epsilon": 0.5},
    "very deep, barely violated": VERY_DEEP | {"labels": at(1e-4, 0.0), "gamma": 1.0, **HARD},
    "very deep, violated": VERY_DEEP | {"labels": at(1.0, -1.0), "gamma": 1e-3},
    "very deep, at the end, satisfied": VERY_DEEP_AT_THE_END | {"labels": by_cluster, "gamma": 1.0},
    "very deep, a label against the end": VERY_DEEP_AT_THE_END | {"labels": at(-9.0, -2.0), "gamma": 1e-9, **HARD},
    "very deep, a weak label against the end": VERY_DEEP_AT_THE_END | {"labels": at(2.0, 9.0), "gamma": 1e-14, **HARD},
    "too many bins, satisfied": TOO_MANY_BINS | {"labels": by_cluster, "gamma": 1.0},
    "too many bins, held": TOO_MANY_BINS | {"labels": at(1.0, 4.0), "gamma": 1.0, **HARD},
    "too many bins, mistakes": TOO_MANY_BINS | {"labels": with_mistakes, "gamma": 1e-6},
}
OUTSIDE = [name for name in CASES if name.startswith("outside")]
SMOOTH = [name for name in CASES if "deep" not in name and "too many" not in name]
each_case = pytest.mark.parametrize("name", CASES)
weighted_or_not = pytest.mark.parametrize("weighted", [False, True])


def case(name, weighted, rng):
    """X, v (near the first axis), h, alpha, labels, weights, penalty."""
    given = CASES[name]
    X, h = clusters(rng, **given["data"]), given["h"]
    w = rng.integers(0, 3, len(X)) + 0.5 * (rng.random(len(X)) < 0.5) if weighted else None
    v = ref.unit(np.array([1.0, 0.0, 0.0]) + 0.02 * rng.standard_normal(3))
    x, y = given["labels"](rng, X)
    labels = ref.Labels(
        x, y, given["gamma"], rng.uniform(0.5, 2.0, len(y)) if weighted else None,
        given.get("form", "mean"), given.get("margin", 1.0), given.get("h0", h),
    )  # fmt: skip
    return X, v, h, given["alpha"], labels, w, BalancePenalty(epsilon=given.get("epsilon", ref.EPSILON))


def twin(X, v, h, alpha, labels, w, penalty):
    few = {"per_bandwidth": min(16.0, 500.0 * h), "rounds": 8 if h > 0.01 else 14}
    return ref.log_index_ssc(X, v, h, alpha, labels, w, epsilon=penalty.epsilon, **few)


def value_tolerance(value):
    """Bins are exact to 3.5e-10 of the peak, below 1e-6 of it sums are exact; hinges are rounded like projections."""
    return 1e-11 * abs(value) + (3.5e-10 * math.exp(-value) if value > math.log(1e-6) else 2e-9)


def tangential(gradient, v):
    return gradient - (gradient @ v) * v


# ------------------------------------------------------------------------------------------------- value


@weighted_or_not
@each_case
def test_value_is_the_log_of_the_penalised_minimum(name, weighted, rng):
    problem = X, v, h, *_ = case(name, weighted, rng)
    index = Asked(X, h, *problem[3:])
    value, gradient = index("begin", v)
    expected, b = twin(*problem)
    assert value == pytest.approx(expected, rel=0.0, abs=value_tolerance(expected))
    assert index.b(v) == pytest.approx(b, abs=1e-3 * h)
    assert index.index.minima.certified
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", OUTSIDE)
def test_labels_pull_b_far_outside_the_interval(name, rng):
    X, v, h, alpha, *rest = case(name, False, rng)
    index = Asked(X, h, alpha, *rest)
    index("begin", v)
    lo, hi, _ = ref.feasible(X @ v, alpha)
    assert ref.excess(index.b(v), lo, hi) > 0.1 * h
    assert index.index.minima.side == 1


def test_value_never_falls_with_gamma(rng):
    for name in CASES:
        X, v, h, alpha, labels, w, penalty = case(name, False, rng)
        index = Asked(X, h, alpha, labels, w, penalty)
        values = []
        for gamma in 10.0 ** np.arange(-9.0, 10.0):
            index.index.gamma = gamma
            values.append(index("begin", v)[0])
        assert (np.diff(values) >= [-2.0 * value_tolerance(value) for value in values[1:]]).all(), name


@weighted_or_not
@pytest.mark.parametrize(
    "name", ["shallow, mistakes", "deep, satisfied", "very deep, satisfied", "at the end, mistakes"]
)
def test_hardly_any_gamma_is_the_clustering_index(name, weighted, rng):
    X, v, h, alpha, labels, w, penalty = case(name, weighted, rng)
    expected, expected_gradient = AskedWithoutLabels(X, h, alpha, w, penalty)("begin", v)
    for gamma in (0.0, 1e-300, 1e-30):
        value, gradient = Asked(X, h, alpha, dataclasses.replace(labels, gamma=gamma), w, penalty)("begin", v)
        assert value == pytest.approx(expected, abs=value_tolerance(expected))
        np.testing.assert_allclose(gradient, expected_gradient, atol=slope_tolerance(value, gradient))


@pytest.mark.parametrize("base", [AT_THE_END, DEEP_AT_THE_END, VERY_DEEP_AT_THE_END])
def test_violated_labels_of_zero_weight_keep_the_interval(base, rng):
    X, h, alpha = clusters(rng, **base["data"]), base["h"], base["alpha"]
    v = ref.unit([1.0, 0.01, -0.02])
    expected, expected_gradient = AskedWithoutLabels(X, h, alpha)("begin", v)
    x, y = inverted(rng, X)
    value, gradient = Asked(X, h, alpha, ref.Labels(x, y, 0.0, h0=h))("begin", v)
    assert value == pytest.approx(expected, abs=value_tolerance(expected))
    np.testing.assert_allclose(gradient, expected_gradient, atol=slope_tolerance(value, expected_gradient))


# ------------------------------------------------------------------------------------------------- symmetries


@pytest.mark.parametrize("name", ["shallow, mistakes", "outside, strong", "deep, held", "very deep, held"])
def test_other_classes_and_the_opposite_normal_are_the_same(name, rng):
    X, v, h, alpha, labels, w, penalty = case(name, True, rng)
    value, gradient = Asked(X, h, alpha, labels, w, penalty)("begin", v)
    flipped = dataclasses.replace(labels, y=-labels.y)
    mirrored, mirrored_gradient = Asked(X, h, alpha, flipped, w, penalty)("begin", -v)
    assert mirrored == pytest.approx(value, abs=value_tolerance(value))
    np.testing.assert_allclose(mirrored_gradient, -gradient, atol=slope_tolerance(value, gradient))


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e9, 1e150])
@pytest.mark.parametrize("name", ["shallow, mistakes", "outside, strong"])
def test_the_mean_form_does_not_depend_on_scale_and_place(name, scale, rng):
    X, v, h, alpha, labels, w, penalty = case(name, True, rng)
    value, gradient = Asked(X, h, alpha, labels, w, penalty)("begin", v)
    moved = dataclasses.replace(labels, x=scale * (labels.x - 1e3), h0=scale * labels.h0)
    scaled, scaled_gradient = Asked(scale * (X - 1e3), scale * h, alpha, moved, w, penalty)("begin", v)
    assert scaled == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(scaled_gradient, gradient, atol=1e-8 * np.linalg.norm(gradient))


@pytest.mark.parametrize("scale", [1e-6, 0.1, 3.0, 1e9])
@pytest.mark.parametrize("name", ["shallow, mistakes", "shallow, epsilon of a half"])
def test_the_sum_form_scales_as_the_density_if_gamma_does(name, scale, rng):
    X, v, h, alpha, labels, w, penalty = case(name, True, rng)
    labels = dataclasses.replace(labels, form="sum", margin=0.0, gamma=0.01)
    value, gradient = Asked(X, h, alpha, labels, w, penalty)("begin", v)
    gamma = labels.gamma / scale ** (2.0 + penalty.epsilon)
    moved = dataclasses.replace(labels, x=scale * labels.x, h0=scale * labels.h0, gamma=gamma)
    scaled, scaled_gradient = Asked(scale * X, scale * h, alpha, moved, w, penalty)("begin", v)
    assert scaled == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(scaled_gradient, gradient, atol=1e-8 * np.linalg.norm(gradient))


@pytest.mark.parametrize("scale", [1e-150, 1e-110, 1e90, 1e100, 1e110, 1e150])
def test_the_sum_form_survives_extreme_units_or_refuses_them(scale, rng):
    X, v, h, alpha, labels, w, penalty = case("shallow, mistakes, sum", False, rng)
    labels = dataclasses.replace(labels, x=scale * labels.x, h0=scale * labels.h0)
    with contextlib.suppress(ValueError):
        value, gradient = Asked(scale * X, scale * h, alpha, labels, w, penalty)("begin", v)
        assert np.isfinite([value, *gradient]).all()


@pytest.mark.parametrize("name", ["shallow, mistakes", "outside, strong", "deep, held"])
def test_weights_count_as_repetitions(name, rng):
    X, v, h, alpha, labels, _, penalty = case(name, False, rng)
    w, label_w = rng.integers(0, 4, len(X)), rng.integers(1, 4, len(labels.y))
    weighted = dataclasses.replace(labels, w=label_w.astype(float))
    repeated = dataclasses.replace(labels, x=np.repeat(labels.x, label_w, axis=0), y=np.repeat(labels.y, label_w))
    value, gradient = Asked(X, h, alpha, weighted, w.astype(float), penalty)("begin", v)
    again, gradient_again = Asked(np.repeat(X, w, axis=0), h, alpha, repeated, None, penalty)("begin", v)
    assert value == pytest.approx(again, abs=value_tolerance(value))
    np.testing.assert_allclose(gradient, gradient_again, atol=slope_tolerance(value, gradient))


# ------------------------------------------------------------------------------------------------- derivatives


@weighted_or_not
@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_matches_the_chain_rule(name, weighted, rng):
    X, v, h, alpha, labels, w, penalty = case(name, weighted, rng)
    index = Asked(X, h, alpha, labels, w, penalty)
    _, gradient = index("begin", v)
    expected = ref.gradient_ssc(X, v, h, alpha, labels, index.b(v), w, epsilon=penalty.epsilon)
    gradient, expected = tangential(gradient, v), tangential(expected, v)
    np.testing.assert_allclose(gradient, expected, rtol=0.0, atol=3e-6 * np.linalg.norm(expected))


@weighted_or_not
@each_case
def test_gradient_matches_central_differences(name, weighted, rng):
    problem = X, v, h, alpha, labels, w, penalty = case(name, weighted, rng)
    value, gradient = Asked(X, h, alpha, labels, w, penalty)("begin", v)
    gradient = tangential(gradient, v)
    step = step_size(value, np.linalg.norm(gradient))
    u = ref.tangent(rng, v)
    expected = ref.central_difference(lambda s: twin(X, ref.circle(v, u, s), *problem[2:])[0], step)
    assert gradient @ u == pytest.approx(expected, rel=0.0, abs=3.0 * slope_tolerance(value, gradient))


@each_case
@weighted_or_not
def test_compiled_index_has_the_same_value_and_gradient(weighted, name, rng):
    X, v, *problem = case(name, weighted, rng)
    slow, fast = (Asked(X, *problem, index_type=kind) for kind in (SemiSupervisedIndex, CompiledSemiSupervisedIndex))
    (expected, gradient), (value, found) = slow("begin", v), fast("begin", v)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert fast.b(v) == pytest.approx(slow.b(v), abs=1e-6 * problem[0])
    np.testing.assert_allclose(found, gradient, rtol=1e-5, atol=slope_tolerance(value, gradient))


@pytest.mark.parametrize("margin", [0.0, 1.0])
@pytest.mark.parametrize("epsilon", [1.0, 1.0 - 1e-6])
def test_gradient_matches_differences_with_a_label_at_its_hinge(epsilon, margin, rng):
    X, v, h, alpha, labels, w, penalty = case("shallow, mistakes", False, rng)
    penalty, labels = BalancePenalty(epsilon=epsilon), dataclasses.replace(labels, margin=margin)
    for _ in range(20):  # moving the label changes b only while it is violated
        index = Asked(X, h, alpha, labels, w, penalty)
        _, gradient = index("begin", v)
        labels.x[3] += (index.b(v) + labels.y[3] * margin * labels.h0 - labels.x[3] @ v) * v
    assert abs(labels.violation(labels.x @ v, index.b(v))[0, 3]) < 1e-9 * h
    for _ in range(3):
        u = ref.tangent(rng, v)
        ahead, behind = (Asked(X, h, alpha, labels, w, penalty)("begin", ref.circle(v, u, s))[0] for s in (1e-5, -1e-5))
        assert gradient @ u == pytest.approx((ahead - behind) / 2e-5, abs=2e-4 * np.linalg.norm(gradient))


@weighted_or_not
@each_case
def test_slope_along_a_circle_is_the_gradients_projection(name, weighted, rng):
    X, v, h, alpha, labels, w, penalty = case(name, weighted, rng)
    index = Asked(X, h, alpha, labels, w, penalty)
    index("begin", v)
    for t in (0.0, 0.01, -0.3):
        u = ref.tangent(rng, v)
        index("set_tangent", u)
        index("evaluate", 2.0 * t + 0.1)
        value = index("evaluate", t)
        slope = index("differentiate", t)
        there, direction = ref.circle(v, u, t), ref.circle(u, -v, t)
        gradient = index("accept", t, there)
        assert np.isfinite([value, slope, *gradient]).all()
        assert slope == pytest.approx(gradient @ direction, abs=1e-9 * np.linalg.norm(gradient))
        again, gradient_again = Asked(X, h, alpha, labels, w, penalty)("begin", there)
        assert again == pytest.approx(value, rel=0.0, abs=value_tolerance(value))
        np.testing.assert_allclose(gradient_again, gradient, atol=3.0 * slope_tolerance(value, gradient))
        v = there


@pytest.mark.parametrize("base", [DEEP, VERY_DEEP])
@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-13, 0.0, -1e-13, -1e-9, -1e-6])
def test_values_are_finite_and_fall_with_the_gap_of_close_labels(gap, base, rng):
    X, h, v = clusters(rng, **base["data"]), base["h"], np.array([1.0, 0.0, 0.0])
    x, y = at(-gap * h, 0.0)(rng, X)
    free, _ = Asked(X, h, base["alpha"], ref.Labels(x, y, 0.0, margin=0.0, h0=h))("begin", v)
    value, gradient = Asked(X, h, base["alpha"], ref.Labels(x, y, 1.0, margin=0.0, h0=h))("begin", v)
    walls, _ = ref.log_index_ssc(X, v, h, base["alpha"], ref.Labels(x, y, 1.0, margin=0.0, h0=h))
    assert np.isfinite([value, *gradient]).all()
    assert value >= free - 1e-9
    if abs(gap) > 1e-10:
        assert value == pytest.approx(walls, abs=1e-14 / abs(gap) * 100.0 + 1e-8)


# ------------------------------------------------------------------------------------------------- random problems


def anywhere(rng, X):
    near = X[rng.permutation(len(X))[:8]]
    return near + rng.choice([0.01, 1.0]) * X.std() * rng.standard_normal(near.shape), rng.choice([-1.0, 1.0], 8)


def random_problem(rng):
    d = int(rng.integers(2, 6))
    X = 10.0 ** rng.integers(-3, 4) * clusters(
        rng, int(rng.integers(30, 150)), d, rng.choice([0.0, 1.0, 3.0, 6.0, 12.0]), rng.choice([0.1, 1.0]),
        rng.uniform(0.1, 0.9),
    )  # fmt: skip
    h = X.std(axis=0).max() * 10.0 ** rng.uniform(-2.5, 0.0)
    kinds = [by_cluster, with_mistakes, inverted, all_rows, one_each, in_the_tail, anywhere]
    x, y = kinds[rng.integers(len(kinds))](rng, X)
    labels = ref.Labels(
        x, y, 10.0 ** rng.uniform(-6.0, 6.0), rng.uniform(0.1, 2.0, len(y)) if rng.random() < 0.5 else None,
        rng.choice(["mean", "sum"]), rng.choice([0.0, 0.5, 1.0, 3.0]), h * rng.choice([0.3, 1.0, 3.0]),
    )  # fmt: skip
    v = ref.unit(rng.choice([0.05, 10.0]) * rng.standard_normal(d) + np.eye(d)[0])
    w = rng.uniform(0.1, 2.0, len(X)) if rng.random() < 0.5 else None
    penalty = BalancePenalty(epsilon=rng.choice([1.0, 1.0 - 1e-6, 0.5]))
    return X, v, h, 10.0 ** rng.uniform(-2.0, 0.3), labels, w, penalty


@pytest.mark.parametrize("seed", [0, 1, *slow(2, 3, 4, 5)])
def test_value_and_gradient_of_random_problems_are_right(seed):
    rng = np.random.default_rng(seed)
    for i in range(50):
        X, v, h, alpha, labels, w, penalty = random_problem(rng)
        index = Asked(X, h, alpha, labels, w, penalty)
        value, gradient = index("begin", v)
        assert np.isfinite([value, *gradient]).all()
        assert index.index.minima.certified
        few = {"per_bandwidth": 8, "rounds": 10, "most": 6000}
        expected, _ = ref.log_index_ssc(X, v, h, alpha, labels, w, epsilon=penalty.epsilon, **few)
        assert value == pytest.approx(expected, rel=0.0, abs=2.0 * value_tolerance(value)), (seed, i)
        if len(index.index.minima.ties) > 1:
            continue
        gradient, u = tangential(gradient, v), ref.tangent(rng, v)
        length = np.linalg.norm(gradient) + 1e-9
        errors = []
        for step in np.array([1e-3, 1e-4, 1e-5]) / (1.0 + length):  # small enough for the kinks, or else for rounding
            slope = ref.central_difference(lambda t, at=index, v=v, u=u: at("begin", ref.circle(v, u, t))[0], step)
            errors.append(abs(gradient @ u - slope) - 0.02 * value_tolerance(value) / step)
        assert min(errors) < 1e-4 * length, (seed, i)


# ------------------------------------------------------------------------------------------------- alpha and gamma


@each_case
def test_adjusted_is_where_it_would_begin(name, rng):
    X, v, h, alpha, labels, w, penalty = case(name, False, rng)
    index = Asked(X, h, alpha, labels, w, penalty)
    _, gradient = index("begin", v)
    for factor, times in ((1.0, 1.0), (1.5, 1.0), (1.0, 10.0), (0.7, 1e-3)):
        before, gradient_before = index.index.minima, gradient
        unchanged = index("adjust", factor * alpha, times * labels.gamma)
        fresh = Asked(X, h, factor * alpha, dataclasses.replace(labels, gamma=times * labels.gamma), w, penalty)
        value, gradient = fresh("begin", v)
        assert index.index.minima.log_index == pytest.approx(value, rel=1e-13, abs=1e-12)
        if unchanged:
            assert value == pytest.approx(before.log_index, abs=value_tolerance(value))
            np.testing.assert_allclose(gradient, gradient_before, atol=slope_tolerance(value, gradient))


def test_adjusting_tells_what_changes(rng):
    X, v, h, alpha, labels, w, penalty = case("deep, satisfied", False, rng)
    index = Asked(X, h, alpha, labels, w, penalty)
    index("begin", v)
    assert index("adjust", 1.2 * alpha, 3.0 * labels.gamma)
    X, v, h, alpha, labels, w, penalty = case("shallow, mistakes", False, rng)
    index = Asked(X, h, alpha, labels, w, penalty)
    index("begin", v)
    assert index("adjust", 1.2 * alpha, labels.gamma)
    assert not index("adjust", 1.2 * alpha, 3.0 * labels.gamma)
    assert not index("adjust", 0.01, 3.0 * labels.gamma)


# ------------------------------------------------------------------------------------------------- edges


def test_a_direction_without_variance_gives_finite_numbers(rng):
    X = clusters(rng)
    X[:, 2] = 1.0
    x, y = by_cluster(rng, X)
    value, gradient = Asked(X, 0.5, 0.9, ref.Labels(x, y, 1.0, h0=0.5))("begin", np.array([0.0, 0.0, 1.0]))
    assert np.isfinite([value, *gradient]).all()


@pytest.mark.parametrize("gamma", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("epsilon", [1.0, 1.0 - 1e-6, 0.5])
def test_a_thousand_labels_need_few_evaluations_of_the_density(epsilon, gamma, rng):
    penalty = BalancePenalty(epsilon=epsilon)
    for distance in (0.0, 3.0, 30.0):
        X = clusters(rng, n=1000, distance=distance)
        for labels in (by_cluster(rng, X, 1000), (X, rng.choice([-1.0, 1.0], 1000))):
            for h in (1.0, 0.03, 1e-3, 1e-5):
                index = Asked(X, h, 0.9, ref.Labels(*labels, gamma, h0=h), None, penalty)
                value, gradient = index("begin", ref.unit([1.0, 0.1, 0.0]))
                assert index.index.minima.n_evaluations < 2000
                assert np.isfinite([value, *gradient]).all()
                assert index.index.minima.certified

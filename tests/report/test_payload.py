"""The numbers in the report are those of slow and obvious computations."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from ravine import (
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    PathSettings,
    ProjectedDensity,
)
from ravine._plurals import format_pvalue
from ravine.explain import find_suggestion
from ravine.report.findings import collect_findings
from ravine.report.narrative import write_story
from ravine.report.payload import sample_rows
from support.effects import compute_effects
from support.report_files import report
from support.thin_evidence import N_SHOWN, N_SUGGESTED, simulate_pairs

QUICK = {"init": "pca", "n_init": 2, "random_state": 0, "path": PathSettings(n_alpha=6)}

QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}
CENTRES = np.array([[0, 0, 0, 1], [9, 0, 0, 1], [0, 9, 0, 1], [0, 9, 9, 1], [-9, -9, 0, 1]], dtype=float)


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(7)
    sizes = (60, 50, 40, 30, 20)
    X = np.concatenate([rng.standard_normal((n, 4)) + c for n, c in zip(sizes, CENTRES, strict=True)])
    return X, np.repeat(np.arange(5), sizes)


@pytest.fixture(scope="module")
def mdt(blobs):
    return MinimumDensityTree(5, **QUICK_TREE).fit(blobs[0])


@pytest.fixture(scope="module")
def page(blobs, mdt, tmp_path_factory):
    X, y = blobs
    return report(tmp_path_factory.mktemp("report"), mdt, X, labels_true=y, feature_names=list("abcd"))[1].data


def test_story_counts_clusters_and_splits(blobs, mdt):
    X, _ = blobs
    assert re.search("5 clusters.* 4 splits", write_story(collect_findings(mdt, X, None), "x")[0])
    two = MinimumDensityTree(2, **QUICK_TREE).fit(X)
    assert re.search("2 clusters.* 1 split", write_story(collect_findings(two, X, None), "x")[0])


# ------------------------------------------------------------------------------------------------- suggestion


@pytest.fixture(scope="module")
def pairs():
    X, _ = simulate_pairs()
    return X, MinimumDensityTree(random_state=0).fit(X)


def test_page_starts_with_the_clusters_of_the_tree(pairs, tmp_path):
    X, mdt = pairs
    text, page = report(tmp_path, mdt, X, source="pairs")
    data = page.data
    assert [len(cut["groups"]) for cut in data["cuts"]] == [1, 2, 3]
    assert len(data["cuts"][data["firstCut"]]["groups"]) == mdt.n_clusters_ == N_SUGGESTED
    assert data["nShown"] == mdt.n_shown_ == N_SHOWN
    for k, cut in enumerate(data["cuts"], start=1):
        assert [data["groups"][g]["size"] for g in cut["groups"]] == np.bincount(mdt.cut(k)).tolist()
    assert page.text.count(str(find_suggestion(mdt))) == 3  # in the title, above the story and in it
    assert f"cluster {N_SUGGESTED - 1}</th>" in text  # without scripts, too


@pytest.mark.parametrize("n_clusters", ["auto", "shown"])
def test_edited_trees_have_no_suggestion(pairs, n_clusters):
    X, _ = pairs
    mdt = MinimumDensityTree(n_clusters, random_state=0).fit(X)
    leaf, other = mdt.tree_.leaves()[:2]
    last = int(np.argmax(mdt.tree_.order))
    for edited in (
        mdt.merge(leaf, other),
        mdt.prune(last),
        mdt.split(leaf, X, min_cluster_size=1, hyperplane=MinimumDensityHyperplane(0.1)),
    ):
        assert find_suggestion(edited) is None
        found = collect_findings(edited, X, None)
        assert found.tree is edited.tree_
        assert found.n_groups == edited.n_clusters_


def test_only_trees_of_an_unknown_number_have_a_suggestion(pairs, blobs):
    X, mdt = pairs
    assert [int(n) for n in re.findall(r"\d+", str(find_suggestion(mdt)))] == [N_SHOWN, N_SUGGESTED]
    again = clone(mdt).fit(X).set_params(n_clusters=3).fit(X)
    assert find_suggestion(again) is None
    assert find_suggestion(MinimumDensityTree(3, **QUICK_TREE).fit(X)) is None
    assert find_suggestion(MinimumDensityHyperplane(**QUICK).fit(X)) is None
    none = find_suggestion(MinimumDensityTree(random_state=0).fit(X[:15]))
    assert (none.n_shown, none.n_suggested) == (1, 1)


def test_without_more_clusters_nothing_is_marked(tmp_path):
    X = np.random.default_rng(0).standard_normal((15, 2))
    _, page = report(tmp_path, MinimumDensityTree(random_state=0).fit(X), X)
    assert page.data["nShown"] is None
    assert "suggested" not in page.text.split("Settings")[0]


def test_suggestion_of_other_rows_is_noted(pairs, tmp_path):
    X, mdt = pairs
    _, page = report(tmp_path, mdt, X[:100])
    assert "not the rows" in page.text
    assert sum(page.data["groups"][g]["size"] for g in page.data["cuts"][-1]["groups"]) == 100


# ------------------------------------------------------------------------------------------------- clusters


def test_cuts_have_the_labels_of_the_estimator(page, mdt, blobs):
    X, _ = blobs
    leaf = mdt.tree_.apply(X)
    assert [len(cut["groups"]) for cut in page["cuts"]] == [1, 2, 3, 4, 5]
    for k, cut in enumerate(page["cuts"], start=1):
        wanted = mdt.cut(n_clusters=k)
        found = np.full(len(X), -1)
        for node, cluster in cut["frontier"]:
            found[np.isin(leaf, mdt.tree_.leaves(node))] = cluster
        np.testing.assert_array_equal(found, wanted)
        assert [page["groups"][g]["size"] for g in cut["groups"]] == np.bincount(wanted).tolist()


def test_effect_sizes_of_all_cuts_are_those_of_the_definition(page, mdt, blobs):
    X, _ = blobs
    for k, cut in enumerate(page["cuts"][1:], start=2):
        labels = mdt.cut(n_clusters=k)
        for cluster, g in enumerate(cut["groups"]):
            inside = labels == cluster
            effect = compute_effects(X, inside)
            apart = page["groups"][g]["apart"]
            order = [page["features"][row[0]] for row in apart]
            assert order == ["abcd"[j] for j in np.argsort(-np.abs(effect), kind="stable")]
            for (_, size, mean, rest, pooled, sign, _), j in zip(apart, map("abcd".index, order), strict=True):
                assert size == pytest.approx(effect[j], rel=6e-3)
                assert sign == np.sign(effect[j])
                spread = X[:, j].std()
                assert mean == pytest.approx(X[inside, j].mean(), abs=0.05 * spread)
                assert rest == pytest.approx(X[~inside, j].mean(), abs=0.05 * spread)
                assert pooled == pytest.approx((X[inside, j].mean() - X[~inside, j].mean()) / effect[j], rel=6e-3)


def test_a_single_cluster_has_no_effect_sizes(page):
    assert page["groups"][page["cuts"][0]["groups"][0]]["apart"] == []


def test_agreement_is_the_adjusted_rand_index(page, mdt, blobs):
    _, y = blobs
    for k, cut in enumerate(page["cuts"], start=1):
        labels = mdt.cut(n_clusters=k)
        assert cut["agreement"] == pytest.approx(adjusted_rand_score(y, labels), abs=1e-4)
        for cluster, g in enumerate(cut["groups"]):
            counts = np.bincount(y[labels == cluster], minlength=5)
            named = {page["labels"][str(k)]: n for k, n in page["groups"][g]["labels"]}
            assert named == {str(k): n for k, n in enumerate(counts.tolist()) if n}


def test_merged_leaves_are_one_cluster(mdt, blobs, tmp_path):
    X, _ = blobs
    leaves = mdt.tree_.leaves()
    merged = mdt.merge(leaves[0], leaves[-1])
    _, page = report(tmp_path, merged, X)
    assert [len(cut["groups"]) for cut in page.data["cuts"]] == [1, 2, 3, 4]
    for cut in page.data["cuts"]:
        wanted = merged.cut(n_clusters=len(cut["groups"]))
        assert [page.data["groups"][g]["size"] for g in cut["groups"]] == np.bincount(wanted).tolist()
    assert len(page.data["cuts"][-1]["groups"]) == 4
    assert len(page.data["cuts"][-1]["frontier"]) == 5


# ------------------------------------------------------------------------------------------------- splits


def test_curves_are_densities_of_the_rows_of_the_node(page, mdt, blobs):
    X, _ = blobs
    leaf = mdt.tree_.apply(X)
    for k, split in enumerate(page["splits"]):
        rows = np.isin(leaf, mdt.tree_.leaves(k))
        assert split["size"] == rows.sum()
        plane = mdt.tree_.hyperplane(k)
        if plane is None:
            assert "curve" not in split
            continue
        curve, distance = split["curve"], plane.distance(X[rows])
        at = np.linspace(curve["low"], curve["high"], len(curve["y"]))
        wanted = ProjectedDensity(distance, plane.bandwidth)(at)
        assert curve["own"]
        assert curve["out"] == [0, 0]
        np.testing.assert_allclose(np.array(curve["y"]) * curve["peak"] / 1e4, wanted, atol=6e-5 * wanted.max())
        assert split["sides"] == [int((distance <= 0).sum()), int((distance > 0).sum())]
        assert split["depth"] == pytest.approx(mdt.tree_.relative_depth[k], rel=1e-3)


def test_directions_and_distances_are_those_of_the_hyperplane(page, mdt, blobs):
    X, _ = blobs
    sample = page["sample"]
    for k, split in enumerate(page["splits"]):
        plane = mdt.tree_.hyperplane(k)
        keys = [sample["keys"][i] for i in split["rows"]]
        assert set(keys) == set(np.flatnonzero(np.isin(mdt.leaves_, mdt.tree_.leaves(k))).tolist())
        if plane is None:
            continue
        np.testing.assert_allclose(split["at"], plane.distance(X[keys]), rtol=1e-3, atol=1e-12)
        weights = {page["features"][j]: w for j, w in split["weights"]}
        assert list(weights) == ["abcd"[j] for j in np.argsort(-np.abs(plane.normal), kind="stable")]
        np.testing.assert_allclose([weights[name] for name in "abcd"], plane.normal, rtol=6e-3)


def test_values_of_the_sample_have_the_original_units(mdt, blobs, tmp_path):
    X, _ = blobs
    centre, scale = np.array([100.0, -5.0, 1e8, 0.0]), np.array([2.0, -3.0, 1e-3, 1e6])
    _, page = report(tmp_path, mdt, X, centre=centre, scale=scale, feature_names=list("abcd"))
    sample, units = page.data["sample"], X * scale + centre
    for c, number in enumerate(sample["columns"]):
        j = "abcd".index(page.data["features"][number])
        got = np.array([row[c] for row in sample["values"]])
        np.testing.assert_allclose(got, units[sample["keys"], j], atol=2e-3 * units[:, j].std())
    labels = mdt.cut(n_clusters=2)
    inside = labels == 0
    for number, size, mean, *_, sign, _ in page.data["groups"][page.data["cuts"][1]["groups"][0]]["apart"]:
        j = "abcd".index(page.data["features"][number])
        assert size == pytest.approx(compute_effects(units, inside)[j], rel=6e-3)
        assert sign == np.sign(size)
        assert mean == pytest.approx(units[inside, j].mean(), abs=0.05 * units[:, j].std())


# ------------------------------------------------------------------------------------------------- other estimators


def test_one_hyperplane_is_a_tree_of_two_leaves(blobs, tmp_path):
    X, _ = blobs
    mdh = MinimumDensityHyperplane(**QUICK, test="pooled").fit(X)
    _, page = report(tmp_path, mdh, X)
    root, left, right = page.data["splits"]
    assert [left["size"], right["size"]] == np.bincount(mdh.labels_).tolist()
    assert root["depth"] == pytest.approx(mdh.relative_depth_, rel=1e-3)
    assert root["p"] == format_pvalue(mdh.pvalue_)
    assert [page.data["groups"][g]["size"] for g in page.data["cuts"][1]["groups"]] == np.bincount(mdh.labels_).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_those_of_the_classifier(blobs, tmp_path, n_classes):
    X, truth = (part[blobs[1] < n_classes] for part in blobs)
    y = np.full(len(X), None, dtype=object)
    for k in range(n_classes):
        y[np.flatnonzero(truth == k)[:4]] = f"kind {k}"
    mdc = MinimumDensityClassifier(random_state=0).fit(X, y)
    _, page = report(tmp_path, mdc, X, labels_true=y)
    data = page.data
    assert data["classes"] == mdc.classes_.tolist()
    assert [group["size"] for group in data["groups"]] == [(mdc.transduction_ == c).sum() for c in mdc.classes_]
    assert [group["labelled"] for group in data["groups"]] == [4] * n_classes
    assert len(data["splits"]) == len(mdc.hyperplanes_)
    for split, ((a, b), plane) in zip(data["splits"], mdc.hyperplanes_.items(), strict=True):
        assert [data["classes"][split["first"]], data["classes"][split["second"]]] == [a, b]
        rows = np.isin(mdc.transduction_, [a, b])
        distance = plane.distance(X[rows])
        assert split["sides"] == [int((distance <= 0).sum()), int((distance > 0).sum())]
        keys = [data["sample"]["keys"][i] for i in split["rows"]]
        np.testing.assert_allclose(split["at"], plane.distance(X[keys]), rtol=1e-3, atol=1e-12)


# ------------------------------------------------------------------------------------------------- rows and labels


def test_sample_has_rows_of_all_clusters_and_all_labels():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.standard_normal((1500, 2)), rng.standard_normal((15, 2)) * 0.3 + 30.0])
    mdt = MinimumDensityTree(2, **QUICK_TREE).fit(X)
    rows = sample_rows(collect_findings(mdt, X, None), 200)
    assert len(rows) == len(np.unique(rows)) == 200
    assert (mdt.labels_[rows] == mdt.labels_[-1]).sum() >= 12
    np.testing.assert_array_equal(rows, sample_rows(collect_findings(mdt, X, None), 200))
    y = np.full(len(X), -1)
    y[::100], y[-5:] = 0, 1
    mdc = MinimumDensityClassifier(
        random_state=0, hyperplane=MinimumDensityHyperplane(subsample=None, init=("means",))
    ).fit(X, y)
    rows = sample_rows(collect_findings(mdc, X, y), 200)
    assert set(np.flatnonzero(y >= 0)) <= set(rows.tolist())
    assert len(rows) == 200


# ------------------------------------------------------------------------------------------------- map and numbers


def test_clusters_keep_their_numbers_when_others_are_joined(page, mdt):
    final = page["cuts"][-1]
    assert final["numbers"] == [0, 1, 2, 3, 4]
    size = {k: page["groups"][g]["size"] for k, g in enumerate(final["groups"])}
    for k, cut in enumerate(page["cuts"], start=1):
        labels = mdt.cut(n_clusters=k)
        assert len(set(cut["numbers"])) == k
        for cluster, (group, number) in enumerate(zip(cut["groups"], cut["numbers"], strict=True)):
            united = sorted(set(mdt.labels_[labels == cluster].tolist()))
            assert number == max(united, key=lambda one: (size[one], -one))
            if len(united) == 1:
                assert group == final["groups"][number]


def test_map_places_the_rows_of_the_sample(mdt, blobs, tmp_path):
    X, _ = blobs
    _, page = report(tmp_path, mdt, X, max_rows=60)
    found, shown = collect_findings(mdt, X, None, feature_tests=False), page.data["map"]
    keys = page.data["sample"]["keys"]
    at = found.map.place(X[keys])
    np.testing.assert_allclose(np.array(shown["at"]).T, at, rtol=1e-3, atol=1e-9)
    distance = np.linalg.norm(at[:, None] - at, axis=2) + np.diag(np.full(len(at), np.inf))
    for k, own in enumerate(shown["own"], start=1):
        labels = mdt.cut(n_clusters=k)[keys]
        assert own == pytest.approx((labels == labels[distance.argmin(axis=1)]).mean(), abs=1e-3)


def test_two_features_are_shown_in_their_own_units(blobs, tmp_path):
    X = blobs[0][:, :2]
    _, page = report(tmp_path, MinimumDensityTree(3, **QUICK_TREE).fit(X), X, scale=[2.0, -1.0], centre=[10.0, 5.0])
    assert page.data["map"]["hasUnits"]
    np.testing.assert_allclose(np.array(page.data["map"]["at"]).T, X * [2.0, -1.0] + [10.0, 5.0], rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_of_zeros_and_ones_are_shares(dtype, tmp_path):
    rng = np.random.default_rng(0)
    raw = np.column_stack([rng.normal(size=200), rng.random(200) < 0.3, rng.integers(0, 3, 200), np.ones(200)])
    raw[:100, 0] += 9.0
    centre, scale = raw.mean(axis=0), np.where(raw.std(axis=0) > 0, raw.std(axis=0), 1.0)
    X = ((raw - centre) / scale).astype(dtype)
    mdt = MinimumDensityTree(2, **QUICK_TREE).fit(X)
    _, page = report(tmp_path, mdt, X, feature_names=list("abcd"), centre=centre, scale=scale)
    assert [page.data["features"][k] for k in page.data["shares"]] == ["b"]
    for g, k in zip(page.data["cuts"][1]["groups"], (0, 1), strict=True):
        means = {page.data["features"][row[0]]: row[2:4] for row in page.data["groups"][g]["apart"]}
        inside = mdt.labels_ == k
        assert means["b"] == pytest.approx([raw[inside, 1].mean(), raw[~inside, 1].mean()], abs=1e-3)
        assert f"b {100 * raw[inside, 1].mean():.0f} %" in page.text  # the centre of typical rows
    _, plain = report(tmp_path, mdt, X, feature_names=list("abcd"))
    assert plain.data["shares"] == []

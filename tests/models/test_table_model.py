"""Rules of a tree in the units of a table."""

import numpy as np
import pytest

from ravine import MinimumDensityHyperplane, MinimumDensityTree
from ravine.models import TableModel
from ravine.models.table_model import express_split
from ravine.tables import MixedScaler


def make_model(encoding="famd", scaling="standard", n_clusters=3):
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    kinds = np.where(rng.random(240) < 0.9, np.array(["a", "b", "c"])[y], "d").astype(object)
    table = {"length": 50.0 + 9.0 * y + rng.normal(size=240), "kind": kinds, "width": rng.normal(size=240)}
    scaler = MixedScaler(encode=encoding, scale=scaling)
    features = scaler.fit_transform(table)
    return TableModel(MinimumDensityTree(n_clusters, random_state=0).fit(features), scaler), table, features


@pytest.mark.parametrize("encoding", ["famd", "one-hot"])
@pytest.mark.parametrize("scaling", ["standard", "robust", "none"])
def test_terms_give_the_side_of_every_row(encoding, scaling):
    model, table, features = make_model(encoding, scaling)
    tree = model.estimator.tree_
    for k in np.flatnonzero(tree.left >= 0):
        terms, threshold = express_split(tree.normal[k], tree.offset[k], model.preparation)
        total = np.zeros(240)
        for term in terms:
            cells = table[term.column]
            amounts = term.weight
            total += [amounts[cell] for cell in cells] if isinstance(amounts, dict) else amounts * cells
        np.testing.assert_allclose(total - threshold, features @ tree.normal[k] - tree.offset[k], atol=1e-9)


def test_rules_name_categories():
    model, _, _ = make_model()
    text = "".join(model.rules(cluster) for cluster in range(3))
    assert "kind is a" in text
    assert "·length" in text
    assert "smaller weight" not in text
    assert "2 columns" in model.rules(0, n_columns=1)


def test_one_cluster_and_wrong_numbers_are_described():
    model, _, features = make_model(n_clusters=1)
    assert "All 240 rows" in model.rules(0)
    with pytest.raises(ValueError, match=r"cluster .*1"):
        model.rules(1)
    plane = TableModel(MinimumDensityHyperplane().fit(features), model.preparation)
    with pytest.raises(TypeError, match="MinimumDensityTree"):
        plane.rules(0)


def test_rules_of_a_joined_cluster_list_its_leaves():
    model, _, _ = make_model()
    model = TableModel(model.estimator.merge(*model.estimator.tree_.leaves()[:2]), model.preparation)
    joined = next(text for text in map(model.rules, range(model.estimator.n_clusters_)) if "leaves" in text)
    assert "2 merged leaves" in joined
    assert joined.count("\nleaf ") == 2

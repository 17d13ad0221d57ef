"""Relations between two fits: containers, weights, units and batches do not change the clusters."""

from __future__ import annotations

import numpy as np

from fuzz.targets.rows import ARRAYS, BLOCKS, FRAMES, IMPORTS, choose

__all__ = ["write_relation"]

MODELS = {
    "MinimumDensityHyperplane": [
        "", "init='pca'", "n_init=2", "bandwidth=0.5", "contamination=0.1", "alpha_max=0.7", "test='pooled'",
    ],
    "MinimumDensityTree": [
        "3", "2, min_cluster_size=0.1", "4, max_cluster_size=0.4", "3, contamination='auto'",
        "3, hyperplane=MinimumDensityHyperplane(init='pca')",
    ],
    "MinimumDensityClassifier": ["", "voting='hard'", "C=1.0", "n_rounds=1", "bandwidth_factor=0.7"],
}  # fmt: skip
ROWS = """
truth = rng.integers(0, {k}, {n})
X = rng.normal(size=({n}, {d})) + 5.0 * rng.normal(size=({k}, {d}))[truth]
{change}
"""
CHANGES = ["", "", "X = X.round(1)", "X = X[rng.integers(0, {n}, {n})]", "X[:, 0] = X[:, 0].round()", "X = X + 1e3"]
FIT = """
y = np.where(rng.uniform(size={n}) < 0.4, truth, -1)
y[: {k}] = truth[: {k}] = np.arange({k})
def fit(rows, places, weights=None):
    labels = {{"y": y[places]}} if {is_classifier} else {{}}
    return {model}.fit(rows, sample_weight=weights, **labels)
def compare(found, rows, expected, others):
    assert np.array_equal(found.predict(rows), expected.predict(others)), "other clusters"
    assert np.allclose(found.predict_proba(rows), expected.predict_proba(others), atol=1e-4), "other memberships"
    if getattr(found, "contamination", None) is not None:
        assert np.allclose(found.score_outliers(rows), expected.score_outliers(others), atol=1e-4), "other outliers"
every = np.arange({n})
has_grids = any(len(np.unique(column)) < {n} for column in X.T)
"""
RELATIONS = {
    "container": "other = {container}\ncompare(fit(other, every), other, fit(X, every), X)",
    "repetition": "w = rng.integers(0, 4, {n})\nw[: {k}] = 1\nplaces = np.repeat(every, w)\n"
    "compare(fit(X, every, w), X, fit(X[places], places), X)",
    "removal": "kept = rng.uniform(size={n}) < 0.8\nkept[: {k}] = True\n"
    "compare(fit(X + 1e3 * ~kept[:, None], every, kept), X, fit(X[kept], every[kept]), X)",
    "unit": "unit = 2.0 ** int(rng.integers(-40, 40))\nmodel = fit(X, every)\n"
    "if 'bandwidth=' not in {model!r}:\n    compare(fit(X * unit, every), X * unit, model, X)",
    "order": "order = rng.permutation({n})\ncompare(fit(X[order], order), X, fit(X, every), X)",
    "constant": "wider = np.insert(X, int(rng.integers({d} + 1)), 2.0 ** int(rng.integers(-9, 9)), axis=1)\n"
    "model, other = fit(X, every), fit(wider, every)\ncompare(other, wider, model, X)\n"
    "assert getattr(other, 'pvalue_', 1.0) == getattr(model, 'pvalue_', 1.0), 'another P-value'",
    "rotation": "turned = X @ np.linalg.qr(rng.normal(size=({d}, {d})))[0]\n"
    "if {model!r}.startswith('MinimumDensityHyperplane') and not has_grids:\n"
    "    compare(fit(turned, every), turned, fit(X, every), X)",
    "batches": "model, order = fit(X, every), rng.permutation({n})\nlabels = model.predict(X)\n"
    "assert np.array_equal(model.predict(X[order]), labels[order]), 'order'\n"
    "assert np.array_equal(np.concatenate([model.predict(part) for part in np.array_split(X, 7)]), labels), 'parts'",
    "completions": "from ravine import MultipleImputer\nX[rng.uniform(size=X.shape) < 0.3] = np.nan\n"
    "X[0] = np.arange({d})\nimputer, order = MultipleImputer(2, random_state=0).fit(X), rng.permutation({n})\n"
    "filled = imputer.impute(X)\nassert np.array_equal(imputer.impute(X[order]), filled[:, order]), 'order'\n"
    "assert np.array_equal(np.concatenate([imputer.impute(part) for part in np.array_split(X, 5)], axis=1), filled)",
}


def write_relation(rng: np.random.Generator) -> str:
    """Write a script that fits twice and compares."""
    kind = choose(rng, list(MODELS))
    options = ", ".join(filter(None, [choose(rng, MODELS[kind]), "random_state=0"]))
    container = choose(rng, [ARRAYS[0], *ARRAYS[2:4], *FRAMES[:2], FRAMES[3], *BLOCKS[:2], "sparse.csr_array(X)"])
    values = {
        "n": int(choose(rng, [40, 60, 100, 150])),
        "d": int(choose(rng, [1, 2, 3, 5])),
        "k": int(choose(rng, [2, 3])),
        "model": f"{kind}({options})",
        "is_classifier": kind == "MinimumDensityClassifier",
        "container": container,
        "seed": int(rng.integers(2**31)),
    }
    imports = [line for mark, line in IMPORTS.items() if mark in container]
    start = [f"import numpy as np\nfrom ravine import {kind}, MinimumDensityHyperplane", *imports]
    change = choose(rng, CHANGES).format(**values)
    relation = RELATIONS[choose(rng, list(RELATIONS))].format(**values)
    rows = ROWS.format(change=change, **values)
    return "\n".join(
        [*start, "rng = np.random.default_rng({seed})".format(**values), rows, FIT.format(**values), relation, ""]
    )

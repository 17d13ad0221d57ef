"""
Which tests split one cluster
=============================

One cluster need not be normal. The valley test asks whether held-out rows have a
valley; a mixture chosen by BIC asks whether two normal curves fit better than one.
Skewed and heavy-tailed single clusters tell the two apart.
"""

# %%
# Six families of one cluster and one of two, ten data sets of 250 rows and four
# features each.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.mixture import GaussianMixture

from ravine import valley_test

FITS, ROWS, FEATURES = 10, 250, 4
families = {
    "normal": lambda rng: rng.standard_normal((ROWS, FEATURES)),
    "uniform": lambda rng: rng.random((ROWS, FEATURES)),
    "heavy tails (t₃)": lambda rng: rng.standard_t(3, (ROWS, FEATURES)),
    "skewed (exponential)": lambda rng: rng.exponential(size=(ROWS, FEATURES)),
    "skewed (lognormal)": lambda rng: rng.lognormal(size=(ROWS, FEATURES)),
    "bent (banana)": lambda rng: bend(rng.standard_normal((ROWS, FEATURES))),
    "two clusters, 5 sd apart": lambda rng: shift(
        rng.standard_normal((ROWS, FEATURES)), rng
    ),
}


def bend(X):
    """Bend the first two features."""
    X[:, 1] += 0.7 * X[:, 0] ** 2
    return X


def shift(X, rng):
    """Move half of the rows."""
    X[:, 0] += np.where(rng.random(len(X)) < 0.5, 5.0, 0.0)
    return X


def is_split_by_bic(X):
    """Return whether two normal components have a lower BIC than one."""
    one, two = (
        GaussianMixture(k, n_init=1, random_state=0).fit(X).bic(X) for k in (1, 2)
    )
    return two < one


splits = {"valley test, P ≤ 0.05": [], "Gaussian mixture, BIC": []}
for name, draw in families.items():
    rng = np.random.default_rng(7)
    sets = [draw(rng) for _ in range(FITS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        splits["valley test, P ≤ 0.05"].append(
            np.mean([valley_test(X, random_state=0).pvalue <= 0.05 for X in sets])
        )
        splits["Gaussian mixture, BIC"].append(
            np.mean([is_split_by_bic(X) for X in sets])
        )
    print(
        f"{name:26} "
        + ", ".join(f"{test}: {shares[-1]:.0%}" for test, shares in splits.items())
    )

# %%
# Only the last line has two clusters.

figure, axes = plt.subplots(figsize=(8.6, 4.2), layout="constrained")
place = np.arange(len(families))
for (test, shares), colour, move in zip(
    splits.items(), ("#0072b2", "#e69f00"), (-0.19, 0.19), strict=True
):
    bars = axes.barh(
        place + move, 100 * np.array(shares), height=0.36, color=colour, label=test
    )
    axes.bar_label(bars, [f" {100 * share:.0f} %" for share in shares], fontsize=9)
axes.axhline(len(families) - 1.5, color="#333333", lw=0.8, ls=":")
axes.set_yticks(place, list(families))
axes.invert_yaxis()
axes.set(xlim=(0, 118), xlabel=f"% of {FITS} data sets that are split")
axes.legend(frameon=False, loc="upper right")
axes.spines[["top", "right"]].set_visible(False)
axes.set_title("One cluster above the dotted line, two below", loc="left", fontsize=11)
plt.show()

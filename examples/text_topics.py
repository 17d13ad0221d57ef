"""
Topics of texts
===============

The texts are the docstrings of a thousand functions of SciPy, so that no download is
needed. A tree of the sparse TF-IDF matrix groups them by subject; the subpackage of
each function is only used to look at the result.
"""

# %%
# Collect the docstrings and weigh their words. Rows of unit length compare texts of
# different lengths.

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from ravine import MinimumDensityTree

PACKAGES = (
    "stats",
    "signal",
    "linalg",
    "special",
    "sparse.linalg",
    "spatial.distance",
    "optimize",
    "ndimage",
    "fft",
)
texts, homes, names = [], [], []
for package in PACKAGES:
    module = importlib.import_module(f"scipy.{package}")
    for name in module.__all__:
        text = inspect.getdoc(getattr(module, name)) or ""
        if len(text) > 400:
            texts.append(text)
            homes.append(package)
            names.append(name)
homes = np.array(homes)
words = TfidfVectorizer(
    stop_words="english", min_df=5, max_df=0.3, token_pattern=r"[a-z]{3,}"
)
X = words.fit_transform(texts)
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / X.shape[0]:.0f} in a text")

# %%
# Sixteen directions of latent semantic analysis keep the subjects and drop most of the
# noise.

Z = make_pipeline(TruncatedSVD(16, random_state=0), Normalizer()).fit_transform(X)
mdt = MinimumDensityTree(9, random_state=0).fit(Z)
vocabulary = words.get_feature_names_out()
mean = np.asarray(X.mean(axis=0)).ravel()
topics = []
for k in range(mdt.n_clusters_):
    contrast = np.asarray(X[mdt.labels_ == k].mean(axis=0)).ravel() - mean
    topics.append(", ".join(vocabulary[np.argsort(-contrast)[:4]]))
    print(f"{np.sum(mdt.labels_ == k):4} texts: {topics[-1]}")

# %%
# Clusters against subpackages: area is the number of functions.

table = np.array(
    [
        [np.sum((mdt.labels_ == k) & (homes == home)) for home in PACKAGES]
        for k in range(mdt.n_clusters_)
    ]
)
figure, axes = plt.subplots(figsize=(9.0, 5.0), layout="constrained")
row, column = np.nonzero(table)
axes.scatter(column, row, s=5.0 * table[row, column], color="#0072b2", alpha=0.75, lw=0)
axes.set_xticks(
    range(len(PACKAGES)),
    [f"scipy.{home}" for home in PACKAGES],
    rotation=35,
    ha="right",
)
axes.set_yticks(range(len(topics)), topics)
axes.invert_yaxis()
axes.set_title("Typical words of each cluster, and its functions", loc="left")
axes.spines[:].set_visible(False)
axes.grid(color="#dddddd", lw=0.6)
axes.set_axisbelow(True)
plt.show()

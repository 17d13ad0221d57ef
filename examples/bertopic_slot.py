"""
Topics by BERTopic
==================

BERTopic embeds texts, reduces the embeddings, and hands them to a clusterer.
``MinimumDensityTree`` fits that slot: every text gets a topic, the number of topics is
chosen by a test, and ``predict`` agrees with the fit. The texts are docstrings of
SciPy, embedded by latent semantic analysis, so that no download is needed. Without the
package ``bertopic``, the script makes the same calls itself.
"""

# %%
# Collect the docstrings of five subpackages.

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from ravine import MinimumDensityTree

texts, homes = [], []
for package in ("stats", "special", "signal", "ndimage", "sparse.linalg"):
    module = importlib.import_module(f"scipy.{package}")
    for name in module.__all__:
        text = inspect.getdoc(getattr(module, name)) or ""
        if len(text) > 400:
            texts.append(text)
            homes.append(package)
homes = np.array(homes)
words = TfidfVectorizer(
    stop_words="english", min_df=5, max_df=0.3, token_pattern=r"[a-z]{3,}"
)
embed = make_pipeline(words, TruncatedSVD(8, random_state=0), Normalizer())
embeddings = embed.fit_transform(texts)

# %%
# BERTopic calls ``fit(X, y=y)`` of the clusterer and reads ``labels_``, and
# ``probabilities_`` if there are any; for new texts it calls ``predict(X)``. The class
# below makes these calls, and names topics by their most typical words.


class TopicModel:
    """The calls by which BERTopic uses a clusterer, for embeddings of few features."""

    def __init__(self, hdbscan_model):
        self.hdbscan_model = hdbscan_model

    def fit_transform(self, documents, embeddings, y=None):
        """Cluster the embeddings of documents; return topics and probabilities."""
        try:
            self.hdbscan_model.fit(embeddings, y=y)
        except TypeError:
            self.hdbscan_model.fit(embeddings)
        self.topics_ = [int(label) for label in self.hdbscan_model.labels_]
        self.probabilities_ = getattr(self.hdbscan_model, "probabilities_", None)
        counter = CountVectorizer(
            stop_words="english", token_pattern=r"[a-z]{3,}", max_df=0.3
        )
        counts = counter.fit_transform(documents)
        self._words = counter.get_feature_names_out()
        sums = np.array(
            [
                counts[np.array(self.topics_) == k].sum(axis=0).A1
                for k in sorted(set(self.topics_))
            ]
        )
        shares = sums / sums.sum(axis=1, keepdims=True)
        self._scores = shares * np.log(1.0 + sums.sum() / len(sums) / sums.sum(axis=0))
        return self.topics_, self.probabilities_

    def transform(self, documents, embeddings):
        """Return the topics of new documents."""
        return self.hdbscan_model.predict(embeddings).tolist(), None

    def get_topic(self, topic):
        """Return the most typical words of a topic with their scores."""
        best = np.argsort(-self._scores[topic])[:6]
        return [(str(self._words[j]), float(self._scores[topic, j])) for j in best]


clusterer = MinimumDensityTree(random_state=0)
try:
    from bertopic import BERTopic
    from bertopic.dimensionality import BaseDimensionalityReduction

    counter = CountVectorizer(
        stop_words="english", token_pattern=r"[a-z]{3,}", max_df=0.3
    )
    reduction = BaseDimensionalityReduction()  # the embeddings have few features
    model = BERTopic(
        hdbscan_model=clusterer, umap_model=reduction, vectorizer_model=counter
    )
except ImportError:
    model = TopicModel(hdbscan_model=clusterer)

topics, _ = model.fit_transform(texts, embeddings)
topics = np.array(topics)
for topic in sorted(set(topics)):
    listed = ", ".join(word for word, _ in model.get_topic(topic)[:6])
    print(f"topic {topic}: {(topics == topic).sum():4d} texts   {listed}")

# %%
# New texts get the topic of their side of each hyperplane, and the texts of the fit
# keep theirs.

again, _ = model.transform(texts[:100], embeddings[:100])
kept = np.mean(np.array(again) == topics[:100])
print(f"{kept:.0%} of the first hundred texts keep their topic")

# %%
# Topics and subpackages: the subpackage was not used to find the topics.

packages = sorted(set(homes))
table = np.array(
    [
        [np.sum((homes == package) & (topics == k)) for k in sorted(set(topics))]
        for package in packages
    ]
)
fig, ax = plt.subplots(figsize=(8.0, 3.6), layout="constrained")
ax.imshow(
    table / table.sum(axis=1, keepdims=True),
    cmap="Blues",
    aspect="auto",
    vmin=0,
    vmax=1,
)
for i, j in np.ndindex(*table.shape):
    colour = "white" if table[i, j] > 0.6 * table[i].sum() else "black"
    ax.text(j, i, table[i, j] or "", ha="center", va="center", color=colour)
heads = [
    " ".join(word for word, _ in model.get_topic(k)[:2]) for k in sorted(set(topics))
]
ax.set_xticks(
    range(len(heads)),
    [f"{k}: {head}" for k, head in enumerate(heads)],
    rotation=30,
    ha="right",
    fontsize=8,
)
ax.set_yticks(range(len(packages)), packages)
ax.set(title="Texts of each subpackage in each topic")
plt.show()

"""`MinimumDensityTree` in the clusterer slot of BERTopic: its documented calls, made by a stand-in."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from ravine import MinimumDensityTree


class BertopicCalls:
    """Use a clusterer as BERTopic does: fit(X, y=y), labels_, probabilities_ if it has them, predict(X)."""

    def __init__(self, hdbscan_model):
        self.hdbscan_model = hdbscan_model

    def fit_transform(self, embeddings, y=None):
        self.hdbscan_model.fit(embeddings, y=y)
        self.topics_ = [int(label) for label in self.hdbscan_model.labels_]
        probabilities = None
        if hasattr(self.hdbscan_model, "probabilities_"):
            probabilities = self.hdbscan_model.probabilities_
            assert len(probabilities) == len(self.topics_)
        return self.topics_, probabilities

    def transform(self, embeddings):
        return self.hdbscan_model.predict(embeddings)


@pytest.mark.parametrize("convert", [np.float32, sp.csr_array])
def test_every_document_gets_a_topic_that_predict_confirms(convert):
    X, y = make_blobs([60, 50, 40], centers=8.0 * np.eye(3, 5), random_state=0)
    model = BertopicCalls(MinimumDensityTree(random_state=0))
    topics, _ = model.fit_transform(convert(X))
    assert set(topics) == {0, 1, 2}
    assert len(set(zip(topics, y.tolist(), strict=True))) == 3
    np.testing.assert_array_equal(model.transform(convert(X)), topics)


def test_number_of_topics_can_be_given():
    X, _ = make_blobs([60, 50, 40], centers=8.0 * np.eye(3, 5), random_state=0)
    topics, _ = BertopicCalls(MinimumDensityTree(2, random_state=0)).fit_transform(X)
    assert set(topics) == {0, 1}

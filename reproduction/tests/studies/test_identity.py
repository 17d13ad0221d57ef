"""Stored results are identified by every parameter, defaults included."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier

from ravine.density import BalancePenalty
from ravine_paper.studies.clustering.methods import METHODS, ClusteringMethod
from ravine_paper.studies.clustering.tasks import make_tasks
from ravine_paper.studies.engine.identity import describe_settings, get_default_arguments
from ravine_paper.studies.optimisers import tasks as optimisers
from ravine_paper.studies.s1 import tasks as s1
from ravine_paper.studies.s1 import variants
from ravine_paper.studies.semi_supervised.methods import LABEL_METHODS, LabelMethod
from ravine_paper.studies.semi_supervised.tasks import ClassPair, StudySize, make_label_tasks


def make_estimator(default):
    """Return an estimator whose parameter has this default."""

    class Machine(BaseEstimator):
        def __init__(self, C=default):
            self.C = C

    return Machine()


def get_label_identity(make):
    (task,) = make_label_tasks([ClassPair("voting", None, 0)], [LabelMethod("m", "m", make, "")], StudySize(2, 1), None)
    return task.identity


def get_table_identity(make):
    (task,) = make_tasks(("wine",), [ClusteringMethod("m", "m", make, "")], 1, None, {"wine": 1})
    return task.identity


@pytest.mark.parametrize("identity", [get_label_identity, get_table_identity])
def test_a_changed_default_makes_results_stale(identity):
    assert repr(make_estimator(1.0)) == repr(make_estimator(2.0))
    assert identity(lambda seed: make_estimator(1.0)) != identity(lambda seed: make_estimator(2.0))
    assert identity(lambda seed: make_estimator(1.0)) == identity(lambda seed: make_estimator(1.0))


def test_defaults_of_a_nested_estimator_count():
    one, other = (SelfTrainingClassifier(make_estimator(C)) for C in (1.0, 2.0))
    assert describe_settings(one) != describe_settings(other)
    text = describe_settings(SelfTrainingClassifier(LogisticRegression()))
    assert "max_iter=100," in text
    assert "threshold=0.75" in text
    assert text.index("criterion=") < text.index(" estimator=") < text.index("k_best=")


@pytest.mark.parametrize("method", [*LABEL_METHODS.values(), *METHODS.values()], ids=lambda m: m.name)
def test_identity_of_a_method_contains_every_parameter(method):
    made = method.make(0)
    text = describe_settings(made)
    names = {name.rsplit("__", 1)[-1] for name in made.get_params()}
    assert all(f"{name}=" in text for name in names)
    assert "0x" not in text  # an address differs from run to run
    assert text == describe_settings(method.make(0))


def test_identity_of_other_settings():
    assert describe_settings({"b": (1, 2.5), "a": "x"}) == "{a='x', b=[1, 2.5]}"
    assert describe_settings({"a": None}) != describe_settings({"a": "None"})
    assert describe_settings(np.arange(2000)) != describe_settings(np.r_[np.arange(1999), 0])  # not abbreviated
    assert describe_settings(BalancePenalty(eta=0.5)) != describe_settings(BalancePenalty())
    assert describe_settings({"f": min, "t": dict}) == "{f=builtins.min, t=builtins.dict}"
    assert describe_settings({3, 1, 2}) == "set(1, 2, 3)"
    assert get_default_arguments(lambda a, *, b=2, **c: None) == {"b": 2}


def test_tasks_of_s1_and_optimisers_have_identities(monkeypatch):
    names = (*variants.METHODS, *variants.VARIANTS)

    def get_identities():
        of_s1 = [task.identity for task in s1.make_tasks(names, 2, 0, None)]
        of_optimisers = optimisers.make_optimiser_tasks(("wine",), tuple(optimisers.TITLES), 2, None, {"wine": 1})
        return of_s1, [task.identity for task in of_optimisers]

    before = get_identities()
    assert len(set(before[0])) == len(names)
    assert len(set(before[1])) == len(optimisers.TITLES)
    monkeypatch.setattr(s1, "MAX_ITER", 7)
    monkeypatch.setattr(optimisers, "RADIUS", 7.0)
    for one, other in zip(before, get_identities(), strict=True):
        assert set(one).isdisjoint(other)

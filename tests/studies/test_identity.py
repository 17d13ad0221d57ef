"""Results are those of every parameter, also of those that were left at their defaults."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier

from ravine.density import BalancePenalty
from ravine.studies import optimisers, s1
from ravine.studies.clustering import clustering_tasks
from ravine.studies.identity import default_arguments, settings_text
from ravine.studies.label_methods import LABEL_METHODS, LabelMethod
from ravine.studies.methods import METHODS, Method
from ravine.studies.semisupervised import Problem, StudySize, label_tasks


def estimator(default):
    """A class whose parameter has this default."""

    class Machine(BaseEstimator):
        def __init__(self, C=default):
            self.C = C

    return Machine()


def label_identity(make):
    (task,) = label_tasks([Problem("voting", None, 0)], [LabelMethod("m", "m", make, "")], StudySize(2, 1), None)
    return task.identity


def table_identity(make):
    (task,) = clustering_tasks(("wine",), [Method("m", "m", make, "")], 1, None, {"wine": 1})
    return task.identity


@pytest.mark.parametrize("identity", [label_identity, table_identity])
def test_a_default_that_changes_makes_results_stale(identity):
    assert repr(estimator(1.0)) == repr(estimator(2.0))
    assert identity(lambda seed: estimator(1.0)) != identity(lambda seed: estimator(2.0))
    assert identity(lambda seed: estimator(1.0)) == identity(lambda seed: estimator(1.0))


def test_a_default_of_a_part_counts_too():
    one, other = (SelfTrainingClassifier(estimator(C)) for C in (1.0, 2.0))
    assert settings_text(one) != settings_text(other)
    text = settings_text(SelfTrainingClassifier(LogisticRegression()))
    assert "max_iter=100," in text
    assert "threshold=0.75" in text
    assert text.index("criterion=") < text.index("estimator=") < text.index("k_best=")


@pytest.mark.parametrize("method", [*LABEL_METHODS.values(), *METHODS.values()], ids=lambda m: m.name)
def test_every_parameter_of_every_method_is_in_its_text(method):
    made = method.make(0)
    text = settings_text(made)
    assert all(f"{name.rsplit('__', 1)[-1]}=" in text for name in made.get_params())
    assert "0x" not in text  # an address differs from run to run
    assert text == settings_text(method.make(0))


def test_text_of_other_settings():
    assert settings_text({"b": (1, 2.5), "a": "x"}) == "{a='x', b=[1, 2.5]}"
    assert settings_text({"a": None}) != settings_text({"a": "None"})
    assert settings_text(np.arange(2000)) != settings_text(np.r_[np.arange(1999), 0])  # no dots in between
    assert settings_text(BalancePenalty(eta=0.5)) != settings_text(BalancePenalty())
    assert settings_text({"f": min, "t": dict}) == "{f=builtins.min, t=builtins.dict}"
    assert settings_text({3, 1, 2}) == "set(1, 2, 3)"
    assert default_arguments(lambda a, *, b=2, **c: None) == {"b": 2}


def test_the_studies_of_s1_and_of_optimisers_have_identities(monkeypatch):
    names = (*s1.METHODS, *s1.VARIANTS)

    def identities():
        of_s1 = [task.identity for task in s1.tasks(names, 2, 0, None)]
        of_optimisers = optimisers.optimiser_tasks(("wine",), tuple(optimisers.TITLES), 2, None, {"wine": 1})
        return of_s1, [task.identity for task in of_optimisers]

    before = identities()
    assert len(set(before[0])) == len(names)
    assert len(set(before[1])) == len(optimisers.TITLES)
    monkeypatch.setattr(s1, "MAX_ITER", 7)
    monkeypatch.setattr(optimisers, "RADIUS", 7.0)
    for one, other in zip(before, identities(), strict=True):
        assert set(one).isdisjoint(other)

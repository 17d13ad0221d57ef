"""Semi-supervised study: all methods receive the same labels, and errors are measured on the other rows."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ravine_paper.studies import StudyError
from ravine_paper.studies.engine.store import ResultStore
from ravine_paper.studies.semi_supervised import tasks
from ravine_paper.studies.semi_supervised.methods import LABEL_METHODS, LabelMethod, choose_label_methods
from ravine_paper.studies.semi_supervised.tasks import (
    BINARY,
    LABEL_SETS,
    MULTI_CLASS,
    SIZES,
    ClassPair,
    StudySize,
    choose_label_sets,
    count_labels,
    make_label_tasks,
    make_pairs,
    read_errors,
    run_splits,
)


class FakeSet:
    """Data of two or more linearly separable classes of 160 rows."""

    def __init__(self, n_classes):
        rng = np.random.default_rng(n_classes)
        self.target = np.repeat([f"c{k}" for k in range(n_classes)], 160)
        self.data = rng.standard_normal((160 * n_classes, 3)) + 9.0 * np.repeat(np.arange(n_classes), 160)[:, None]

    def standardised(self):
        self.data = (self.data - self.data.mean(axis=0)) / self.data.std(axis=0)
        return self


@pytest.fixture(autouse=True)
def fake_sets(monkeypatch):
    monkeypatch.setattr(tasks, "load", lambda name, folder=None: FakeSet(2 if name in BINARY else 4))


def test_full_study_has_the_size_of_the_paper():
    """About 27,000 fits for each method, as in the paper: all 126 pairs of its four multi-class sets."""
    pairs = {"pendigits": 45, "optidigits": 45, "satellite": 15, "image_seg": 21}
    assert set(pairs) == set(MULTI_CLASS)
    fits = sum(30 * n * len(count_labels(s)) for s, n in pairs.items()) + sum(30 * len(count_labels(s)) for s in BINARY)
    assert fits == 27060
    assert SIZES["full"] == StudySize(30, None)


def test_a_larger_study_contains_the_problems_of_a_smaller_one():
    small, large, full = (make_pairs(LABEL_SETS, StudySize(3, k), None) for k in (2, 4, None))
    assert len(small) == 4 + 4 * 2
    assert set(small) < set(large) < set(full)
    assert len(full) == 4 + 4 * 6
    assert len({p.key for p in full}) == len(full)


def test_a_problem_has_two_classes_and_standardised_features():
    X, y = ClassPair("satellite", ("c1", "c3"), 0).load(None)
    assert X.shape == (320, 3)
    assert X.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert X.std(axis=0) == pytest.approx(1)
    assert np.bincount(y).tolist() == [160, 160]
    assert X[y == 0].max() < X[y == 1].min() + 1


@pytest.mark.parametrize(("n_labels", "split"), list(itertools.product((5, 100), range(20))))
def test_labelled_rows_have_both_classes_and_are_reproducible(n_labels, split):
    problem = ClassPair("voting", None, 0)
    y = np.r_[np.zeros(300, int), np.ones(8, int)]
    indices = problem.draw_labelled(y, n_labels, split)
    assert len(set(indices.tolist())) == n_labels
    assert set(y[indices]) == {0, 1}
    assert np.array_equal(indices, problem.draw_labelled(y, n_labels, split))
    assert not np.array_equal(indices, problem.draw_labelled(y, n_labels, split + 1))
    assert not np.array_equal(indices, ClassPair("voting", ("a", "b"), 1).draw_labelled(y, n_labels, split))


VOTING = ClassPair("voting", None, 0)


def run_two_splits(method, problem=VOTING):
    ((key, record),) = run_splits(("k",), problem=problem, method=method, splits=range(2), folder=None)
    assert key == "k"
    assert record["status"] == "ok"
    return record


@pytest.mark.parametrize("method", ["linear-svc", "self-training", "ravine"])
def test_errors_are_zero_for_classes_with_a_wide_gap(method):
    record = run_two_splits(method)
    assert record["errors"].keys() == {"5", "10", "20", "50", "100"}
    assert max(itertools.chain.from_iterable(record["errors"].values())) == 0.0
    assert min(itertools.chain.from_iterable(record["seconds"].values())) > 0.0
    assert record["not_converged"] == 0


class Spy:
    """Classifier that records its input and always predicts 1."""

    def __init__(self, seen, warning=None):
        self.seen, self.warning = seen, warning

    def fit(self, X, y):
        self.seen.append((X, y))
        if self.warning is not None:
            warnings.warn("no convergence", self.warning, stacklevel=2)
            warnings.warn("no convergence", self.warning, stacklevel=2)

    def predict(self, X):
        return np.ones(len(X), dtype=int)


def add_spy(monkeypatch, name, labels_only=False, warning=None):
    seen = []
    spy = LabelMethod(name, name, lambda seed: Spy(seen, warning), "", labels_only)
    monkeypatch.setitem(tasks.LABEL_METHODS, name, spy)
    return seen


def test_errors_are_measured_on_the_unlabelled_rows(monkeypatch):
    seen = add_spy(monkeypatch, "spy")
    errors = run_two_splits("spy")["errors"]
    _, truth = VOTING.load(None)
    given = iter(seen)
    for n_labels, of_splits in errors.items():
        for error in of_splits:
            _, y = next(given)
            assert (y >= 0).sum() == int(n_labels)
            assert np.array_equal(y[y >= 0], truth[y >= 0])
            assert error == np.mean(truth[y < 0] == 0)
            assert 0.3 < error < 0.7
    assert next(given, None) is None


def test_all_methods_receive_the_same_labels(monkeypatch):
    problem = ClassPair("satellite", ("c1", "c3"), 4)
    both, alone = add_spy(monkeypatch, "spy"), add_spy(monkeypatch, "alone", labels_only=True)
    run_two_splits("spy", problem)
    run_two_splits("alone", problem)
    assert len(both) == len(alone) == 2 * 7
    for (X, y), (rows, labels) in zip(both, alone, strict=True):
        assert np.array_equal(X[y >= 0], rows)
        assert np.array_equal(y[y >= 0], labels)


@pytest.mark.parametrize(("warning", "expected"), [(ConvergenceWarning, 10), (UserWarning, 0), (None, 0)])
def test_fits_with_convergence_warnings_are_counted(monkeypatch, warning, expected):
    add_spy(monkeypatch, "spy", warning=warning)
    before = list(warnings.filters)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert run_two_splits("spy")["not_converged"] == expected  # fits, not warnings
    assert not shown
    assert warnings.filters == before


def test_results_are_read_by_problem_and_split(tmp_path):
    size, methods = StudySize(12, 2), choose_label_methods("linear-svc,tsvm")
    chosen = make_pairs(("voting", "satellite"), size, None)
    made = make_label_tasks(chosen, methods, size, None)
    assert [len(t.keys) for t in made] == [1] * 12  # three problems, two blocks of splits, two methods
    store = ResultStore(tmp_path, "x", {})
    for k, task in enumerate(made):
        counts = count_labels(task.arguments["problem"].dataset)
        values = {str(n): [(100 * k + s) / 1e4 for s in task.arguments["splits"]] for n in counts}
        if task.arguments["method"] == "tsvm" and task.arguments["splits"].start == 10:
            store.put(task.keys[0], {"status": "failed", "error": "bad luck"})
        else:
            counted = {} if k == 0 else {"not_converged": k}
            store.put(task.keys[0], {"status": "ok", "errors": values, "seconds": values, **counted})
    found = read_errors(store, chosen, methods, size)
    errors = found.errors
    assert errors["voting", 5, "linear-svc"].tolist() == [pytest.approx(np.array([*range(10), 210, 211]) / 100)]
    assert errors["satellite", 300, "linear-svc"].shape == (2, 12)
    assert np.isnan(errors["voting", 5, "tsvm"]).sum() == 2
    assert len(found.failures) == 3
    assert found.failures[0] == "voting, ∇TSVM: bad luck"
    assert len(found.seconds["linear-svc"]) == 12 * 5 + 24 * 7
    assert np.isnan(found.not_converged["linear-svc"])  # unknown for the first
    assert found.not_converged["tsvm"] == 1 + 5 + 9


def test_unknown_names_are_refused():
    with pytest.raises(StudyError, match=r"'wine'.*voting"):
        choose_label_sets("voting,wine")
    with pytest.raises(StudyError, match="data set"):
        choose_label_sets(" ,")
    with pytest.raises(StudyError, match=r"'pddp'.*ravine, mdp2"):
        choose_label_methods("pddp")
    with pytest.raises(StudyError, match="method"):
        choose_label_methods("")


# The threads of boosting wait for each other on a busy machine.
QUICK_OR_SLOW = [pytest.param(name, marks=pytest.mark.slow) if name == "boosting" else name for name in LABEL_METHODS]


@pytest.mark.parametrize("method", QUICK_OR_SLOW)
def test_results_are_reproducible(method):
    task = {"problem": ClassPair("voting", None, 0), "method": method, "splits": range(2), "folder": None}
    (_, one), (_, other) = (next(run_splits(("k",), **task)) for _ in range(2))
    assert one["errors"] == other["errors"]
    assert "random_state" in repr(LABEL_METHODS[method].make(7)) or method in DETERMINISTIC


DETERMINISTIC = {"linear-svc", "shrinkage-lda", "self-training", "label-spreading"}

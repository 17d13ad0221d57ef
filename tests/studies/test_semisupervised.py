"""The semi-supervised study: the same labels for all methods."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ravine.studies import semisupervised
from ravine.studies.errors import StudyError
from ravine.studies.label_methods import LABEL_METHODS, LabelMethod, choose_label_methods
from ravine.studies.semisupervised import (
    BINARY,
    LABEL_SETS,
    MULTI_CLASS,
    SIZES,
    Problem,
    StudySize,
    choose_label_sets,
    collect_errors,
    label_counts,
    label_tasks,
    problems,
    run_splits,
)
from ravine.studies.store import ResultStore


class FakeSet:
    """Data of two or more classes of 160 rows that a straight line tells apart."""

    def __init__(self, n_classes):
        rng = np.random.default_rng(n_classes)
        self.target = np.repeat([f"c{k}" for k in range(n_classes)], 160)
        self.data = rng.standard_normal((160 * n_classes, 3)) + 9.0 * np.repeat(np.arange(n_classes), 160)[:, None]

    def standardised(self):
        self.data = (self.data - self.data.mean(axis=0)) / self.data.std(axis=0)
        return self


@pytest.fixture(autouse=True)
def fake_sets(monkeypatch):
    monkeypatch.setattr(semisupervised, "load", lambda name, folder=None: FakeSet(2 if name in BINARY else 4))


def test_the_size_of_the_full_study():
    """About 27,000 fits for each method, as the paper's: all 126 pairs of its four sets of more classes."""
    pairs = {"pendigits": 45, "optidigits": 45, "satellite": 15, "image_seg": 21}
    assert set(pairs) == set(MULTI_CLASS)
    fits = sum(30 * n * len(label_counts(s)) for s, n in pairs.items()) + sum(30 * len(label_counts(s)) for s in BINARY)
    assert fits == 27060
    assert SIZES["full"] == StudySize(30, None)


def test_problems_of_a_smaller_study_are_among_those_of_a_larger_one():
    small, large, full = (problems(LABEL_SETS, StudySize(3, k), None) for k in (2, 4, None))
    assert len(small) == 4 + 4 * 2
    assert set(small) < set(large) < set(full)
    assert len(full) == 4 + 4 * 6
    assert len({p.key for p in full}) == len(full)


def test_a_problem_has_two_classes_and_standard_columns():
    X, y = Problem("satellite", ("c1", "c3"), 0).rows(None)
    assert X.shape == (320, 3)
    assert X.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert X.std(axis=0) == pytest.approx(1)
    assert np.bincount(y).tolist() == [160, 160]
    assert X[y == 0].max() < X[y == 1].min() + 1


@pytest.mark.parametrize(("n_labels", "split"), list(itertools.product((5, 100), range(20))))
def test_labelled_rows_have_both_classes_and_depend_on_nothing_else(n_labels, split):
    problem = Problem("voting", None, 0)
    y = np.r_[np.zeros(300, int), np.ones(8, int)]
    rows = problem.labelled(y, n_labels, split)
    assert len(set(rows.tolist())) == n_labels
    assert set(y[rows]) == {0, 1}
    assert np.array_equal(rows, problem.labelled(y, n_labels, split))
    assert not np.array_equal(rows, problem.labelled(y, n_labels, split + 1))
    assert not np.array_equal(rows, Problem("voting", ("a", "b"), 1).labelled(y, n_labels, split))


VOTING = Problem("voting", None, 0)


def results_of(method, problem=VOTING):
    ((key, record),) = run_splits(("k",), problem=problem, method=method, splits=range(2), folder=None)
    assert key == "k"
    assert record["status"] == "ok"
    return record


@pytest.mark.parametrize("method", ["linear-svc", "self-training", "ravine"])
def test_errors_where_a_wide_gap_lies_between_the_classes(method):
    record = results_of(method)
    assert record["errors"].keys() == {"5", "10", "20", "50", "100"}
    assert max(itertools.chain.from_iterable(record["errors"].values())) == 0.0
    assert min(itertools.chain.from_iterable(record["seconds"].values())) > 0.0
    assert record["not_converged"] == 0


class Spy:
    """A classifier that remembers what it was given and always says 1."""

    def __init__(self, seen, warning=None):
        self.seen, self.warning = seen, warning

    def fit(self, X, y):
        self.seen.append((X, y))
        if self.warning is not None:
            warnings.warn("not there yet", self.warning, stacklevel=2)
            warnings.warn("not there yet", self.warning, stacklevel=2)

    def predict(self, X):
        return np.ones(len(X), dtype=int)


def spying(monkeypatch, name, labels_only=False, warning=None):
    seen = []
    spy = LabelMethod(name, name, lambda seed: Spy(seen, warning), "", labels_only)
    monkeypatch.setitem(semisupervised.LABEL_METHODS, name, spy)
    return seen


def test_errors_are_those_of_the_unlabelled_rows(monkeypatch):
    seen = spying(monkeypatch, "spy")
    errors = results_of("spy")["errors"]
    _, truth = VOTING.rows(None)
    given = iter(seen)
    for n_labels, of_splits in errors.items():
        for error in of_splits:
            _, y = next(given)
            assert (y >= 0).sum() == int(n_labels)
            assert np.array_equal(y[y >= 0], truth[y >= 0])
            assert error == np.mean(truth[y < 0] == 0)
            assert 0.3 < error < 0.7
    assert next(given, None) is None


def test_all_methods_are_given_the_same_labels(monkeypatch):
    problem = Problem("satellite", ("c1", "c3"), 4)
    both, alone = spying(monkeypatch, "spy"), spying(monkeypatch, "alone", labels_only=True)
    results_of("spy", problem)
    results_of("alone", problem)
    assert len(both) == len(alone) == 2 * 7
    for (X, y), (rows, labels) in zip(both, alone, strict=True):
        assert np.array_equal(X[y >= 0], rows)
        assert np.array_equal(y[y >= 0], labels)


@pytest.mark.parametrize(("warning", "expected"), [(ConvergenceWarning, 10), (UserWarning, 0), (None, 0)])
def test_fits_that_do_not_converge_are_counted(monkeypatch, warning, expected):
    spying(monkeypatch, "spy", warning=warning)
    before = list(warnings.filters)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert results_of("spy")["not_converged"] == expected  # fits, not warnings
    assert not shown
    assert warnings.filters == before


def test_results_are_collected_by_problem_and_split(tmp_path):
    size, methods = StudySize(12, 2), choose_label_methods("linear-svc,tsvm")
    chosen = problems(("voting", "satellite"), size, None)
    tasks = label_tasks(chosen, methods, size, None)
    assert [len(t.keys) for t in tasks] == [1] * 12  # three problems, two blocks of splits, two methods
    store = ResultStore(tmp_path, "x", {})
    for k, task in enumerate(tasks):
        counts = label_counts(task.arguments["problem"].dataset)
        values = {str(n): [(100 * k + s) / 1e4 for s in task.arguments["splits"]] for n in counts}
        if task.arguments["method"] == "tsvm" and task.arguments["splits"].start == 10:
            store.put(task.keys[0], {"status": "failed", "error": "no luck"})
        else:
            counted = {} if k == 0 else {"not_converged": k}
            store.put(task.keys[0], {"status": "ok", "errors": values, "seconds": values, **counted})
    found = collect_errors(store, chosen, methods, size)
    errors = found.errors
    assert errors["voting", 5, "linear-svc"].tolist() == [pytest.approx(np.array([*range(10), 210, 211]) / 100)]
    assert errors["satellite", 300, "linear-svc"].shape == (2, 12)
    assert np.isnan(errors["voting", 5, "tsvm"]).sum() == 2
    assert len(found.failures) == 3
    assert found.failures[0] == "voting, ∇TSVM: no luck"
    assert len(found.seconds["linear-svc"]) == 12 * 5 + 24 * 7
    assert np.isnan(found.not_converged["linear-svc"])  # not known of the first
    assert found.not_converged["tsvm"] == 1 + 5 + 9


def test_unknown_names():
    with pytest.raises(StudyError, match=r"Unknown data set 'wine'.*voting"):
        choose_label_sets("voting,wine")
    with pytest.raises(StudyError, match="No data set was named"):
        choose_label_sets(" ,")
    with pytest.raises(StudyError, match=r"Unknown method 'pddp'.*ravine, mdp2"):
        choose_label_methods("pddp")
    with pytest.raises(StudyError, match="No method was named"):
        choose_label_methods("")


@pytest.mark.parametrize("method", LABEL_METHODS)
def test_a_study_can_be_repeated(method):
    task = {"problem": Problem("voting", None, 0), "method": method, "splits": range(2), "folder": None}
    (_, one), (_, other) = (next(run_splits(("k",), **task)) for _ in range(2))
    assert one["errors"] == other["errors"]
    assert "random_state" in repr(LABEL_METHODS[method].make(7)) or method in DETERMINISTIC


DETERMINISTIC = {"linear-svc", "self-training", "label-spreading"}

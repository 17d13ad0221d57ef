"""The semi-supervised study: the same labels for all, honest summaries."""

import csv
import io
import itertools

import numpy as np
import pytest

from ravine.experiments import semisupervised
from ravine.experiments.errors import StudyError
from ravine.experiments.label_figures import draw_errors, draw_ranks
from ravine.experiments.label_methods import LABEL_METHODS, choose_label_methods
from ravine.experiments.label_report import (
    errors_csv,
    errors_markdown,
    label_summary,
    mean_ranks,
    standard_error_of_median,
    verdicts,
)
from ravine.experiments.semisupervised import (
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
from ravine.experiments.store import ResultStore

ALL = tuple(LABEL_METHODS.values())
RUN = {"environment": {"python": "3"}}


class FakeSet:
    """Data of two or more classes of 60 rows that a straight line tells apart."""

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


def made_up(value):
    """Errors from a function of set, labels, method and shape."""
    rng = np.random.default_rng(0)
    return {
        (s, n, m.name): value(s, n, m.name) + 0.01 * rng.random((1 if s in BINARY else 3, 4))
        for s in LABEL_SETS
        for n in label_counts(s)
        for m in ALL
    }


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


@pytest.mark.parametrize("method", ["linear-svc", "self-training", "ravine"])
def test_errors_are_those_of_the_unlabelled_rows(method):
    ((key, record),) = run_splits(
        ("k",), problem=Problem("voting", None, 0), method=method, splits=range(2), folder=None
    )
    assert key == "k"
    assert record["status"] == "ok"
    assert record["errors"].keys() == {"5", "10", "20", "50", "100"}
    assert max(itertools.chain.from_iterable(record["errors"].values())) == 0.0  # a wide gap
    assert min(itertools.chain.from_iterable(record["seconds"].values())) > 0.0


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
            store.put(task.keys[0], {"status": "ok", "errors": values, "seconds": values})
    errors, seconds, failures = collect_errors(store, chosen, methods, size)
    assert errors["voting", 5, "linear-svc"].tolist() == [pytest.approx(np.array([*range(10), 210, 211]) / 100)]
    assert errors["satellite", 300, "linear-svc"].shape == (2, 12)
    assert np.isnan(errors["voting", 5, "tsvm"]).sum() == 2
    assert len(failures) == 3
    assert failures[0] == "voting, ∇TSVM: no luck"
    assert len(seconds["linear-svc"]) == 12 * 5 + 24 * 7


def test_standard_error_of_the_median():
    rng = np.random.default_rng(1)
    values = rng.standard_normal((1, 400))
    assert standard_error_of_median(values) == pytest.approx(1.2533 / np.sqrt(400), rel=0.3)
    assert standard_error_of_median(np.full((3, 5), 2.0)) == 0.0
    apart = np.repeat([[0.0], [10.0], [20.0]], 50, axis=1)  # problems differ, but they are given
    assert standard_error_of_median(apart) == 0.0
    levels = 10.0 * rng.random((45, 1))
    many = [np.median(levels + rng.standard_normal((45, 30))) for _ in range(300)]
    assert standard_error_of_median(levels + rng.standard_normal((45, 30))) == pytest.approx(np.std(many), rel=0.5)


def test_ranks():
    errors = made_up(lambda s, n, m: 5.0 + list(LABEL_METHODS).index(m))
    ranks, critical = mean_ranks(errors, ALL)
    assert ranks.tolist() == list(range(1, 10))
    assert critical == pytest.approx(3.102 * np.sqrt(9 * 10 / (6 * 8)), rel=1e-3)  # Demšar 2006, table 5


def test_verdicts_that_hold():
    def value(s, n, m):
        if m == "xnv" and s == "satellite":
            return 30.0 + 20.0 * np.arange(4.0)
        if s == "ionosphere" and m == "lapsvm":
            return 2.0
        if m == "ravine":
            return 2.9
        if m == "mdp2":
            return 3.0 if n <= 10 or s in MULTI_CLASS else 4.0
        return 9.0 if m == "tsvm" else 3.5

    found = verdicts(made_up(value), ALL)
    assert len(found) == 7
    assert [v.text for v in found if not v.holds] == []


def test_verdicts_that_do_not_hold():
    def value(s, n, m):
        return {"ravine": 9.0, "mdp2": 5.0 if n > 10 else 7.0, "lapsvm": 6.0, "tsvm": 1.0}.get(m, 6.0)

    assert [v.text for v in verdicts(made_up(value), ALL) if v.holds] == []


def test_verdicts_need_their_methods():
    errors = made_up(lambda s, n, m: 1.0)
    assert verdicts(errors, choose_label_methods("sssl,xnv")) == []
    assert len(verdicts(errors, choose_label_methods("ravine"))) == 1


def test_tables():
    errors = made_up(lambda s, n, m: 5.0 if m == "mdp2" else 7.0)
    errors["voting", 5, "sssl"] = np.full((1, 4), np.nan)
    rows = list(csv.DictReader(io.StringIO(errors_csv(errors, ALL))))
    assert len(rows) == (4 * 5 + 4 * 7) * len(ALL)
    assert rows[1]["set"] == "voting"
    assert float(rows[1]["median"]) == pytest.approx(5.0, abs=0.02)
    text = errors_markdown(errors, ALL)
    assert "**5.0** [5.0, 5.0]" in text
    assert "failed" in text
    assert text.count("### ") == 8


def test_summary():
    errors = made_up(lambda s, n, m: 5.0 if m == "mdp2" else 7.0)
    seconds = {m.name: np.array([0.1, 0.2]) for m in ALL}
    text = label_summary(errors, seconds, ["voting, XNV: bad | luck"], ALL, [RUN], "quick")
    assert "Critical difference" in text
    assert "voting, XNV: bad" in text
    assert "Size of the study: quick" in text


def test_figures(tmp_path):
    errors = made_up(lambda s, n, m: 5.0 + 20.0 / n)
    paths = [*draw_errors(errors, ALL, tmp_path), draw_ranks(errors, ALL, tmp_path)]
    assert [p.name for p in paths] == ["two-classes.png", "more-classes.png", "ranks.png"]
    assert all(p.read_bytes()[:4] == b"\x89PNG" for p in paths)
    only = {key: table for key, table in errors.items() if key[0] == "voting"}
    assert [p.name for p in draw_errors(only, ALL, tmp_path)] == ["two-classes.png"]


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


def test_failures_are_never_a_success():
    errors = made_up(lambda s, n, m: np.nan if m == "ravine" else 3.0)
    assert not any(v.holds for v in verdicts(errors, choose_label_methods("ravine,linear-svc")))
    assert not any(
        v.holds for v in verdicts(made_up(lambda s, n, m: np.nan), choose_label_methods("ravine,linear-svc"))
    )

"""Comparison of the optimisers: tables and statements, and short runs on small sets."""

import csv
import io
import os

import numpy as np
import pytest

from ravine_paper.studies import StudyError, run_optimisers
from ravine_paper.studies.clustering.paper import SETS
from ravine_paper.studies.optimisers.figures import draw_optimisers
from ravine_paper.studies.optimisers.report import compare_with_default, format_runs_csv, format_runs_markdown
from ravine_paper.studies.optimisers.tasks import ALPHAS, TITLES, Runs, choose_optimisers, run_optimiser

needs_data = pytest.mark.skipif(not os.environ.get("RAVINE_DATA"), reason="RAVINE_DATA is not set")


def read_rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def make_runs(evaluations, log_index=0.0, problem=""):
    records = {
        ("wine", 0.3, k): {"evaluations": e, "iterations": 3, "seconds": 0.1, "log_index": log_index,
                           "stationarity": 1e-3, "ended": True}
        for k, e in enumerate(evaluations)
    }  # fmt: skip
    return Runs(records, problem)


def test_statements_can_fail():
    good = format_runs_markdown({"lbfgs": make_runs([10, 10], -1.0), "spherical": make_runs([20, 30])}, ["wine"])
    assert good.count("- yes:") == 4
    assert "- NO" not in good
    bad = format_runs_markdown({"lbfgs": make_runs([10, 10]), "spherical": make_runs([15, 15], -1.0)}, ["wine"])
    assert bad.count("- NO:") == 4


def test_ratios_use_runs_that_both_finished():
    against = compare_with_default({"lbfgs": make_runs([10, 20, 40]), "spherical": make_runs([20, 80])})
    assert against.ratio.tolist() == [0.5, 0.25]
    assert compare_with_default({"lbfgs": make_runs([10]), "spherical": make_runs([])}) is None
    assert compare_with_default({"lbfgs": make_runs([10])}) is None


def test_an_optimiser_without_results_is_named(tmp_path):
    found = {"lbfgs": make_runs([10]), "gradient_sampling": make_runs([], problem="wine: stopped after 9 s")}
    assert "gradient sampling: wine: stopped after 9 s" in format_runs_markdown(found, ["wine"])
    assert len(read_rows(format_runs_csv(found))) == 1
    assert draw_optimisers(found, ["wine"], tmp_path / "o.png") == tmp_path / "o.png"
    assert draw_optimisers({"lbfgs": make_runs([])}, ["wine"], tmp_path / "none.png") is None


def test_optimisers_are_chosen_by_name():
    assert choose_optimisers(None) == tuple(TITLES)
    assert choose_optimisers("spherical,lbfgs") == ("spherical", "lbfgs")
    with pytest.raises(StudyError, match="'newton'"):
        choose_optimisers("newton")


@needs_data
def test_every_optimiser_ends_at_a_stationary_point(tmp_path):
    study = run_optimisers(tmp_path, sets="seeds", n_starts=2, n_jobs=2)
    lines = read_rows((tmp_path / "runs.csv").read_text())
    assert len(lines) == len(TITLES) * 2 * 2
    assert all(float(r["stationarity"]) < 0.05 for r in lines)
    assert {p.name for p in study.files} == {"summary.md", "runs.csv", "optimisers.png"}


@pytest.mark.slow
@needs_data
def test_default_needs_half_the_evaluations_of_spherical():
    """Median over sets and starts, at an equal or lower index."""
    ratios, differences = [], []
    for dataset in sorted({*SETS} - {"smartphone"}):  # its 561 features take minutes, and its ratio is the lowest
        keys = [f"{dataset}.{{}}.{alpha}.{k}" for alpha in ALPHAS for k in range(10)]
        one, other = (
            [
                record
                for _, record in run_optimiser(
                    [key.format(name) for key in keys], dataset=dataset, optimiser=name, n_starts=10, folder=None
                )
            ]
            for name in ("lbfgs", "spherical")
        )
        ratios += [a["evaluations"] / b["evaluations"] for a, b in zip(one, other, strict=True)]
        differences += [a["log_index"] - b["log_index"] for a, b in zip(one, other, strict=True)]
    assert np.median(ratios) <= 0.5
    assert np.median(differences) <= 0.0

"""MDP² reaches the success ratio and V-measure of Table 2 of the paper on its fourteen data sets."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ravine import MinimumDensityHyperplane, paper_settings
from ravine_paper.datasets import load
from ravine_paper.metrics import binary_v_measure, success_ratio
from ravine_paper.studies.clustering.paper import SETS, TABLE_2

PAPER = {name: TABLE_2[name, "mdp2"] for name in SETS}
SETTINGS = {"paper": paper_settings("clustering"), "defaults": {}}


@pytest.fixture(scope="module")
def folder():
    """Return the folder of the data sets, from the environment variable RAVINE_DATA."""
    path = os.environ.get("RAVINE_DATA")
    if not path:
        pytest.skip("set RAVINE_DATA to the folder of the paper's data sets (NAME.csv.gz)")
    missing = [name for name in PAPER if not (Path(path) / f"{name}.csv.gz").is_file()]
    if missing:
        pytest.skip(f"RAVINE_DATA={path} lacks {', '.join(missing)}")
    return Path(path)


@cache
def compute_scores(folder, name, settings):
    loaded = load(name, folder).standardised()
    X, truth = loaded.data, loaded.target
    labels = MinimumDensityHyperplane(**SETTINGS[settings], random_state=0).fit(X).labels_
    return success_ratio(truth, labels), binary_v_measure(truth, labels)


def compute_means(folder, settings):
    """Return the mean scores over all sets, and print the table."""
    scores = {name: compute_scores(folder, name, settings) for name in PAPER}
    print(f"\n{settings:15s} {'SR':>7s} {'paper':>6s} {'V':>7s} {'paper':>6s}")
    for name, (ratio, v) in scores.items():
        print(f"{name:15s} {ratio:7.3f} {PAPER[name][0]:6.2f} {v:7.3f} {PAPER[name][1]:6.2f}")
    mean, paper = np.mean(list(scores.values()), axis=0), np.mean(list(PAPER.values()), axis=0)
    print(f"{'mean':15s} {mean[0]:7.3f} {paper[0]:6.3f} {mean[1]:7.3f} {paper[1]:6.3f}")
    return mean


@pytest.mark.parametrize("name", PAPER)
def test_scores_of_every_set_agree_with_the_paper(folder, name):
    ratio, v = compute_scores(folder, name, "paper")
    assert ratio == pytest.approx(PAPER[name][0], abs=0.03)
    assert v == pytest.approx(PAPER[name][1], abs=0.03)


def test_mean_scores_agree_with_the_paper(folder):
    ratio, v = compute_means(folder, "paper")
    assert ratio >= 0.82
    assert v >= 0.65


def test_defaults_are_at_least_as_good_on_average(folder):
    assert (compute_means(folder, "defaults") >= compute_means(folder, "paper")).all()

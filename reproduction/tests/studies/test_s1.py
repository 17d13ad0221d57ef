"""Study of S1: solutions, minima of the index, and the success of MDP² relative to SQP."""

import csv
import io
import math
import os

import numpy as np
import pytest

from ravine_paper.datasets import load
from ravine_paper.studies import run_s1
from ravine_paper.studies.engine.store import ResultStore
from ravine_paper.studies.s1.figures import draw_partitions
from ravine_paper.studies.s1.report import format_solutions_csv, format_summary_csv, format_summary_markdown
from ravine_paper.studies.s1.solutions import Ends, Scan, group_hyperplanes, read_ends
from ravine_paper.studies.s1.tasks import ALPHA, run_variant
from ravine_paper.studies.s1.variants import METHODS, get_variant

needs_data = pytest.mark.skipif(not os.environ.get("RAVINE_DATA"), reason="RAVINE_DATA is not set")


def read_rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_solutions_are_grouped_across_half_a_turn():
    angles = np.array([0.001, math.pi - 0.001, 1.0, 1.0, 1.001])
    offsets = np.array([0.5, -0.5, 0.2, -0.2, 0.2005])
    assert group_hyperplanes(angles, offsets) == [[0, 1], [2, 4], [3]]
    assert len(group_hyperplanes(angles, offsets, same=1e-4)) == 5
    assert group_hyperplanes(np.array([0.001, math.pi - 0.001]), np.array([0.5, 0.5])) == [
        [0],
        [1],
    ]  # two parallel lines


def evaluate_valleys(angles):
    """Return a function with minima 0.1, 0.2 and 0.3 at 1, 2 and 3, periodic over half a turn."""
    return np.min([height + np.sin(angles - place) ** 2 for place, height in ((1.0, 0.1), (2.0, 0.2), (3.0, 0.3))], 0)


def make_ends(angles, offsets=None, densities=None):
    grid = math.pi * np.arange(3600) / 3600
    angles = np.asarray(angles, dtype=float)
    return Ends(
        angles,
        np.zeros(len(angles)) if offsets is None else np.asarray(offsets, dtype=float),
        evaluate_valleys(angles) if densities is None else np.asarray(densities, dtype=float),
        np.full(len(angles), 0.99),
        np.ones(len(angles), dtype=bool),
        1.0,
        Scan(grid, evaluate_valleys(grid), 0.2),
    )


def test_minima_of_the_scan_are_sorted_by_height():
    scan = make_ends([1.0]).scan
    assert scan.angles[scan.minima] == pytest.approx([1.0, 2.0, 3.0], abs=2e-3)
    assert scan.index[scan.minima] == pytest.approx([0.1, 0.2, 0.3], abs=1e-5)


def test_a_minimum_requires_its_density_and_its_angle():
    ends = make_ends([1.001, 2.0, 1.0, 2.5], densities=[0.1001, 0.2, 0.15, evaluate_valleys(2.5)])
    assert ends.rank_minima().tolist() == [0, 1, -1, -1]


def pair_methods(sqp, mdp2):
    return {"sqp": sqp, "mdp2": mdp2}


def test_statements_can_fail():
    many = make_ends(np.linspace(0.1, 3.0, 10))
    good = format_summary_markdown(pair_methods(many, make_ends([1.0, 1.0, 1.0, 2.0])), 4)
    assert "NO" not in good
    assert "(2 and 10; at most half)" in good
    assert "(3 starts) is the global minimum" in good
    bad = format_summary_markdown(pair_methods(make_ends([1.0]), make_ends([2.0, 2.0, 1.0, 3.0])), 4)
    assert bad.count("- NO:") == 2
    assert "NO: " in bad


def test_tables():
    found = pair_methods(make_ends([1.0, 2.5]), make_ends([1.0, 1.001]))
    lines = read_rows(format_solutions_csv(found))
    assert [(r["variant"], r["solution"], r["minimum"]) for r in lines] == [
        ("sqp", "1", "1"), ("sqp", "2", ""), ("mdp2", "1", "1"), ("mdp2", "1", "1"),
    ]  # fmt: skip
    assert [r["solutions"] for r in read_rows(format_summary_csv(found))] == ["2", "1"]
    assert [r["minima_of_the_index"] for r in read_rows(format_summary_csv(found))] == ["3", "3"]


def test_rare_solutions_are_summed(tmp_path):
    many = make_ends(np.linspace(0.05, 3.1, 30))
    text = format_summary_markdown(pair_methods(many, make_ends([1.0])), 30)
    assert "| others | 20 | 20 solutions |" in text
    X = np.random.default_rng(0).standard_normal((50, 2))
    assert draw_partitions(pair_methods(many, make_ends([1.0])), X, tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"


@needs_data
@pytest.mark.parametrize("name", ["mdp2", "fixed-100", "raw", "sqp-offsets"])
def test_stored_density_follows_from_angle_and_offset(name):
    """Computes the density of the record again, from angle and offset alone."""
    ((_, record),) = run_variant(("key",), name=name, n_starts=4, seed=1, folder=None)
    raw = load("s1")
    X = raw.standardised().data if get_variant(name).standardised else raw.data
    scale, h = X.std(axis=0).mean(), record["bandwidth"]
    for angle, offset, density in zip(*(record[k] for k in ("angles", "offsets", "densities")), strict=True):
        assert 0.0 <= angle < math.pi
        v = np.array([math.cos(angle), math.sin(angle)])
        p = (X - X.mean(axis=0)) @ v
        b = offset * scale
        twin = np.mean(np.exp(-0.5 * ((p - b) / h) ** 2)) / (h * math.sqrt(2 * math.pi))  # eq. (3)
        assert density == pytest.approx(twin, rel=1e-6)
        assert abs(b) <= ALPHA * p.std() * (1 + 1e-3)
        nearest = round(angle / math.pi * len(record["scan"])) % len(record["scan"])
        assert record["scan"][nearest] <= density * (1 + 1e-3)  # φ is the lowest over the offsets


@needs_data
def test_mdp2_has_fewer_and_better_solutions_than_sqp(tmp_path):
    """From 100 starts MDP² ends at far fewer solutions than SQP, at good ones, and most often at the lowest."""
    run_s1(tmp_path, variants=False, n_jobs=2)
    found = read_ends(ResultStore(tmp_path, "s1", {}), list(METHODS), 100, 0)
    sqp, mdp2 = found["sqp"], found["mdp2"]
    assert len(mdp2.group_starts()) <= 8 < 14 <= len(sqp.group_starts())
    assert len(mdp2.group_starts(1e-3)) == len(mdp2.group_starts()) == len(mdp2.group_starts(0.1))
    assert np.median(mdp2.success) >= 0.98
    assert mdp2.rank_minima()[mdp2.group_starts()[0][0]] == 0
    assert (mdp2.rank_minima() >= 0).all()  # all are local minima of φ
    assert (sqp.rank_minima() < 0).sum() > 30  # many of SQP are not

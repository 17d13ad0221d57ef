"""Minimum density hyperplanes converge to the widest gap as the bandwidth shrinks."""

import csv
import io
import math

import numpy as np
import pytest

from ravine_paper.studies import StudyError, run_margin
from ravine_paper.studies.margin.report import format_path_csv
from ravine_paper.studies.margin.tasks import find_widest_gap, follow_path, simulate_rows


def read_rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_path_ends_at_the_widest_gap():
    found = follow_path()
    assert found.limit.margin_ == pytest.approx(found.widest, rel=1e-4)
    assert found.path.margins[-1] == pytest.approx(found.limit.margin_, rel=1e-9)
    assert found.degrees[0] > 5.0  # the first step is elsewhere
    assert found.degrees[-1] < 1e-8
    assert len(found.limit.support_) == 3
    lines = read_rows(format_path_csv(found))
    assert len(lines) == len(found.path.steps)
    assert float(lines[-1]["margin"]) == pytest.approx(found.widest, rel=1e-3)


def test_widest_gap_of_known_rows():
    X = np.array([[-3.0, 0.0], [-2.0, 1.0], [-2.0, -1.0], [2.0, 1.0], [2.0, -1.0], [3.0, 0.0]])
    margin, normal, offset = find_widest_gap(X)
    assert margin == pytest.approx(2.0)
    assert abs(normal[0]) == pytest.approx(1.0)
    assert offset == pytest.approx(0.0, abs=1e-12)


def test_simulated_rows_have_an_empty_band():
    X = simulate_rows()
    margin, normal, _ = find_widest_gap(X, n_angles=720)
    assert margin > 0.1
    assert math.degrees(math.acos(abs(normal @ [1.0, -1.0]) / math.sqrt(2.0))) > 5.0


def test_a_file_instead_of_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="another --out"):
        run_margin(tmp_path / "file")

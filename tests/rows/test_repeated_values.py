"""Cells of repeated values: half the width that a value of yes or no, a rating or a count represents."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from ravine.rows import as_rows
from ravine.rows.repeated_values import measure_cells

RNG = np.random.default_rng(0)
COLUMNS = {
    "number": RNG.standard_normal(300),
    "yes or no": 3.0 * RNG.integers(0, 2, 300),
    "rating": RNG.integers(1, 6, 300),
    "count with a gap": np.r_[RNG.integers(0, 5, 150), RNG.integers(30, 35, 150)],
}


def measure(*names, factor=1.0):
    X = factor * np.column_stack([COLUMNS[name] for name in names]).astype(float)
    return {int(columns[0]): widths for columns, widths in measure_cells(as_rows(X))}


def test_half_a_cell_is_half_the_distance_of_neighbouring_values():
    cells = measure(*COLUMNS)
    assert list(cells) == [1, 2, 3]
    assert_allclose([cells[j][0] for j in (1, 2, 3)], [1.5, 0.5, 0.5])


def test_linear_functions_of_a_column_share_its_cells():
    yes = COLUMNS["yes or no"]
    ((columns, widths),) = measure_cells(as_rows(np.column_stack([COLUMNS["number"], yes, 1.0 - yes / 3.0])))
    assert_array_equal(columns, [1, 2])
    assert_allclose(widths, [1.5, -0.5])


@pytest.mark.parametrize("factor", [1e-300, 1e-3, 1e290])
def test_cells_have_the_unit_of_the_values(factor):
    assert_allclose(measure(*COLUMNS, factor=factor)[2], 0.5 * factor)


def test_copies_of_rows_make_no_cells():
    X = np.column_stack([COLUMNS["number"], COLUMNS["rating"], RNG.standard_normal(300)])
    found = measure_cells(as_rows(np.repeat(X, 3, axis=0)))
    assert [columns.tolist() for columns, _ in found] == [[1]]


@pytest.mark.parametrize("container", [csr_array, np.asfortranarray, lambda X: X.astype(np.float32)])
def test_container_of_the_rows_does_not_matter(container):
    X = np.column_stack([COLUMNS["number"], COLUMNS["rating"]])
    (columns, widths), *others = measure_cells(as_rows(container(X)))
    assert not others
    assert_array_equal(columns, [1])
    assert_allclose(widths, 0.5)


def test_kernels_of_half_a_cell_show_no_valley():
    at = np.linspace(0.0, 1.0, 101)
    for width, is_valley in ((0.5, False), (0.45, True)):
        density = np.exp(-0.5 * (at / width) ** 2) + np.exp(-0.5 * ((at - 1.0) / width) ** 2)
        assert (density[50] < density.max() - 1e-9) == is_valley


def test_rows_of_very_many_features_are_not_examined():
    assert measure_cells(as_rows(np.zeros((5, 1001)))) == []

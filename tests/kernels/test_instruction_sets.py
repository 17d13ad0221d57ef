"""Fits of 20 data sets agree between instruction sets and compilers; `make compare` prints the differences."""

import shutil

import numpy as np
import pytest

from ravine import _kernels
from support.fits import DATA_SETS
from support.instruction_sets import Comparison, compare_fits, run_fits

pytestmark = pytest.mark.skipif(_kernels.instruction_set() != "v3", reason="the processor has no AVX2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "kernels"), [("g++", "baseline"), ("clang++", "v3"), ("clang++", "baseline")], ids=str
)
def test_fits_agree_between_builds(compiler, kernels):
    for name in {"g++", compiler}:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
    found = compare_fits(run_fits("g++", "v3"), run_fits(compiler, kernels))
    assert len(DATA_SETS) == 20
    assert found.is_close, found
    if kernels == "v3":
        assert found.n_equal == found.n_results


def test_differences_are_noticed():
    fits = {"a: plane labels": np.array([0, 1]), "a: plane normal": np.array([0.6, 0.8])}
    assert compare_fits(fits, fits) == Comparison(n_equal=2, n_results=2)
    other = {"a: plane labels": np.array([1, 1]), "a: plane normal": np.array([0.6, 0.8 + 1e-6])}
    found = compare_fits(fits, other)
    assert (found.n_labels, found.n_equal) == (1, 0)
    assert not found.is_close
    assert found.normals == pytest.approx(1e-6)

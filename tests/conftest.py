import numpy as np
import pytest

# Run by another Python, which has Playwright.
collect_ignore = ["support/browse_report.py"]


def pytest_collection_modifyitems(items):
    """Ignore sockets that earlier tests with Dask leave to the garbage collector in tests that allow no warning."""
    for item in items:
        if item.get_closest_marker("filterwarnings"):
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture
def rng():
    return np.random.default_rng(20160901)


@pytest.fixture
def sparse_samples(monkeypatch):
    """Search all sparse rows as such, also those of few values."""
    monkeypatch.setattr("ravine.rows.sparse.FEW_VALUES", 0)


@pytest.fixture
def unstored(monkeypatch):
    """As if there were too many columns to store the covariance."""
    monkeypatch.setattr("ravine.rows.sparse.STORED_FEATURES", 0)


@pytest.fixture
def small_chunks(monkeypatch):
    """Files and arrays are read in many small chunks."""
    monkeypatch.setattr("ravine.rows.reading.chunks.CHUNK_BYTES", 1 << 12)

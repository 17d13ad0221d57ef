import numpy as np
import pytest

# Run by another Python, which has Playwright.
collect_ignore = ["browse_report.py"]


@pytest.fixture
def rng():
    return np.random.default_rng(20160901)

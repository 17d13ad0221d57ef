import pytest

from paper_support.baseline_problems import METHODS


@pytest.fixture(params=METHODS, ids=lambda method: method.__name__)
def method(request):
    """Each of the four semi-supervised baselines."""
    return request.param

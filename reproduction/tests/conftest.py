import multiprocessing

import numpy as np
import pytest

# There is one fork server for all tests of a process; without these imports every process of a study would make them.
if "forkserver" in multiprocessing.get_all_start_methods():
    multiprocessing.set_forkserver_preload(["ravine_paper.studies.engine.preload"])


@pytest.fixture
def rng():
    return np.random.default_rng(20160901)

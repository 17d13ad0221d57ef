"""`lazy_property`: computed once, stored in the instance, without a lock."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

from ravine._properties import lazy_property


class Counter:
    """Counts how often its property is computed."""

    def __init__(self):
        self.computed = 0

    @lazy_property
    def square(self):
        """Number of computations, squared."""
        self.computed += 1
        return self.computed**2


def test_the_value_is_computed_once_for_each_instance():
    first, second = Counter(), Counter()
    assert (first.square, first.square, second.square) == (1, 1, 1)
    assert first.computed == second.computed == 1
    assert pickle.loads(pickle.dumps(first)).square == 1


def test_the_class_shows_the_documentation():
    assert Counter.square.__doc__ == "Number of computations, squared."


def test_threads_compute_at_the_same_time_and_share_the_first_value():
    together = threading.Barrier(4, timeout=60)  # with a lock, nobody but its holder would arrive

    class Shared:
        @lazy_property
        def value(self):
            together.wait()
            return object()

    shared = Shared()
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda _: shared.value, range(4)))
    assert len(set(map(id, values))) == 1

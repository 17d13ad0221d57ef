"""Reading of blocks: changes are noticed, truncated files are refused, and readers share no memory by mistake."""

import errno
import os
import threading
import time

import numpy as np
import pytest

from ravine import MinimumDensityHyperplane, MinimumDensityTree, PathSettings
from ravine.rows import BlockSample, DenseSample, RowBlocks
from ravine.rows.reading import reader
from support.simulate import mixture, two_clusters


@pytest.fixture
def rows():
    return mixture(3000, 5, seed=1)[0]


def everything(source):
    return source.take(np.arange(source.shape[0]))


# ------------------------------------------------------------------------------------------------- functions


def reusing(rows, size=100):
    """Yield blocks that all use the same memory."""
    buffer = np.empty((size, rows.shape[1]))
    for first in range(0, len(rows), size):
        buffer[:] = rows[first : first + size]
        yield buffer


def test_a_function_may_use_its_memory_again(rows):
    source = RowBlocks(lambda: reusing(rows))
    np.testing.assert_array_equal(everything(source), rows)
    np.testing.assert_allclose(BlockSample(source).moments().covariance, DenseSample(rows).moments().covariance)


def test_every_pass_walks_by_itself(rows):
    cut, calls = np.split(rows, 30), []

    def make():
        calls.append(1)
        return iter(cut)

    source = RowBlocks(make)
    del calls[:]
    one, other = (source.map_blocks(lambda block, place: (block[0].copy(), place)) for _ in range(2))
    for (a, i), (b, j) in zip(one, other, strict=True):
        assert i == j
        np.testing.assert_array_equal(a, rows[i])
        np.testing.assert_array_equal(b, rows[i])
    assert len(calls) == 2


def test_nodes_of_a_tree_read_a_function_at_the_same_time(rows, monkeypatch):
    monkeypatch.setattr("ravine.rows.base.SMALL_BYTES", 8 * 5 * 100)
    source = RowBlocks(lambda: reusing(rows))
    short = {"n_init": 1, "random_state": 0, "path": PathSettings(n_alpha=3)}
    short_tree = {"hyperplane": MinimumDensityHyperplane(**short), "random_state": 0}
    one = MinimumDensityTree(5, **short_tree).fit(rows)
    other = MinimumDensityTree(5, **short_tree, n_jobs=3).fit(source)
    np.testing.assert_array_equal(one.labels_, other.labels_)


def test_a_function_is_left_in_the_middle_properly(rows):
    closed = []

    def make():
        try:
            yield from np.split(rows, 30)
        finally:
            closed.append(threading.current_thread())

    source = RowBlocks(make)
    del closed[:]
    source.take(np.array([3]))
    assert len(closed) == 1


# ------------------------------------------------------------------------------------------------- changes


def changed_in_place(path, rows):
    with open(path, "r+b") as file:
        file.seek(-8, os.SEEK_END)
        file.write(np.float64(7.0).tobytes())
    os.utime(path, ns=(1, 1))


def replaced(path, rows):
    before = path.stat()
    np.save(path.with_name("new"), rows[::-1])
    path.with_name("new.npy").replace(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def cut_off(path, rows):
    before = path.stat()
    os.truncate(path, before.st_size - 8)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [changed_in_place, replaced, cut_off])
@pytest.mark.parametrize("mapped", [False, True])
def test_a_file_that_changes_in_mid_fit_is_noticed(change, mapped, tmp_path, rows):
    path = tmp_path / "x.npy"
    np.save(path, rows)
    source = RowBlocks(np.load(path, mmap_mode="r")[:] if mapped else path)
    seen = []

    def callback(_):
        if not seen:
            change(path, rows)
        seen.append(1)

    with pytest.raises(ValueError, match=r"x.npy has changed"):
        MinimumDensityHyperplane(callback=callback).fit(source)
    with pytest.raises(ValueError, match=r"x.npy has changed"):
        source.take(np.array([0]))
    if change is not cut_off:
        MinimumDensityHyperplane().fit(RowBlocks(path))


def test_a_file_that_changes_in_the_last_pass_is_noticed(tmp_path, rows, small_chunks):
    np.save(tmp_path / "x.npy", rows)
    source = RowBlocks(tmp_path)
    with pytest.raises(ValueError, match=r"x.npy has changed"):
        for _ in source.map_blocks(lambda block, _: os.utime(tmp_path / "x.npy", ns=(5, 5))):
            pass


def test_only_files_that_are_read_are_looked_at(tmp_path, rows):
    for k in range(3):
        np.save(tmp_path / f"{k}.npy", rows)
    source = RowBlocks(tmp_path)
    os.remove(tmp_path / "2.npy")
    np.testing.assert_array_equal(source.take(np.array([1, 3001])), rows[[1, 1]])
    with pytest.raises(FileNotFoundError, match=r"2.npy is gone"):
        source.take(np.array([6001]))


def test_values_in_memory_are_checked_in_every_fit(rows):
    cut = np.split(rows.copy(), 3)
    for source in (RowBlocks(cut), RowBlocks(lambda: iter(cut))):
        model = MinimumDensityHyperplane().fit(source)
        cut[1][3, 2] = np.inf
        for method in (model.fit, model.predict):
            with pytest.raises(ValueError, match=r"infinity.*row 3.*block 1.*feature 2"):
                method(source)
        cut[1][3, 2] = 0.0


def test_a_block_that_changes_its_type_is_refused():
    calls = []

    def make():
        calls.append(1)
        return iter([np.ones((3, 2), np.float32 if len(calls) < 3 else np.float64)])

    with pytest.raises(ValueError, match=r"block 0 .*\(3, 2\).*float64.*float32"):
        everything(RowBlocks(make))


# ------------------------------------------------------------------------------------------------- short files


@pytest.mark.parametrize("wanted", [np.array([2999]), np.arange(2000, 3000)])
def test_rows_beyond_the_end_of_a_file_are_refused(wanted, tmp_path, rows):
    np.save(tmp_path / "x.npy", rows)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    os.truncate(tmp_path / "x.npy", 50_000)
    with pytest.raises(OSError, match=r"x.npy is shorter"):
        RowBlocks(mapped).take(wanted)


def test_file_may_return_fewer_bytes_than_requested(tmp_path, rows, monkeypatch):
    class Slow:
        def __init__(self, path, *_, **__):
            self.file = real_open(path, "rb", buffering=0)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def seek(self, place):
            self.file.seek(place)

        def readinto(self, view):
            return self.file.readinto(view[:7])

    real_open = open
    np.save(tmp_path / "x.npy", rows)
    source = RowBlocks(tmp_path / "x.npy")
    monkeypatch.setattr("ravine.rows.reading.files.open", Slow, raising=False)
    np.testing.assert_array_equal(source.take(np.array([5, 2])), rows[[5, 2]])
    np.testing.assert_array_equal(everything(source), rows)


# ------------------------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize("n", [100, 10_000])
def test_few_rows_are_read_one_by_one_and_many_together(n, tmp_path, monkeypatch, rng):
    X = rng.standard_normal((n, 8))
    np.save(tmp_path / "x.npy", X)
    worth = n * 64 // (reader.SEEK_BYTES + 64)
    for count in {1, max(1, worth), worth + 2, 90}:
        source = RowBlocks(tmp_path / "x.npy")
        chosen = np.sort(rng.choice(n, count, replace=False))
        np.testing.assert_array_equal(source.take(chosen), X[chosen])
        one_by_one = count * (reader.SEEK_BYTES + 64) < n * 64
        assert source.bytes_read == 64 * (count if one_by_one else n)


def test_rows_have_the_widest_type_of_all_blocks(rng):
    X = rng.standard_normal((40, 3))
    for blocks in ([X[:20].astype(np.float32), X[20:]], [X[:20].astype(np.float32), (9e7 * X[20:]).astype(np.int64)]):
        expected = np.concatenate(blocks)
        for source in (RowBlocks(blocks), RowBlocks(lambda blocks=blocks: iter(blocks))):
            np.testing.assert_array_equal(everything(source), expected)
            np.testing.assert_array_equal(source.take(np.array([25, 3])), expected[[25, 3]])
    assert everything(RowBlocks([X.astype(np.float32)])).dtype == np.float32


def test_passes_are_counted_in_bytes_of_all_blocks(tmp_path, rows):
    np.save(tmp_path / "0.npy", rows.astype(np.float32))
    np.save(tmp_path / "1.npy", rows)
    source = RowBlocks(tmp_path)
    list(source.map_blocks(lambda block, _: None))
    assert source.passes == 1.0


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e150])
@pytest.mark.parametrize("cuts", [[1], [1, 2, 3], [700]])
def test_units_do_not_come_from_one_row(scale, cuts):
    X = two_clusters(600, 4)[0]
    X = np.concatenate([np.repeat(X[:1], 700, axis=0), X]) if cuts == [700] else X
    one = MinimumDensityHyperplane().fit(scale * X)
    other = MinimumDensityHyperplane().fit(np.split(scale * X, cuts))
    assert len(np.unique(one.labels_)) == 2
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-6)


def test_units_do_not_come_from_equal_rows():
    X = 1e-200 * two_clusters(600, 4)[0]
    sample = BlockSample(RowBlocks([np.repeat(X[:1], 5000, axis=0), X]))
    whole = DenseSample(np.concatenate([np.repeat(X[:1], 5000, axis=0), X]))
    assert sample.unit == whole.unit
    np.testing.assert_allclose(sample.moments().covariance, whole.moments().covariance, rtol=1e-9, atol=1e-12)


# ------------------------------------------------------------------------------------------------- spill


def test_a_full_disk_is_an_error(monkeypatch, tmp_path, rows):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    source = RowBlocks([rows], spill=tmp_path)
    monkeypatch.setattr(reader.os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match=rf"no space .*spill='{tmp_path}'") as caught:
        MinimumDensityHyperplane().fit(source)
    assert caught.value.errno == errno.ENOSPC
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="needs posix_fallocate")
def test_room_on_the_disk_is_taken_at_once(monkeypatch, tmp_path):
    taken = []
    monkeypatch.setattr(reader.os, "posix_fallocate", lambda _, start, size: taken.append((start, size)))
    assert RowBlocks([np.ones((1, 1))], spill=tmp_path, state="float32").allocate(1000).shape == (1000,)
    assert taken == [(0, 4000)]


def test_disks_that_cannot_take_room_are_used_without(monkeypatch, tmp_path):
    def unknown(*_):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(reader.os, "posix_fallocate", unknown, raising=False)
    state = RowBlocks([np.ones((1, 1))], spill=tmp_path).allocate(1000)
    state[:] = 3.0
    assert state.sum() == 3000.0


def test_spill_folders_are_tried_at_once(monkeypatch, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"spill='.*nowhere'"):
        RowBlocks([np.ones((3, 2))], spill=tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match=r"spill='.*file'"):
        RowBlocks([np.ones((3, 2))], spill=tmp_path / "file")
    with pytest.raises(TypeError, match="spill"):
        RowBlocks([np.ones((3, 2))], spill=True)

    def refused(**_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(reader.tempfile, "TemporaryFile", refused)
    with pytest.raises(PermissionError, match=rf"spill='{tmp_path}'.*Permission"):
        RowBlocks([np.ones((3, 2))], spill=tmp_path)


def test_a_map_whose_file_was_replaced_is_read_through_the_map(tmp_path, rng):
    X, path = rng.standard_normal((50, 3)), tmp_path / "x.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    np.save(tmp_path / "other.npy", X + 1.0)
    (tmp_path / "other.npy").replace(path)
    np.testing.assert_array_equal(RowBlocks(mapped).take(np.arange(50)), X)


def test_foreign_array_is_read_by_one_thread_at_a_time(tmp_path, rng):
    class OneReader:
        """Seek and read with one handle, as arrays of other libraries may do."""

        def __init__(self, X):
            self.X, self.shape, self.dtype, self.busy = X, X.shape, X.dtype, 0

        def __getitem__(self, rows):
            self.busy += 1
            time.sleep(0.002)
            assert self.busy == 1
            self.busy -= 1
            return self.X[rows].copy()

    X = rng.standard_normal((40_000, 40))
    source = RowBlocks([OneReader(X), OneReader(X[:10])])
    assert source.n_blocks > 2
    np.testing.assert_array_equal(source.take(np.arange(40_010)), np.concatenate([X, X[:10]]))
